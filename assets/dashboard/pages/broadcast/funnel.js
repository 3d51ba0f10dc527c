// From the audience to the outcome, as bars.
import { fragment, t } from '../../lib/h.js';
import { link } from '../../lib/router.js';
import { count } from '../../lib/time.js';
import { h } from '../../vendor/preact.js';
import { Live } from '../../components/table.js';
import { share } from './words.js';

/** @typedef {import('../../types/broadcasts.d.ts').FunnelStep['kind'] | 'unsubscribed'} Kind */

/** Word, colour, type of its recipients, and the whole of its share. @type {Record<Kind, [string, string, string | null, 'audience' | 'attempted' | 'delivered' | null]>} */
const STEPS = {
  audience: ['Will receive', 'f-gray', null, null],
  attempted: ['Sent', 'f-strong', 'sent', 'audience'],
  delivered: ['Delivered', 'f-green', 'delivered', 'attempted'],
  opened: ['Opened', 'f-blue', 'opened', 'delivered'],
  clicked: ['Clicked', 'f-violet', 'clicked', 'delivered'],
  unsubscribed: ['Unsubscribed', 'f-gray', 'unsubscribed', 'delivered'],
  bounced: ['Bounced', 'f-red', 'bounced', 'attempted'],
  complained: ['Complained', 'f-amber', 'complained', 'attempted'],
  suppressed: ['Suppressed', 'f-gray', 'suppressed', 'audience'],
  failed: ['Failed', 'f-red', null, 'audience'],
  canceled: ['Canceled', 'f-gray', null, 'audience'],
};

/** @param {{ report: import('../../types/broadcasts.d.ts').BroadcastReport }} props */
export function Funnel({ report }) {
  const counts = /** @type {Record<Kind, number>} */ ({ unsubscribed: report.counts.unsubscribed, ...Object.fromEntries(report.funnel.map((step) => [step.kind, step.count])) });
  const whole = Math.max(1, ...Object.values(counts));
  const kinds = /** @type {Kind[]} */ (Object.keys(STEPS)).filter((kind) => counts[kind] > 0 || ['audience', 'attempted', 'delivered', 'bounced'].includes(kind));
  return t.section({ class: 'card', 'aria-labelledby': 'h-funnel' }, t.header(null, t.h2({ id: 'h-funnel' }, 'From audience to delivery'), report.status === 'queued' && h(Live, null)),
    t.ol({ class: 'fnl' }, kinds.map((kind) => {
      const [word, colour, type, of] = STEPS[kind], n = counts[kind];
      const text = of ? `${share(n, counts[of]) || '0%'} of ${of === 'attempted' ? 'sent' : of}` : '';
      const parts = fragment(t.span({ class: 'fn-l' }, word),
        t.span({ class: 'fn-b' }, t.svg({ viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, t.rect({ class: 'tr', width: 100, height: 8 }), t.rect({ class: colour, width: Math.round((1000 * n) / whole) / 10, height: 8 }))),
        t.span({ class: 'fn-v num' }, count(n)), t.span({ class: 'fn-p' }, text));
      return t.li({ key: kind }, type ? link({ class: 'fn', to: `/broadcasts/${report.id}?type=${type}` }, parts) : t.div({ class: 'fn' }, parts));
    })));
}
