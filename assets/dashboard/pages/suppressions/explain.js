// A drawer that explains a suppression, with the email that caused it.
import { h } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { icon } from '../../lib/icons.js';
import { useLoad } from '../../lib/load.js';
import { link } from '../../lib/router.js';
import { allows } from '../../lib/state.js';
import { Button } from '../../components/button.js';
import { Drawer } from '../../components/drawer.js';
import { failed, skeleton } from '../../components/empty.js';
import { Id } from '../../components/id.js';
import { pill } from '../../components/pill.js';
import { Time } from '../../components/time.js';
import { CAUSES, EFFECTS, ORIGINS } from './text.js';

/** @typedef {import('./text.js').Suppression} Suppression */

/** @param {{ id: string, onClose: () => void, remove: (row: Suppression) => void }} props */
export function Explain({ id, onClose, remove }) {
  const { data: entry, error, reload } = /** @type {import('../../lib/load.js').Loaded<Suppression>} */ (useLoad(`/suppressions/${encodeURIComponent(id)}`));
  return h(Drawer, { title: entry?.email ?? 'Suppression', onClose, actions: entry && allows('admin') && h(Button, { size: 'sm', kind: 'danger', onClick: () => remove(entry) }, 'Remove…') },
    entry ? h(Whole, { entry }) : error ? failed(error, reload, 'This entry') : skeleton(4));
}

/** @param {{ entry: Suppression }} props */
function Whole({ entry }) {
  const source = /** @type {import('../../lib/load.js').Loaded<import('../../lib/outcome.js').Email>} */ (useLoad(entry.source_id && `/emails/${entry.source_id}`));
  const event = source.data?.events.find((one) => one.type === 'email.bounced' || one.type === 'email.complained');
  const said = event?.reply || event?.bounce?.message;
  const [word, look] = ORIGINS[entry.origin];
  return fragment(
    t.div({ class: 'stack-xs' }, t.div({ class: 'row wrap' }, pill(word, look), h(Time, { at: entry.created_at })), t.p({ class: 't1' }, CAUSES[entry.origin]), said && t.p({ class: 'quote quote-0' }, said)),
    t.section({ class: 'stack-xs', 'aria-label': 'What follows' }, t.h3(null, 'If you send to it now'), t.p(null, EFFECTS[entry.origin])),
    entry.source_id && t.section({ class: 'stack-xs', 'aria-label': 'Cause' }, t.h3(null, 'The email that caused it'),
      source.data ? t.div({ class: 'card' }, link({ class: 'item item-block', to: `/emails/${entry.source_id}` }, t.span({ class: 'row' }, t.span({ class: 't1 trunc' }, t.bdi(null, source.data.subject || '(no subject)')), icon('right', 'i-sm')), t.span({ class: 'meta' }, h(Time, { at: source.data.created_at }))))
        : source.error ? t.p({ class: 't3' }, 'It was deleted.') : t.span({ class: 'sk sk-80' })),
    t.dl({ class: 'dl' }, t.dt(null, 'Since'), t.dd(null, h(Time, { at: entry.created_at, as: 'exact' })), t.dt(null, 'Id'), t.dd(null, h(Id, { id: entry.id })),
      t.dt(null, 'Emails'), t.dd(null, link({ class: 'link', to: `/emails?to=${encodeURIComponent(entry.email)}` }, 'All to this address'))));
}
