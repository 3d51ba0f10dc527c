// Metrics: sending, engagement, and deliverability over time. Range and filters are in the address.
import { h, useEffect } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { ApiError } from '../lib/api.js';
import { deliverability, isBeyond, windowOf } from '../lib/guardrail.js';
import { icon } from '../lib/icons.js';
import { usePoll } from '../lib/live.js';
import { useLoad } from '../lib/load.js';
import { link, navigate, path, query, search, setQuery, useTitle } from '../lib/router.js';
import { count, percent, plural, shortDate } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Chart } from '../components/chart.js';
import { empty, failed, note, pageFailed, skeleton } from '../components/empty.js';
import { Segmented } from '../components/field.js';
import { FilterOn, OneFilter, useFilters } from '../components/filters.js';
import { pageTabs } from '../components/tabs.js';
import { bandPill, checkAdvice, checkName } from './parts/insight-words.js';
import { SPANS, ZONE, addDays, chooseDates, emailsOf, periodName, periodsOf, rangeOf, ticksOf, today } from './parts/range.js';
import { saveCsv } from './parts/save.js';
import { ViewAsApi } from './parts/view-as-api.js';

/** @typedef {import('../types/metrics.d.ts').MetricsAnswer} MetricsAnswer */
/** @typedef {import('../components/chart.js').Series} Series */
/** @typedef {{ sum: (name: string) => number, of: (name: string, whole?: string) => (number | null)[], any: (...names: string[]) => boolean, chart: (title: string, text: string, props: { bars: Series[], lines?: Series[], filters: Record<string, string> }) => import('../lib/h.js').Children }} Numbers */

/** Interval of reads of the numbers. */
const POLL_MS = 60_000;
const TABS = { sending: 'Sending', engagement: 'Engagement', deliverability: 'Deliverability' };
/** The metrics of both tabs, so that a change of the tab needs no request. */
const METRICS = 'sent,delivered,bounced,bounced_permanent,complained,suppressed,failed,delivery_delayed,unique_opened,unique_clicked,unsubscribed,prefetched,delivery_rate,open_rate,click_rate,bounce_rate,complaint_rate,unsubscribe_rate';
const STEPS = { hourly: 'By hour', daily: 'By day', weekly: 'By week', monthly: 'By month' };

/** @param {{ params: { tab?: keyof typeof TABS } }} props */
export function MetricsPage({ params: { tab = 'sending' } }) {
  const title = TABS[tab];
  useTitle(title && `${title} · Metrics`);
  if (!title) return pageFailed('Page', new ApiError(404, 'not_found', '', null), () => {});
  const tabs = /** @type {[keyof typeof TABS, string][]} */ (Object.entries(TABS)).map(([id, label]) => ({ to: (id === 'sending' ? '/metrics' : `/metrics/${id}`) + search(query.value), label, current: id === tab }));
  return fragment(t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Metrics'))), pageTabs('Kinds of metrics', tabs),
    tab === 'deliverability' ? h(Deliverability, null) : h(Counted, { tab }));
}

/** @typedef {import('../lib/load.js').Loaded<{ data: { id: string, name: string | null, subject?: string }[] }>} Names */

/** The tabs of counted emails. @param {{ tab: 'sending' | 'engagement' }} props */
function Counted({ tab }) {
  const filters = useFilters(['domain', 'broadcast']), { domain, broadcast } = filters.values;
  const range = rangeOf(query.value), { granularity } = range;
  const wanted = { start_date: range.first, end_date: addDays(range.last, 1), timezone: ZONE, granularity, dimensions: 'period', metrics: METRICS, domain_id: domain, broadcast_id: broadcast };
  const loaded = /** @type {import('../lib/load.js').Loaded<MetricsAnswer>} */ (useLoad('/emails/metrics', wanted));
  usePoll(loaded.reload, POLL_MS);
  const domains = /** @type {Names} */ (useLoad('/domains', { limit: 100 })), broadcasts = /** @type {Names} */ (useLoad('/broadcasts', { limit: 50 }));
  const nameOf = (/** @type {Names} */ list) => (list.data?.data ?? []).map((one) => /** @type {[string, string]} */ ([one.id, one.name || one.subject || one.id]));
  const name = nameOf(domains).find(([id]) => id === domain)?.[1];
  const data = loaded.data, rows = data?.data ?? [];
  const periods = periodsOf(range, rows), byPeriod = new Map(rows.map((row) => [granularity === 'hourly' ? row.period : row.period.slice(0, 10), row]));
  const names = periods.map((period) => periodName(period, granularity));
  const value = (/** @type {string} */ period, /** @type {string} */ metric) => Number(byPeriod.get(period)?.[metric] ?? 0);
  /** @type {Numbers} */
  const numbers = {
    sum: (metric) => data?.totals[metric] ?? 0,
    any: (...metrics) => metrics.some((metric) => (data?.totals[metric] ?? 0) > 0),
    of: (metric, whole) => periods.map((period) => (whole && value(period, whole) === 0 ? null : value(period, metric))),
    chart: (title, text, props) => {
      const series = [...props.bars, ...(props.lines ?? [])], head = granularity === 'hourly' ? 'Hour' : granularity === 'daily' ? 'Day' : 'From';
      const csv = () => saveCsv(`${title.toLowerCase().replaceAll(' ', '-')}.csv`, [[`${head}, ${ZONE}`, ...series.map((one) => one.name)], ...periods.map((period, i) => [period, ...series.map((one) => String(one.values[i] ?? ''))])]);
      return t.section({ key: title, class: 'card section', 'aria-label': title }, t.header(null, t.h2(null, title), h(Button, { kind: 'ghost', size: 'sm', icon: 'download', onClick: csv }, 'CSV')),
        t.div({ class: 'pad' }, h(Chart, { label: `${title}. ${text}`, buckets: names, ticks: ticksOf(periods, granularity), bars: props.bars, lines: props.lines, head: `${head}, ${ZONE}`, empty: 'Nothing in this time.',
          to: (/** @type {number} */ i) => { const period = periods[i]; return period === undefined || (domain && !name && !broadcast) ? null : broadcast ? `/broadcasts/${broadcast}` : emailsOf(period, granularity, { ...props.filters, domain: name }); } })));
    },
  };
  const bare = data && !filters.any && Object.values(data.totals).every((one) => one === 0);
  return fragment(
    t.div({ class: 'filters', role: 'search', 'aria-label': 'Range and filters' },
      h(Segmented, { label: 'Range', value: range.days || 'own', options: [...SPANS.map((n) => /** @type {[string, string]} */ ([n, `${n} days`])), ['own', 'Dates']],
        onChange: (/** @type {string} */ next) => { if (next === 'own') chooseDates(range, path.value, query.value); else setQuery({ days: next === '7' ? null : next, from: null, to: null, by: null }); } }),
      !range.days && h(Dates, { range }),
      range.fitting.length > 1 && h(OneFilter, { name: 'by', label: STEPS[granularity], none: 'Best step', options: range.fitting.map((step) => /** @type {[string, string]} */ ([step, STEPS[step]])) }),
      h(Choice, { name: 'domain', label: 'domain', options: nameOf(domains) }), h(Choice, { name: 'broadcast', label: 'broadcast', options: nameOf(broadcasts) }),
      t.span({ class: 'grow' }), h(ViewAsApi, { path: `/emails/metrics${search({ ...wanted, metrics: null })}` })),
    loaded.error && !data ? failed(loaded.error, loaded.reload, 'The numbers') : !data ? fragment(skeleton(6), t.div({ class: 'section' }), skeleton(6))
      : bare ? empty({ title: `No emails ${range.days ? `in the last ${range.days} days` : 'on these days'}`, text: 'The numbers of sent, delivered, opened and clicked emails appear here as they happen.', docs: 'metrics', actions: h(Button, { onClick: () => navigate('/connect') }, 'Connect a program') })
        : fragment(filters.any && !numbers.any('sent', 'delivered', 'bounced', 'unique_opened', 'unique_clicked') && note('plain', t.p(null, 'No email matches the filter. ', t.button({ type: 'button', class: 'link', onClick: filters.clear }, 'Clear filters'))),
          tab === 'sending' ? sending(numbers) : engagement(numbers)));
}

/** The fields of own dates. @param {{ range: import('./parts/range.js').Range }} props */
function Dates({ range }) {
  const field = (/** @type {'from' | 'to'} */ name, /** @type {string} */ label, /** @type {string} */ value, /** @type {{ min?: string, max: string }} */ bounds) =>
    t.input({ type: 'date', class: 'input date', 'aria-label': label, value, ...bounds, required: true, onChange: (/** @type {Event & { currentTarget: HTMLInputElement }} */ event) => { if (event.currentTarget.checkValidity()) setQuery({ [name]: event.currentTarget.value, by: null }, { replace: true }); } });
  return fragment(field('from', 'First day', range.first, { max: range.last }), t.span({ class: 't3' }, 'to'), field('to', 'Last day', range.last, { min: range.first, max: today() }));
}

/** A filter by a thing of the team; nothing without such things. @param {{ name: string, label: string, options: [string, string][] }} props */
function Choice({ name, label, options }) {
  const value = query.value[name];
  if (value && !options.some(([id]) => id === value)) return h(FilterOn, { name, label: label === 'domain' ? 'Domain is' : 'Broadcast is' });
  return options.length === 0 ? null : h(OneFilter, { name, label: `Any ${label}`, none: `Any ${label}`, options });
}

/** @param {[name: string, value: string, note?: string][]} list */
function stats(list) {
  return t.div({ class: 'card section pad' }, t.dl({ class: 'stats stats-0' }, list.map(([name, value, text]) => t.div({ key: name }, t.dt(null, name), t.dd(null, value, text && t.small(null, ` ${text}`))))));
}

/** @param {Numbers} numbers */
function sending({ sum, of, chart }) {
  const others = of('bounced').map((n, i) => (n ?? 0) - (of('bounced_permanent')[i] ?? 0));
  return fragment(
    stats([['Sent', count(sum('sent'))], ['Delivered', percent(sum('delivery_rate')), count(sum('delivered'))], ['Bounced', percent(sum('bounce_rate')), count(sum('bounced'))], ['Complained', percent(sum('complaint_rate')), count(sum('complained'))], ['Suppressed', count(sum('suppressed'))]]),
    chart('Sent and delivered', `${count(sum('sent'))} emails were sent, ${percent(sum('delivery_rate'))} of them delivered.`, { filters: {}, bars: [{ name: 'Sent', tone: 'gray', values: of('sent') }], lines: [{ name: 'Delivered', tone: 'green', values: of('delivery_rate', 'sent') }] }),
    chart('Not delivered', `${count(sum('bounced'))} bounced, ${count(sum('failed'))} failed, ${count(sum('delivery_delayed'))} were delayed.`, { filters: { status: 'bounced,failed,delivery_delayed' }, bars: [{ name: 'Hard bounces', tone: 'red', values: of('bounced_permanent') }, { name: 'Other bounces', tone: 'amber', values: others }, { name: 'Failed', tone: 'strong', values: of('failed') }, { name: 'Delayed', tone: 'machine', values: of('delivery_delayed') }] }));
}

/** @param {Numbers} numbers */
function engagement({ sum, of, any, chart }) {
  const off = !any('unique_opened', 'unique_clicked', 'prefetched');
  return fragment(
    off && t.div({ class: 'section' }, note('plain', t.p(null, 'No opens and clicks are recorded in this time. Each domain has its own switch for them: ', link({ class: 'link', to: '/domains' }, 'domains'), '.'))),
    stats([['Opened', percent(sum('open_rate')), count(sum('unique_opened'))], ['Clicked', percent(sum('click_rate')), count(sum('unique_clicked'))], ['Unsubscribed', percent(sum('unsubscribe_rate')), count(sum('unsubscribed'))], ['Prefetched', count(sum('prefetched'))]]),
    chart('Opens', `${count(sum('unique_opened'))} recipients opened, ${percent(sum('open_rate'))} of those delivered. Software loaded ${count(sum('prefetched'))} more.`, { filters: { status: 'opened,clicked' }, bars: [{ name: 'By people', tone: 'blue', values: of('unique_opened') }, { name: 'Prefetched by software', tone: 'machine', values: of('prefetched') }], lines: [{ name: 'Open rate', tone: 'blue', values: of('open_rate', 'delivered') }] }),
    chart('Clicks', `${count(sum('unique_clicked'))} recipients clicked, ${percent(sum('click_rate'))} of those delivered.`, { filters: { status: 'clicked' }, bars: [{ name: 'Recipients who clicked', tone: 'violet', values: of('unique_clicked') }], lines: [{ name: 'Click rate', tone: 'violet', values: of('click_rate', 'delivered') }] }),
    note('plain', t.p(null, t.b(null, 'People and software are counted apart. '), 'Mail programs load images before anybody reads an email, and security scanners follow its links. Such loads are listed as prefetched with their reason, and are in no rate. A rate counts each recipient once.')));
}

/** @typedef {import('../types/metrics.d.ts').DeliverabilityAnswer} DeliverabilityAnswer */
/** @typedef {import('../types/metrics.d.ts').GuardrailRate} GuardrailRate */

const DAY_MS = 86_400_000;
/** Texts below a chart are every so many days. */
const TICK_DAYS = 4;

/** The tab. Its numbers are those of the whole team, in UTC, as the guardrail counts. */
function Deliverability() {
  const loaded = /** @type {import('../lib/load.js').Loaded<DeliverabilityAnswer>} */ (useLoad('/deliverability'));
  usePoll(loaded.reload, POLL_MS);
  const at = loaded.data;
  // The banner shows the same state.
  useEffect(() => { if (at) deliverability.value = at; }, [at]);
  if (loaded.error && !at) return failed(loaded.error, loaded.reload, 'The deliverability');
  if (!at) return fragment(skeleton(6), t.div({ class: 'section' }), skeleton(6));
  const { guardrail } = at;
  return t.div({ class: 'cols' },
    t.div({ class: 'stack' }, rateChart(at, 'Hard bounces', 'bounced', guardrail.bounce), rateChart(at, 'Spam complaints', 'complained', guardrail.complaint), limits(guardrail)),
    t.div({ class: 'stack' }, score(at), factors(at)));
}

/**
 * The rate over both windows of the guardrail, with its limits. The first days complete the windows of the others.
 * A bounce or a complaint belongs to the day of the send, as in the guardrail.
 * @param {DeliverabilityAnswer} answer
 * @param {string} title
 * @param {'bounced' | 'complained'} name
 * @param {GuardrailRate} limit
 */
function rateChart({ days, guardrail }, title, name, { warning, pause }) {
  const first = Math.min(Math.max(warning.window_days, pause.window_days) - 1, Math.max(0, days.length - 1));
  const shown = days.slice(first), field = /** @type {const} */ (`sent_and_${name}`);
  const over = (/** @type {number} */ window) => shown.map((_, i) => {
    const some = days.slice(Math.max(0, first + i + 1 - window), first + i + 1), sent = some.reduce((sum, day) => sum + day.sent, 0);
    return sent === 0 ? null : (100 * some.reduce((sum, day) => sum + day[field], 0)) / sent;
  });
  const short = over(pause.window_days), long = over(warning.window_days);
  const names = shown.map((day) => shortDate(Date.parse(day.date)));
  const line = (/** @type {number} */ n) => `Over ${n} days`;
  const csv = () => saveCsv(`${title.toLowerCase().replaceAll(' ', '-')}.csv`, [['Day, UTC', 'Sent', title, ...[pause, warning].map((one) => `${line(one.window_days)}, percent`)],
    ...shown.map((day, i) => [day.date, String(day.sent), String(day[field]), ...[short[i], long[i]].map((value) => value === null || value === undefined ? '' : value.toFixed(3))])]);
  const to = (/** @type {number} */ i) => { const at = Date.parse(shown[i]?.date ?? ''); return Number.isNaN(at) ? null : `/emails${search({ status: name, since: new Date(at).toISOString(), until: new Date(at + DAY_MS).toISOString() })}`; };
  return t.section({ class: 'card', 'aria-label': title }, t.header(null, t.h2(null, title), h(Button, { kind: 'ghost', size: 'sm', icon: 'download', onClick: csv }, 'CSV')),
    t.div({ class: 'pad' }, h(Chart, { label: `${title}: ${percent(pause.rate * 100)} over ${windowOf(pause.window_days)}, where ${percent(pause.limit * 100)} ${guardrail.enforced === false ? 'is the limit' : 'pauses sending'}, and ${percent(warning.rate * 100)} over ${windowOf(warning.window_days)}, where ${percent(warning.limit * 100)} is the warning.`,
      buckets: names, ticks: names.map((one, i) => (i % TICK_DAYS === 0 ? one : '')), head: 'Day, UTC', empty: 'Nothing was sent on these days.', to,
      bars: [{ name: 'Sent', tone: 'gray', values: shown.map((day) => day.sent) }], lines: [{ name: line(pause.window_days), tone: 'red', values: short }, { name: line(warning.window_days), tone: 'amber', values: long }],
      limits: [{ name: `Warning, ${warning.window_days} days`, at: warning.limit * 100, tone: 'warn' }, { name: `${pauseWord(guardrail)}, ${pause.window_days} days`, at: pause.limit * 100, tone: 'pause' }] })));
}

/** The word for the higher limit, which pauses sending only if it is enforced. @param {DeliverabilityAnswer['guardrail']} guardrail */
function pauseWord({ enforced }) {
  return enforced === false ? 'Limit' : 'Pause';
}

/** The figures of the guardrail. @param {DeliverabilityAnswer['guardrail']} guardrail */
function limits(guardrail) {
  const { bounce, complaint, enforced } = guardrail, word = pauseWord(guardrail).toLowerCase();
  const rows = /** @type {[string, import('../types/metrics.d.ts').GuardrailLimit][]} */ ([['Hard bounces, warning', bounce.warning], [`Hard bounces, ${word}`, bounce.pause], ['Complaints, warning', complaint.warning], [`Complaints, ${word}`, complaint.pause]]);
  const head = (/** @type {string} */ text, /** @type {boolean} */ isNumber = true) => t.th({ key: text, scope: 'col', class: isNumber ? 'num' : undefined }, text);
  return t.section({ class: 'card', 'aria-labelledby': 'h-limits' }, t.header(null, t.h2({ id: 'h-limits' }, 'Limits')),
    t.div({ class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Limits of the rates' }, t.table({ class: 'table table-compact table-plain' },
      t.thead(null, t.tr(null, head('Rate', false), head('Days'), head('Now'), head('Limit'), head('At least'))),
      t.tbody(null, rows.map(([name, one]) => t.tr({ key: name }, t.td(null, name), t.td({ class: 'num' }, one.window_days),
        t.td({ class: 'num' }, t.span({ class: isBeyond(one) ? 'red' : undefined }, percent(one.rate * 100)), t.span({ class: 't3' }, ` ${count(one.count)} of ${count(one.sent)}`)), t.td({ class: 'num' }, percent(one.limit * 100)), t.td({ class: 'num' }, one.min_count)))))),
    t.p({ class: 'pad meta' }, `Days are UTC days with today. A bounce or a complaint counts on the day on which its email was sent. A limit counts from ${count(bounce.pause.min_sent)} sent emails on. ${enforced === false ? 'This server refuses no emails because of a limit.' : 'A pause refuses new emails until its days have passed.'} Simulated recipients do not count.`));
}

/** @param {DeliverabilityAnswer} answer */
function score({ score: at }) {
  const fact = (/** @type {string} */ name, /** @type {string} */ value) => t.div({ key: name }, t.dt(null, name), t.dd(null, value));
  const points = (/** @type {number | null} */ value) => (value === null ? '–' : value.toFixed(1));
  return t.section({ class: 'card', 'aria-labelledby': 'h-score' }, t.header(null, t.h2({ id: 'h-score' }, 'Score'), at.score !== null && bandPill(at.band)),
    at.score === null ? empty({ card: false, title: 'No score yet', text: `It needs emails of the last ${at.window_days} days.`, docs: 'deliverability' })
      : t.div({ class: 'pad stack-sm' }, t.p({ class: 'stat-lg' }, points(at.score), t.small({ class: 't3' }, ' of 10')), t.progress({ class: 'progress', max: 10, value: at.score, 'aria-label': 'Score' }),
        t.dl({ class: 'sum' }, fact('Content', points(at.content_score)), fact('Outcome', points(at.outcome_score)), fact('Hard bounces', percent(at.hard_bounce_rate * 100)), fact('Complaints', percent(at.complaint_rate * 100)), fact('Emails sent', count(at.emails_sent)), fact('Recipients with checks', count(at.scored_recipients))),
        t.p({ class: 'meta' }, `Of the last ${at.window_days} days. `, at.insufficient_outcome_data && 'The outcome counts from 100 sent emails on.')));
}

/** @param {DeliverabilityAnswer} answer */
function factors({ factors: all, score: at }) {
  return t.section({ class: 'card', 'aria-labelledby': 'h-mend' }, t.header(null, t.h2({ id: 'h-mend' }, 'What to mend')),
    all.length === 0 ? t.p({ class: 'pad' }, at.scored_recipients > 0 ? 'No check of the content fails.' : 'No email has been checked yet.')
      : t.ul({ class: 'list' }, all.map((one) => t.li({ key: one.check }, t.div({ class: 'check-row' }, icon(one.severity === 'critical' ? 'stop' : 'warn', one.severity === 'critical' ? 'red' : 'amber'),
        t.span(null, t.b({ class: 'dblock' }, checkName(one.check)), checkAdvice(one.check), t.span({ class: 'meta dblock' }, `Fails for ${plural(one.failed_recipients, 'recipient')}.`)), t.span({ class: 'num green', title: 'Points that the score would gain' }, `+${one.gain.toFixed(2)}`))))));
}
