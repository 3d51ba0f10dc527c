// The open row of a site: its last reply, the next step of the server, and advice.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { icon } from '../../lib/icons.js';
import { useLoad } from '../../lib/load.js';
import { link } from '../../lib/router.js';
import { allows, now } from '../../lib/state.js';
import { plural } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { failed } from '../../components/empty.js';
import { Due } from '../parts/due.js';
import { advice, doing, isPaused, siteName } from './words.js';

/** @typedef {import('./words.js').Site} Site */
/** @typedef {{ email_id: string, domain: string, due_at: string, attempts: number, state: string, until: string | null, reason: string }} Group */

/** Emails that the open row lists. */
const SHOWN = 5;

/** @param {{ site: Site, act: (site: Site, verb: 'pause' | 'resume' | 'flush') => Promise<void> }} props */
export function Why({ site, act }) {
  const one = /** @type {import('../../lib/load.js').Loaded<Site & { groups: Group[], has_more: boolean }>} */ (useLoad(`/queue/${encodeURIComponent(site.site)}`));
  const groups = one.data?.groups ?? [], name = siteName(site.site), domains = site.domains ?? [];
  return t.div({ class: 'stack-sm' },
    t.div({ class: 'q-why' },
      t.div(null, t.h2(null, `What ${name} said`),
        site.last_reply ? t.p({ class: 'quote' }, site.last_reply) : t.p({ class: 't3' }, 'It has not answered since the server started.'),
        domains.length > 0 && !(domains.length === 1 && domains[0] === name) && t.p({ class: 't3' }, `It receives for ${domains.slice(0, 4).join(', ')}${domains.length > 4 ? ` and ${domains.length - 4} more` : ''}.`)),
      t.div(null, t.h2(null, 'What Ringmail does'), t.p(null, doing(site, now.value)), t.p({ class: 't3' }, site.reason)),
      t.div(null, t.h2(null, 'What you can do'),
        t.ul({ class: 'bul' }, advice(site).map((text) => t.li({ key: text }, text)),
          site.delisting && t.li({ key: 'delist' }, t.a({ class: 'link', href: site.delisting, target: '_blank', rel: 'noreferrer noopener' }, 'Ask to be taken off the list'))),
        allows('admin') && t.div({ class: 'actions q-acts' }, isPaused(site) ? h(Button, { size: 'sm', icon: 'play', onClick: () => act(site, 'resume') }, 'Resume site')
          : h(Button, { size: 'sm', icon: 'zap', onClick: () => act(site, 'flush') }, 'Try now'),
        !isPaused(site) && h(Button, { size: 'sm', kind: 'ghost', icon: 'pause', onClick: () => act(site, 'pause') }, 'Pause site')))),
    one.error && !one.data && failed(one.error, one.reload, 'The emails of this site'),
    groups.length > 0 && t.div({ class: 'card' }, t.ul({ class: 'list' }, groups.slice(0, SHOWN).map((group) => t.li({ key: `${group.email_id}${group.domain}` }, link({ class: 'item', to: `/emails/${group.email_id}` },
      t.span({ class: 'grow trunc' }, t.span({ class: 't1' }, `Email to ${group.domain}`), group.reason !== site.reason && t.span({ class: 't3 hide-sm' }, ` ${group.reason}`)),
      t.span({ class: 'num t3' }, group.attempts === 0 ? 'not tried' : plural(group.attempts, 'attempt')), t.span({ class: 'num t3 w-72 hide-sm' }, h(Due, { at: group.until ?? group.due_at })), icon('right', 'i-sm'))))),
    (groups.length > SHOWN || one.data?.has_more) && t.p({ class: 'pad meta' }, `The first ${Math.min(SHOWN, groups.length)} of ${plural(site.waiting, 'waiting group')} of recipients.`)));
}
