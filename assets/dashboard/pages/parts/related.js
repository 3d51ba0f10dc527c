// The parts that belong to an email: the request that made it, the webhook deliveries of its events, and the checks of
// its content.
import { h, useCallback } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { domainOf } from '../../lib/address.js';
import { icon } from '../../lib/icons.js';
import { useLive, usePoll } from '../../lib/live.js';
import { useLoad } from '../../lib/load.js';
import { link } from '../../lib/router.js';
import { allows, now } from '../../lib/state.js';
import { parseTime, plural, span } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { failed } from '../../components/empty.js';
import { httpPill, pill } from '../../components/pill.js';
import { Time } from '../../components/time.js';
import { checkAdvice, checkName } from './insight-words.js';
import { replayAll } from './replay.js';

/**
 * @typedef {object} DeliveryOfEmail
 * @property {string} id
 * @property {string} webhook_id
 * @property {string} endpoint
 * @property {string} event
 * @property {string} status
 * @property {number} attempts
 * @property {string | null} next_attempt_at
 * @property {number | null} response_status
 * @property {number | null} duration_ms
 * @property {string} created_at
 */

/** Time after an event until its first delivery is probably done, and between two reads while one is not. */
const AFTER_EVENT_MS = 1500, POLL_MS = 5000;

/** The webhook deliveries of the email's events. @param {{ id: string }} props */
export function Deliveries({ id }) {
  const { data, error, reload } = /** @type {import('../../lib/load.js').Loaded<{ data: DeliveryOfEmail[] }>} */ (useLoad(`/emails/${id}/deliveries`));
  const again = useCallback(() => { void reload(); }, [reload]);
  useLive(['email.'], again, AFTER_EVENT_MS, (event) => event.data?.data?.email_id === id);
  usePoll(again, data?.data.some((one) => one.status === 'pending' || one.status === 'attempting') ? POLL_MS : null);
  if (error || !data || data.data.length === 0) return null;
  const failed = data.data.filter((one) => one.status === 'failed');
  const replay = async () => {
    await replayAll(failed.map((one) => `/webhooks/${one.webhook_id}/deliveries/${encodeURIComponent(one.id)}`));
    await reload();
  };
  return t.section({ class: 'card', 'aria-labelledby': 'h-deliveries' }, t.header(null, t.h2({ id: 'h-deliveries' }, 'Webhook deliveries'),
    failed.length > 0 && allows('admin') && h(Button, { kind: 'ghost', size: 'sm', icon: 'refresh', onClick: replay }, 'Replay failed')),
    t.ul({ class: 'list' }, data.data.map((one) => t.li({ key: `${one.webhook_id}${one.id}` }, link({ class: 'item', to: `/webhooks/${one.webhook_id}?delivery=${encodeURIComponent(one.id)}` },
      t.span({ class: 'grow' }, t.span({ class: 't1 trunc dblock' }, one.event), t.span({ class: 'meta trunc dblock' }, one.endpoint.replace(/^https?:\/\//, ''))),
      one.response_status ? httpPill(one.response_status) : one.attempts > 0 && one.status !== 'attempting' ? httpPill(null) : pill(one.status === 'attempting' ? 'Sending' : 'Waits'),
      t.span({ class: 'num w-56 hide-sm' }, one.duration_ms === null ? '' : span(one.duration_ms)),
      t.span({ class: 'num t3 w-72' }, h(Time, { at: one.created_at })))))));
}

/** @typedef {import('../../types/api.d.ts').Log} Log */

/** @param {{ log: Log, keyName: string }} props */
export function RequestCard({ log, keyName }) {
  return t.section({ class: 'card', 'aria-labelledby': 'h-request' }, t.header(null, t.h2({ id: 'h-request' }, 'API request')),
    link({ class: 'item item-block', to: `/logs/${log.id}` },
      t.span({ class: 'row' }, t.code({ class: 't1' }, `${log.method} ${log.endpoint}`), httpPill(log.response_status)),
      t.span({ class: 'meta' }, [`Key “${keyName}”`, `${log.duration_ms} ms`, log.user_agent].filter(Boolean).join(', '))));
}

/** Statuses whose emails are worth comparing, with the head of their list. @type {Record<string, string>} */
const ALIKE = { bounced: 'Other bounces', failed: 'Other failures', complained: 'Other complaints' };

/** Lists of emails with the same outcome. @param {{ status: string, from: string, to: string }} props */
export function SameOutcome({ status, from, to }) {
  const head = ALIKE[status];
  if (!head) return null;
  const list = (/** @type {string} */ text, /** @type {string} */ query) => t.li({ key: text }, link({ class: 'item', to: `/emails?status=${status}&${query}` }, t.span({ class: 'grow trunc' }, text), icon('right')));
  return t.section({ class: 'card', 'aria-labelledby': 'h-same' }, t.header(null, t.h2({ id: 'h-same' }, head)),
    t.ul({ class: 'list' }, list('In the last 7 days', 'since=7d'), list(`From ${domainOf(from)}`, `domain=${encodeURIComponent(domainOf(from))}`), list(`To ${to}`, `to=${encodeURIComponent(to)}`)));
}

/** @typedef {import('../../types/metrics.d.ts').InsightsAnswer} InsightsAnswer */
/** @typedef {InsightsAnswer['checks'][0]} Check */

/** Time after acceptance from which the checks are asked for: the server makes them some seconds later. */
const READY_MS = 30_000;
/** Time after acceptance until which missing checks are asked for again. */
const LATE_MS = 600_000;
const SEVERITIES = ['critical', 'major', 'minor', 'info'];
/** Values of one detail that are shown. */
const VALUES_MAX = 5;

/** @param {{ email: import('../../lib/outcome.js').Email, removed: boolean }} props */
export function Insights({ email, removed }) {
  const age = Math.max(now.value, Date.now()) - (parseTime(email.created_at) ?? 0);
  const loaded = /** @type {import('../../lib/load.js').Loaded<InsightsAnswer>} */ (useLoad(age < READY_MS ? null : `/emails/${email.id}/insights`));
  const isMissing = loaded.error?.status === 404;
  usePoll(loaded.reload, age >= READY_MS && age < LATE_MS && isMissing ? READY_MS : null);
  const at = loaded.data, score = at && pill(`${at.score.toFixed(1)} of 10`, { tone: at.score >= 7 ? 'green' : at.score >= 5 ? 'amber' : 'red', fill: at.score < 7 });
  return t.section({ class: 'card', 'aria-labelledby': 'h-insights' }, t.header(null, t.h2({ id: 'h-insights' }, 'Insights'), score),
    at ? h(Checks, { checks: at.checks }) : loaded.error && !isMissing ? t.div({ class: 'pad' }, failed(loaded.error, loaded.reload, 'The insights'))
      : t.p({ class: 'pad', role: 'status' }, age < LATE_MS && !removed ? 'The content is checked within a minute after acceptance.' : isMissing ? 'The content of this email has not been checked.' : 'Looking for the checks.'));
}

/** @param {{ checks: Check[] }} props */
function Checks({ checks }) {
  const bad = checks.filter((one) => one.status === 'fail').sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.weight - a.weight);
  const serious = bad.filter((one) => one.weight > 0).length, unknown = checks.filter((one) => one.status === 'unknown'), passed = checks.filter((one) => one.status === 'pass' || one.status === 'passed_by_design');
  return fragment(serious === 0 && t.div({ class: 'calm' }, icon('check'), t.p(null, 'No check with a weight fails.')),
    t.ul({ class: 'list' }, bad.map((one) => t.li({ key: one.id }, t.div({ class: 'check-row' }, icon(one.severity === 'info' ? 'info' : one.severity === 'critical' ? 'stop' : 'warn', one.severity === 'info' ? 't3' : one.severity === 'critical' ? 'red' : 'amber'),
      t.span(null, t.b({ class: 'dblock' }, checkName(one.id)), checkAdvice(one.id), seen(one.detail)), t.span({ class: 'num', title: 'Points that it costs' }, one.weight > 0 ? `−${one.weight.toFixed(2)}` : 'advice')))),
    t.li({ key: 'passed' }, t.details({ class: 'smtp pad' }, t.summary(null, icon('right'), `${plural(passed.length, 'check')} passed${unknown.length > 0 ? `, ${unknown.length} not known yet` : ''}`),
      t.ul({ class: 'bul' }, passed.map((one) => t.li({ key: one.id }, checkName(one.id))), unknown.map((one) => t.li({ key: one.id, class: 't3' }, `${checkName(one.id)}: not known yet`)))))));
}

/** The facts behind the result of a check: hosts, counts, sizes. @param {Check['detail']} detail */
function seen(detail) {
  const list = Object.entries(detail)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${Array.isArray(value) ? `${value.slice(0, VALUES_MAX).join(', ')}${value.length > VALUES_MAX ? ` and ${value.length - VALUES_MAX} more` : ''}` : value === true ? 'yes' : value === false ? 'no' : String(value)}`);
  return list.length > 0 && t.span({ class: 'meta dblock wrap-any' }, list.join(' · '));
}
