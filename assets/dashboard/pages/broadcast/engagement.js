// Opens and clicks of a broadcast: people and software, and the clicked links.
import { h, useEffect, useRef } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { useLoad } from '../../lib/load.js';
import { link } from '../../lib/router.js';
import { count, plural } from '../../lib/time.js';
import { failed, skeleton } from '../../components/empty.js';
import { share } from './words.js';

/** Nothing without an open or a click. @param {{ report: import('../../types/broadcasts.d.ts').BroadcastReport }} props */
export function PeopleAndSoftware({ report: { id, counts: { opened, clicked, delivered }, machines } }) {
  if (opened + clicked + machines.opened + machines.clicked === 0) return null;
  const bar = (/** @type {string} */ name, /** @type {string} */ colour, /** @type {number} */ people, /** @type {number} */ software) => {
    const whole = Math.max(1, delivered, people + software), pattern = `software-${colour}`;
    const width = (/** @type {number} */ n) => Math.round((1000 * n) / whole) / 10, text = `${plural(people, 'person', 'people')}, ${count(software)} only by software`;
    return t.div({ key: name, class: 'stack-xs' }, t.div({ class: 'row between' }, t.span({ class: 't1 medium' }, name), t.span({ class: 't3 num' }, text)),
      t.div({ class: 'fn-b' }, t.svg({ viewBox: '0 0 100 8', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${name}: ${text}, of ${count(delivered)} delivered` },
        t.defs(null, t.pattern({ id: pattern, width: 1.2, height: 8, patternUnits: 'userSpaceOnUse' }, t.rect({ class: 'f-strong', width: 0.6, height: 8 }))),
        t.rect({ class: 'tr', width: 100, height: 8 }), t.rect({ class: colour, width: width(people), height: 8 }), t.rect({ x: width(people), fill: `url(#${pattern})`, width: width(software), height: 8 }))));
  };
  return t.section({ class: 'card', 'aria-labelledby': 'h-people' }, t.header(null, t.h2({ id: 'h-people' }, 'People and software')),
    t.div({ class: 'pad stack-sm' }, bar('Opens', 'f-blue', opened, machines.opened), bar('Clicks', 'f-violet', clicked, machines.clicked),
      t.p({ class: 'meta' }, 'Mail gateways and privacy proxies are software that loads everything. They are shown, and never counted in a rate. ', link({ class: 'link', to: `/metrics/engagement?days=30&broadcast=${id}` }, 'See both over time'))));
}

/** The links of the broadcast by their clicks. @param {{ report: import('../../types/broadcasts.d.ts').BroadcastReport }} props */
export function Links({ report: { id, counts } }) {
  return counts.clicked > 0 ? h(ClickedLinks, { id, clicked: counts.clicked }) : null;
}

/** @param {{ id: string, clicked: number }} props */
function ClickedLinks({ id, clicked }) {
  const links = /** @type {import('../../lib/load.js').Loaded<{ data: import('../../types/api.d.ts').ClickedLink[], has_more: boolean }>} */ (useLoad(`/broadcasts/${id}/clicked-links`, { limit: 100 }));
  const loaded = useRef(clicked);
  useEffect(() => { if (loaded.current !== clicked) { loaded.current = clicked; void links.reload(); } }, [clicked]);
  return t.section({ class: 'card', 'aria-labelledby': 'h-links' }, t.header(null, t.h2({ id: 'h-links' }, 'Clicked links'), t.span({ class: 'meta' }, 'people')),
    links.error && !links.data ? t.div({ class: 'pad' }, failed(links.error, links.reload, 'The list')) : !links.data ? skeleton(2)
      : [t.ul({ key: 'list', class: 'list' }, [...links.data.data].sort((a, b) => b.unique_clicks - a.unique_clicks).map((one) => t.li({ key: one.id }, t.div({ class: 'item' }, t.span({ class: 'grow trunc t1', title: one.url }, one.url.replace(/^https?:\/\//, '')),
        t.span({ class: 'num', title: plural(one.clicks, 'click') }, count(one.unique_clicks), t.span({ class: 'sr' }, one.unique_clicks === 1 ? ' person' : ' people')), t.span({ class: 'num t3 w-56' }, share(one.unique_clicks, clicked), t.span({ class: 'sr' }, ' of all who clicked')))))),
      links.data.has_more && t.p({ key: 'more', class: 'pad meta' }, 'The list has more.')]);
}
