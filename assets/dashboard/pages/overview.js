// Overview: problems as sentences, the worst first, each with a link to the page that solves it.
import { h, useCallback, useEffect } from '../vendor/preact.js';
import { docsUrl } from '../lib/docs.js';
import { fragment, t } from '../lib/h.js';
import { deliverability } from '../lib/guardrail.js';
import { icon } from '../lib/icons.js';
import { useLive, usePoll } from '../lib/live.js';
import { useLoad } from '../lib/load.js';
import { link } from '../lib/router.js';
import { allows, firstSteps, isOperator, me, setFirstSteps } from '../lib/state.js';
import { takeStatus } from '../lib/status.js';
import { count, percent, plural, span } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Chart } from '../components/chart.js';
import { empty, failed, skeleton } from '../components/empty.js';
import { dot, emailPill, pill } from '../components/pill.js';
import { Live } from '../components/table.js';
import { Time } from '../components/time.js';
import { useDomains } from './parts/domains.js';
import { bandPill } from './parts/insight-words.js';
import { ZONE, addDays, emailsOf, periodName, periodsOf, rangeOf, ticksOf } from './parts/range.js';

/**
 * @typedef {object} OverviewAnswer
 * @property {{ severity: 'red' | 'amber', text: string, href: string }[]} attention
 * @property {{ waiting: number, oldest_s: number, paused: boolean }} queue
 * @property {{ disabled: number, failing: number }} webhooks
 * @property {{ unverified: number }} domains
 * @property {import('../lib/status.js').HealthState | null} health null before the first checks
 * @property {import('../types/api.d.ts').EmailSummary[]} last
 */

/** Time between two reads while emails move. */
const REFRESH_MS = 2000;
/** Time between two reads otherwise: no event reports the checks and the queue. */
const POLL_MS = 15_000;
/** Time between two reads of the numbers of the last days. */
const WEEK_MS = 60_000;

export function OverviewPage() {
  const loaded = /** @type {import('../lib/load.js').Loaded<OverviewAnswer>} */ (useLoad('/overview'));
  useLive(['email.'], useCallback(() => { void loaded.reload(); }, [loaded.reload]), REFRESH_MS);
  usePoll(loaded.reload, POLL_MS);
  const at = loaded.data;
  useEffect(() => { if (at) takeStatus(at); }, [at]);
  const head = t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Overview')));
  if (loaded.error && !at) return fragment(head, failed(loaded.error, loaded.reload));
  if (!at) return fragment(head, skeleton(4), t.div({ class: 'section' }), skeleton(6));
  return fragment(head, h(Attention, { at }),
    t.div({ class: 'cols' },
      t.div({ class: 'stack' }, h(Start, { sent: at.last.length > 0 }), at.last.length > 0 && fragment(h(Week, null), h(Latest, { emails: at.last }))),
      t.div({ class: 'stack' }, isOperator() && h(Waiting, { queue: at.queue }), score(), h(States, { at }))));
}

/** @param {{ at: OverviewAnswer }} props */
function Attention({ at }) {
  return t.section({ class: 'section', 'aria-labelledby': 'h-need' }, t.header(null, t.h2({ id: 'h-need' }, 'Needs attention'),
    at.attention.length > 0 && at.health === 'ok' && t.span({ class: 'meta' }, 'The server itself is well: ', link({ class: 'link', to: '/health' }, 'its checks'))),
  at.attention.length === 0
    ? t.div({ class: 'card calm' }, icon('check'), t.p(null, t.b(null, 'Nothing needs you. '), at.health === 'ok' ? 'Domains, webhooks and the queue are well.' : 'Emails leave as they should.'))
    : t.ul({ class: 'card list' }, at.attention.map((one) => t.li({ key: one.text }, t.a({ class: 'cause cause-line', href: one.href },
      dot(one.severity, one.severity === 'red' ? 'Failing' : 'Warning'), t.span({ class: 'cause-t' }, emphasised(one.text)), icon('right'))))));
}

/** The text with its hosts and URLs in bold. @param {string} text */
function emphasised(text) {
  return text.split(/(https?:\/\/[^\s]+|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b)/).map((part, i) => (i % 2 === 1 ? t.b({ key: i }, part.replace(/^https:\/\//, '')) : part));
}

/** The numbers of the last seven days. */
function Week() {
  const range = rangeOf({});
  const loaded = /** @type {import('../lib/load.js').Loaded<import('../types/metrics.d.ts').MetricsAnswer>} */ (useLoad('/emails/metrics', { start_date: range.first, end_date: addDays(range.last, 1), timezone: ZONE, granularity: 'daily', dimensions: 'period', metrics: 'sent,delivered,delivery_rate,open_rate,click_rate,bounce_rate' }));
  usePoll(loaded.reload, WEEK_MS);
  if (!loaded.data) return loaded.error ? failed(loaded.error, loaded.reload, 'The numbers') : skeleton(6);
  const { totals, data = [] } = loaded.data, periods = periodsOf(range, data), rows = periods.map((period) => data.find((row) => row.period.startsWith(period)));
  const sum = (/** @type {string} */ name) => totals[name] ?? 0, fact = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ to) => t.div({ key: name }, t.dt(null, name), t.dd(null, link({ to }, value)));
  return t.section({ class: 'card', 'aria-labelledby': 'h-week' }, t.header(null, t.h2({ id: 'h-week' }, 'Last 7 days'), link({ class: 'btn btn-ghost btn-sm', to: '/metrics' }, 'Metrics')),
    t.div({ class: 'pad' }, t.dl({ class: 'stats' }, fact('Sent', count(sum('sent')), '/emails?since=7d'), fact('Delivered', percent(sum('delivery_rate')), '/metrics'), fact('Opened', percent(sum('open_rate')), '/metrics/engagement'), fact('Clicked', percent(sum('click_rate')), '/metrics/engagement'), fact('Bounced', percent(sum('bounce_rate')), '/emails?status=bounced&since=7d')),
      h(Chart, { label: `${count(sum('sent'))} emails in the last 7 days, ${percent(sum('bounce_rate'))} of them bounced.`, buckets: periods.map((period) => periodName(period, 'daily')), ticks: ticksOf(periods, 'daily'), head: `Day, ${ZONE}`, empty: 'Nothing was sent in the last 7 days.',
        bars: [{ name: 'Sent', tone: 'gray', values: rows.map((row) => Number(row?.sent ?? 0)) }], lines: [{ name: 'Bounced', tone: 'red', values: rows.map((row) => (row?.sent ? Number(row.bounce_rate ?? 0) : null)) }], to: (/** @type {number} */ i) => emailsOf(periods[i] ?? '', 'daily', {}) })));
}

/** The score of the deliverability; nothing before the first answer, and without emails. */
function score() {
  const at = deliverability.value?.score;
  return at && at.score !== null && t.section({ class: 'card', 'aria-labelledby': 'h-deliver' }, t.header(null, t.h2({ id: 'h-deliver' }, 'Deliverability'), bandPill(at.band)),
    t.div({ class: 'pad stack-xs' }, t.p({ class: 'stat-lg' }, at.score.toFixed(1), t.small({ class: 't3' }, ' of 10')), t.div({ class: 'actions' }, link({ class: 'btn btn-sm', to: '/metrics/deliverability' }, 'What to mend'))));
}

/** @param {{ emails: OverviewAnswer['last'] }} props */
function Latest({ emails }) {
  return t.section({ class: 'card', 'aria-labelledby': 'h-last' },
    t.header(null, t.h2({ id: 'h-last' }, 'Latest emails'), h(Live, null), link({ class: 'btn btn-ghost btn-sm', to: '/emails' }, 'All emails')),
    t.ul({ class: 'list' }, emails.map((email) => t.li({ key: email.id }, link({ class: 'item last', to: `/emails/${email.id}` },
      emailPill(email.last_event), t.span({ class: 'trunc t1' }, t.bdi(null, email.subject || '(no subject)')), t.span({ class: 'trunc t3 hide-sm' }, email.to[0]), h(Time, { at: email.created_at }))))));
}

/**
 * The steps of a new server, until all are done or the list is hidden. A development server only captures, and another team
 * does not choose the delivery: they have the first two steps. If the list is hidden and the team has no email, the page
 * shows an empty state.
 * @param {{ sent: boolean }} props
 */
function Start({ sent }) {
  const at = me.value, wanted = at !== null && firstSteps() === '';
  const captures = at?.delivery === 'capture', delivers = at?.mode === 'serve' && isOperator();
  const { domains, verified, error, reload } = useDomains(wanted);
  const ends = wanted && sent && Boolean(verified) && !(captures && delivers);
  useEffect(() => { if (ends) setFirstSteps('done'); }, [ends]);
  if (!at) return null;
  if (!wanted || ends) return sent ? null : empty({ title: 'No emails yet', text: 'Each email that your programs send is listed here.', docs: 'sending', actions: link({ class: 'btn', to: '/emails' }, 'Show settings') });
  if (!domains) return error ? failed(error, reload, 'The steps') : sent && !captures ? null : skeleton(4);
  const hide = () => { setFirstSteps('hidden'); document.getElementById('main')?.focus(); };
  /** @type {[done: boolean, title: string, text: import('../lib/h.js').Children, action?: import('../lib/h.js').Children][]} */
  const steps = [
    [Boolean(verified), 'Add a domain', verified ? `${verified} is verified.` : domains[0] ? `${domains[0].name} waits for its DNS records.` : 'Emails are sent from its addresses.',
      allows('admin') && (domains[0] ? link({ class: 'btn btn-sm', to: `/domains/${domains[0].id}` }, 'Show records') : link({ class: 'btn btn-sm', to: '/domains?create=1' }, 'Add domain'))],
    [sent, 'Send the first email', sent ? 'It is in the list of emails.' : 'The SDK of a program stays the same; two settings change.', link({ class: 'btn btn-sm', to: '/emails' }, 'Show settings')],
  ];
  if (delivers) {
    steps.push([!captures, 'Choose the delivery', !captures ? (at.delivery === 'direct' ? 'Directly to each recipient.' : 'Through a smarthost.') : at.release ? ['Released emails are sent by ', t.code({ key: 'c' }, at.release), '.']
      : ['Directly to each recipient, or through a smarthost. With ', t.code({ key: 'c' }, '--release direct'), ', you can release single captured emails first.'], t.a({ class: 'btn btn-sm', href: docsUrl('delivery') }, 'Compare')],
      [!captures, 'Switch capture off', captures ? ['Start the server with ', t.code({ key: 'd' }, '--delivery direct'), ' or ', t.code({ key: 'r' }, '--delivery relay --relay smtp://USER@HOST:PORT'), '.'] : 'Emails are delivered.', t.a({ class: 'btn btn-sm', href: docsUrl('production') }, 'Read more')]);
  }
  const next = steps.findIndex(([done]) => !done);
  return t.section({ class: 'card', 'aria-labelledby': 'h-start' }, t.header(null, t.h2({ id: 'h-start' }, 'First steps'), t.span({ class: 'meta' }, `${steps.filter(([done]) => done).length} of ${steps.length} done`), h(Button, { kind: 'ghost', size: 'sm', onClick: hide }, 'Hide')),
    t.ol({ class: 'list' }, steps.map(([done, title, text, action], i) => t.li({ key: title }, t.div({ class: 'item item-wide' },
      t.span({ class: 'w-72' }, done ? pill('Done', { tone: 'green' }) : i === next ? pill('Next', { tone: 'blue' }) : pill('Later', { hollow: true })),
      t.span({ class: 'grow' }, t.span({ class: 't1 medium dblock' }, title), t.span({ class: 'dblock wrap-any' }, text)), !done && action)))));
}

/** @param {{ queue: OverviewAnswer['queue'] }} props */
function Waiting({ queue }) {
  return t.section({ class: 'card', 'aria-labelledby': 'h-old' }, t.header(null, t.h2({ id: 'h-old' }, 'Oldest waiting email')),
    queue.waiting === 0 ? empty({ title: 'Nothing waits', text: 'Every accepted email has left.', card: false })
      : t.div({ class: 'pad stack-xs' }, t.p({ class: 'stat-lg' }, queue.oldest_s > 0 ? span(queue.oldest_s * 1000) : 'None is late'), t.p(null, queue.oldest_s > 0 ? 'since it was due.' : 'Retries and scheduled emails wait for their time.'),
        t.div({ class: 'actions' }, link({ class: 'btn btn-sm', to: '/queue' }, `Queue, ${count(queue.waiting)}`))));
}

/** @type {Record<import('../lib/status.js').HealthState, [import('../components/pill.js').Tone, string]>} */
const SERVER = { ok: ['green', 'well'], warning: ['amber', 'warnings'], failing: ['red', 'failing'] };

/** The other parts, each with its page. @param {{ at: OverviewAnswer }} props */
function States({ at }) {
  const { disabled, failing } = at.webhooks;
  /** @type {[string, string, import('../components/pill.js').Tone, string][]} */
  const parts = [
    ['/health', 'Server', at.health ? SERVER[at.health][0] : 'gray', at.health ? SERVER[at.health][1] : 'not checked'],
    ['/domains', 'Domains', at.domains.unverified === 0 ? 'green' : 'amber', at.domains.unverified === 0 ? 'all verified' : `${plural(at.domains.unverified, 'domain')} not verified`],
    ['/webhooks', 'Webhooks', disabled > 0 ? 'red' : failing > 0 ? 'amber' : 'green', disabled > 0 ? `${disabled} disabled` : failing > 0 ? `${failing} failing` : 'none fails'],
  ];
  return t.section({ class: 'card', 'aria-labelledby': 'h-parts' }, t.header(null, t.h2({ id: 'h-parts' }, 'Parts')),
    t.ul({ class: 'list' }, parts.filter(([to]) => to !== '/health' || isOperator()).map(([to, name, tone, text]) => t.li({ key: to }, link({ class: 'item', to }, dot(tone, text), t.span({ class: 'grow t1' }, name), t.span({ class: 't3' }, text))))));
}
