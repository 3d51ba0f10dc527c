// The numbers of a broadcast by the domain of its recipients.
import { deliverability } from '../../lib/guardrail.js';
import { t } from '../../lib/h.js';
import { link, search } from '../../lib/router.js';
import { isOperator } from '../../lib/state.js';
import { count, percent, plural } from '../../lib/time.js';
import { pill } from '../../components/pill.js';

/** @typedef {import('../../types/broadcasts.d.ts').DomainCounts} DomainCounts */

/** Nothing before the first attempt. @param {{ report: import('../../types/broadcasts.d.ts').BroadcastReport }} props */
export function Domains({ report: { domains, other_domains: others } }) {
  if (domains.length === 0) return null;
  const warning = deliverability.value?.guardrail.bounce.warning;
  const head = (/** @type {string} */ name, /** @type {string} */ more = '') => t.th({ key: name, scope: 'col', class: more || undefined }, name);
  const row = (/** @type {string} */ name, /** @type {DomainCounts} */ one, isDomain = true) => {
    const bounced = one.bounced / (one.attempted || 1), isHigh = warning && one.attempted >= warning.min_sent && bounced >= warning.limit;
    return t.tr({ key: name }, t.th({ scope: 'row', title: name }, isDomain && one.waiting > 0 && isOperator() ? link({ class: 'cell', to: `/queue${search({ q: name })}` }, name) : t.span({ class: 't1 trunc dblock' }, name)),
      t.td({ class: 'num' }, count(one.attempted)), t.td({ class: 'num' }, count(one.delivered)), t.td({ class: 'num', title: count(one.bounced) }, isHigh ? t.span({ class: 'red' }, percent(100 * bounced), t.span({ class: 'sr' }, ', above the warning')) : percent(100 * bounced)), t.td({ class: 'num' }, count(one.waiting)),
      // A broadcast is sent when its last email is claimed. Emails that are retried wait longer.
      t.td(null, one.waiting > 0 ? pill('Sending', { tone: 'green' }) : pill('Done')));
  };
  return t.section({ class: 'card', 'aria-labelledby': 'h-domains' }, t.header(null, t.h2({ id: 'h-domains' }, 'By domain')),
    t.div({ class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Numbers by domain' }, t.table({ class: 'table table-domains' }, t.caption({ class: 'sr' }, 'Emails by the domain of the recipient, the most first'),
      t.thead(null, t.tr(null, head('Domain'), head('Sent', 'num w-88'), head('Delivered', 'num w-104'), head('Bounced', 'num w-88'), head('Waiting', 'num w-88'), head('State', 'w-128'))),
      t.tbody(null, domains.map((one) => row(one.domain, one)), others && row(others.domains === null ? 'Other domains' : plural(others.domains, 'other domain'), others, false)))));
}
