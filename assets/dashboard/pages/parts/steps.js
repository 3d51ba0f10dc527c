// Newer and older message, by button and by k and j.
import { useEffect, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { api } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { useKeys } from '../../lib/keys.js';
import { navigate } from '../../lib/router.js';
import { neighbours } from '../../lib/trail.js';
import { hidden } from './undo.js';

/** @param {{ path: '/emails' | '/captured', id: string }} props `path` of the list, in the API and on the pages */
export function Steps({ path, id }) {
  const [ends, setEnds] = useState(/** @type {{ newer: string | null, older: string | null }} */ ({ newer: null, older: null }));
  useEffect(() => {
    const near = neighbours(path, id);
    setEnds(near);
    let alive = true;
    const ask = async (/** @type {'newer' | 'older'} */ side) => {
      if (near[side]) return;
      try {
        const { data } = await api.get(path, { limit: 1, [side === 'newer' ? 'before' : 'after']: id });
        if (alive && data[0] && !hidden.value.has(data[0].id)) setEnds((old) => ({ ...old, [side]: data[0].id }));
      } catch { /* The button stays off. */ }
    };
    void ask('newer');
    void ask('older');
    return () => { alive = false; };
  }, [path, id]);
  const go = (/** @type {string | null} */ to) => { if (to) navigate(`${path}/${to}`, { replace: true }); };
  useKeys({ k: () => go(ends.newer), j: () => go(ends.older) });
  const step = (/** @type {string | null} */ to, /** @type {'left' | 'right'} */ name, /** @type {string} */ label) => t.button({ type: 'button', class: 'btn btn-ghost btn-sm btn-icon', 'aria-label': label, title: to ? label : label.startsWith('Newer') ? 'This is the newest.' : 'This is the oldest.', 'aria-disabled': to ? undefined : 'true', onClick: () => go(to) }, icon(name));
  return t.div({ class: 'actions' }, step(ends.newer, 'left', 'Newer email (k)'), step(ends.older, 'right', 'Older email (j)'));
}
