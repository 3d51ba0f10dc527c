// Invented numbers: metrics, deliverability, the checks of an email, and the audit log. The states `warning`, `paused`,
// `observed`, `region` and `few` have other rates. The limits of `observed` are not enforced.
import { D, H, M, NOW, ago, missing, uuid } from './lists.mjs';

const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const share = (part, whole) => (whole > 0 ? Math.round((10_000 * part) / whole) / 100 : 0);

/** The counts of a day: fewer on Sundays. */
function countsOf(at) {
  const n = Math.floor(at / D), sent = 4000 + (n * 37) % 900 - (new Date(at).getUTCDay() === 0 ? 3200 : 0);
  const of = (per_mille, spread = 3) => Math.round((sent * (per_mille + (n * 7) % spread)) / 1000);
  return { sent, delivered: of(966), bounced: of(18), bounced_permanent: of(12), complained: n % 9 === 0 ? 1 : 0, suppressed: of(2), failed: of(2), delivery_delayed: of(14), unique_opened: of(318, 40), unique_clicked: of(52, 12), unsubscribed: of(1), prefetched: of(402, 60) };
}

const RATES = { delivery_rate: ['delivered', 'sent'], open_rate: ['unique_opened', 'delivered'], click_rate: ['unique_clicked', 'delivered'], bounce_rate: ['bounced', 'sent'], complaint_rate: ['complained', 'delivered'], unsubscribe_rate: ['unsubscribed', 'delivered'] };
const withRates = (counts) => ({ ...counts, ...Object.fromEntries(Object.entries(RATES).map(([name, [part, whole]]) => [name, share(counts[part], counts[whole])])) });
const zero = Object.fromEntries(Object.keys(countsOf(NOW)).map((name) => [name, 0]));
const add = (a, b) => Object.fromEntries(Object.keys(a).map((name) => [name, a[name] + b[name]]));

/** The first day of the step that has a day. */
function stepOf(at, granularity) {
  if (granularity === 'monthly') return `${day(at).slice(0, 7)}-01`;
  return day(granularity === 'weekly' ? at - ((new Date(at).getUTCDay() + 6) % 7) * D : at);
}

function metrics({ query, state }) {
  const from = Date.parse(query.start_date), until = Math.min(Date.parse(query.end_date), NOW), { granularity = 'daily' } = query;
  if (!(from <= until)) return { status: 422, json: { statusCode: 422, name: 'validation_error', message: 'Invalid `start_date` field: it must not be after `end_date`.' } };
  // The second domain of the fake server has sent nothing.
  const none = state === 'empty' || query.domain_id === uuid('d0d0', 1), part = query.domain_id || query.broadcast_id ? 0.25 : 1;
  /** @type {Map<string, any>} */
  const periods = new Map();
  const put = (period, counts) => periods.set(period, add(periods.get(period) ?? zero, none ? zero : counts));
  for (let at = from; at < until; at += D) {
    const counts = Object.fromEntries(Object.entries(countsOf(at)).map(([name, n]) => [name, Math.round(n * part)]));
    if (granularity !== 'hourly') { put(stepOf(at, granularity), counts); continue; }
    for (let hour = at; hour < Math.min(at + D, until); hour += H) put(new Date(hour).toISOString().slice(0, 16), Object.fromEntries(Object.entries(counts).map(([name, n]) => [name, Math.round(n / 24)])));
  }
  const totals = [...periods.values()].reduce(add, zero);
  return { json: { object: 'metrics', start_date: new Date(from).toISOString(), end_date: new Date(until).toISOString(), metrics: query.metrics?.split(',') ?? [], dimensions: ['period'], granularity, totals: withRates(totals), data: [...periods].map(([period, counts]) => ({ period, ...withRates(counts) })) } };
}

/** Hard bounces in per mille of the emails of the last two days, and the status, by state. */
const STATES = { warning: [46, 'warning'], observed: [46, 'warning'], paused: [62, 'paused'] };
/** Emails below which no limit applies. */
const SENT_MIN = 100;

function deliverability({ state }) {
  const [bounces, status] = STATES[state] ?? [12, 'ok'], few = state === 'few' || state === 'empty';
  const days = Array.from({ length: 30 }, (_, n) => {
    const at = NOW - (29 - n) * D, counts = countsOf(at), isHigh = n >= 28 && bounces > 12;
    // A day has the bounces and complaints of its own emails.
    return { date: day(at), sent: few ? 0 : counts.sent, delivered: few ? 0 : counts.delivered, sent_and_bounced: few ? 0 : isHigh ? Math.round((counts.sent * bounces) / 1000) : counts.bounced_permanent, sent_and_complained: few ? 0 : counts.complained, opened: few ? 0 : counts.unique_opened, clicked: few ? 0 : counts.unique_clicked };
  });
  const over = (name, window_days, limit, min_count) => {
    const some = days.slice(-window_days), sent = some.reduce((sum, one) => sum + one.sent, 0), count = some.reduce((sum, one) => sum + one[name], 0);
    return { limit, window_days, min_count, min_sent: SENT_MIN, rate: sent > 0 ? count / sent : 0, count, sent };
  };
  const rate = (name, warning, pause) => {
    const both = { warning: over(name, 7, ...warning), pause: over(name, 2, ...pause) };
    return { rate: both.warning.rate, count: both.warning.count, sent: both.warning.sent, ...both };
  };
  const bounce = rate('sent_and_bounced', [0.04, 1], [0.05, 10]), complaint = rate('sent_and_complained', [0.0005, 2], [0.001, 3]);
  // The state of a warning has lasted for a week.
  if (status === 'warning') Object.assign(bounce.warning, { rate: 0.0431, count: 1164, sent: 27_006 });
  const month = over('sent_and_bounced', 30, 0, 0);
  return { json: { guardrail: { status, bounce, complaint, region_paused: state === 'region', enforced: state !== 'observed' },
    score: { object: 'deliverability', score: few ? null : status === 'paused' ? 4.9 : status === 'warning' ? 6.4 : 8.7, band: few ? null : status === 'paused' ? 'at_risk' : status === 'warning' ? 'needs_attention' : 'good', content_score: few ? null : 8.1, outcome_score: few ? null : 9.2,
      complaint_rate: over('sent_and_complained', 30, 0, 0).rate, hard_bounce_rate: month.rate, emails_sent: month.sent, scored_recipients: few ? 0 : 98_213, window_days: 30, insufficient_outcome_data: few, guardrail_status: status, score_version: 1 },
    days, factors: few ? [] : [['dmarc_record', 'critical', 3.5, 12_204, 0.43], ['plain_text', 'major', 1, 40_118, 0.41], ['image_text_ratio', 'minor', 0.4, 2311, 0.01], ['a_check_of_a_later_version', 'minor', 0.1, 1, 0]].map(([check, severity, weight, failed_recipients, gain]) => ({ check, severity, weight, failed_recipients, gain })) } };
}

const CHECKS = [['dmarc_record', 'critical', 3.5, 'unknown'], ['auth_alignment', 'critical', 3.5, 'passed_by_design'], ['list_unsubscribe', 'major', 1.5, 'not_applicable'], ['link_domains_match', 'major', 1.25, 'pass'], ['no_shorteners', 'major', 1.25, 'fail', { hosts: ['bit.ly', 't.co', 'an-extraordinarily-long-host-name-of-a-link-shortener.example.com'], count: 9, failing: 3 }],
  ['body_size', 'major', 1, 'pass', { bytes: 18_204 }], ['plain_text', 'major', 1, 'fail', { characters: 0 }], ['visible_unsubscribe', 'major', 1, 'not_applicable'], ['phishing_links', 'major', 1, 'pass'], ['svg_images', 'minor', 0.5, 'pass'], ['insecure_links', 'minor', 0.25, 'fail', { hosts: ['acme.com'], count: 9, failing: 2 }],
  ['subject_lint', 'minor', 0.25, 'pass'], ['tracking_unbranded', 'minor', 0.4, 'pass', { tracked: true, own_host: true }], ['image_alt_text', 'info', 0, 'fail', { count: 4, failing: 3 }], ['bimi_ready', 'info', 0, 'unknown'], ['reply_to_present', 'info', 0, 'pass']];

/** The checks of an email. An email whose id ends with `0001` has not been checked. */
function insights(id, { state }) {
  if (id.endsWith('0001')) return missing('Insights');
  const checks = CHECKS.map(([check, severity, weight, status, detail = {}]) => ({ id: check, severity, weight, status: status === 'fail' && state === 'well' ? 'pass' : status, detail }));
  return { json: { object: 'email_insights', email_id: id, score: state === 'well' ? 10 : 7.5, score_version: 1, created_at: ago(30_000), checks } };
}

const ADA = { type: 'user', id: uuid('0e0e', 1), name: 'ada@acme.com' }, KEY = { type: 'api_key', id: uuid('beef', 0), name: 'Production' };
/** [actor, action, type, name, detail] */
const ACTIONS = [[ADA, 'api_key.created', 'api_key', 'Nightly export', { permission: 'sending_access' }], [ADA, 'sign_in.succeeded', null, null, { method: 'password' }], [KEY, 'domain.updated', 'domain', 'mail.acme.com', { open_tracking: true, click_tracking: true }], [{ type: 'command_line', id: null, name: null }, 'member.role_changed', 'user', 'olle@acme.com', { role: 'admin' }],
  [{ type: 'server', id: null, name: null }, 'webhook.updated', 'webhook', 'https://mail-events.customer-communication.northern-region.accounts.functions.cloud-provider.example.com', { status: 'disabled' }], [{ type: 'user', id: uuid('0e0e', 2), name: null }, 'queue.paused', 'queue', 'example.org', {}], [ADA, 'suppression.removed', 'suppression', null, {}], [KEY, 'broadcast.sent', 'broadcast', 'November release', { recipients: 10_878 }]];
const AUDIT = Array.from({ length: 130 }, (_, n) => {
  const [actor, action, type, name, detail] = ACTIONS[n % ACTIONS.length];
  return { id: uuid('a0d1', n), created_at: ago(n * 47 * M + 3 * M), actor, action, target: type && { type, id: uuid('d0d0', 0), name }, detail };
});

/** Entries that an answer with a filter examines. The real server has such a bound too. */
const EXAMINED_MAX = 60;

/** The newest entries that the filter selects, and the position from which the next answer continues. */
function audit({ query: { action = '', actor, after, limit = '20' }, state }) {
  const all = state === 'empty' ? [] : state === 'one' ? AUDIT.slice(0, 1) : AUDIT, data = [];
  const from = after ? all.findIndex((row) => row.id === after) + 1 : 0, bound = action || actor ? from + EXAMINED_MAX : all.length;
  let end = from;
  for (; end < Math.min(all.length, bound) && data.length < Number(limit); end += 1) {
    const row = all[end];
    if (row.action.startsWith(action) && (!actor || row.actor.type === actor)) data.push(row);
  }
  const has_more = end < all.length;
  return { json: { object: 'list', has_more, data, position: has_more ? all[end - 1].id : null } };
}

export function numbers(call) {
  const { path, state } = call;
  if (path === '/emails/metrics') return metrics(call);
  if (path === '/deliverability') return deliverability(call);
  if (path === '/audit') return state === 'viewer' ? { status: 403, json: { statusCode: 403, name: 'invalid_access', message: 'Your role is viewer, and this needs admin.' } } : audit(call);
  const [, id] = /^\/emails\/([^/]+)\/insights$/.exec(path) ?? [];
  return id ? insights(id, call) : null;
}
