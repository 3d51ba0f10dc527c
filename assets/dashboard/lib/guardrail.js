// The guardrail of the team as text, and its state, which the banner of all pages shows.
import { signal } from '../vendor/preact.js';
import { api } from './api.js';
import { count, percent, shortDate } from './time.js';

/** @typedef {import('../types/metrics.d.ts').DeliverabilityAnswer} DeliverabilityAnswer */
/** @typedef {import('../types/metrics.d.ts').GuardrailLimit} GuardrailLimit */

/** The last answer of `GET /deliverability`; null before it. @type {import('../vendor/preact.js').Signal<DeliverabilityAnswer | null>} */
export const deliverability = signal(/** @type {DeliverabilityAnswer | null} */ (null));

const DAY_MS = 86_400_000;
/** Shortest time between two requests without a report of a change. */
const REST_MS = 60_000;
let asked = -Infinity;

/** Asks for the state, but not more than once a minute. @param {{ type: string }} [event] a report of a change is always followed */
export async function askDeliverability(event) {
  const isReport = event?.type.startsWith('deliverability.') ?? false;
  if (!isReport && performance.now() - asked < REST_MS) return;
  asked = performance.now();
  try { deliverability.value = await api.get('/deliverability'); } catch { /* The pages show the last state. */ }
}

/** Whether the values of a limit are beyond it. @param {GuardrailLimit} limit */
export function isBeyond({ limit, min_count, min_sent, rate, count: n, sent }) {
  return rate >= limit && n >= min_count && sent >= min_sent;
}

/** `2 days`, `today and yesterday` for the shortest one. @param {number} days */
export function windowOf(days) {
  return days === 2 ? 'today and yesterday' : `the last ${days} days`;
}

/** `5.2% of 1,000 emails of the last 7 days bounced for good (52); the limit is 4%.` @param {GuardrailLimit} one @param {string} verb */
function sentence(one, verb) {
  return `${percent(one.rate * 100)} of the ${count(one.sent)} emails of ${windowOf(one.window_days)} ${verb} (${count(one.count)}). The limit is ${percent(one.limit * 100)}.`;
}

/**
 * The first midnight in UTC at which no window of a pause has too many bounces or complaints, if no further email is sent.
 * @param {DeliverabilityAnswer} answer
 * @param {number} now
 */
function resumesAt({ guardrail: { bounce, complaint }, days }, now) {
  const today = Math.floor(now / DAY_MS), window = Math.max(bounce.pause.window_days, complaint.pause.window_days);
  for (let later = 1; later < window; later += 1) {
    const some = days.filter((day) => Date.parse(day.date) / DAY_MS > today + later - window);
    const sum = (/** @type {'sent' | 'sent_and_bounced' | 'sent_and_complained'} */ name) => some.reduce((all, day) => all + day[name], 0), sent = sum('sent');
    const stays = (/** @type {GuardrailLimit} */ limit, /** @type {number} */ n) => isBeyond({ ...limit, sent, count: n, rate: n / (sent || 1) });
    if (!stays(bounce.pause, sum('sent_and_bounced')) && !stays(complaint.pause, sum('sent_and_complained'))) return (today + later) * DAY_MS;
  }
  return (today + window) * DAY_MS;
}

/**
 * The effect of the guardrail now, its cause, and its end; null without an effect. A guardrail that is not enforced only has rates.
 * @param {DeliverabilityAnswer} answer
 * @param {number} now
 * @returns {{ tone: 'amber' | 'red', lead: string, rest: string } | null}
 */
export function guardrailText(answer, now) {
  const { status, bounce, complaint, region_paused, enforced = true } = answer.guardrail;
  const paused = 'Broadcasts are paused.', why = 'Too many emails of this server bounced or were reported as spam. Broadcasts continue by themselves.', hasRegion = enforced && region_paused;
  if (status === 'ok') return hasRegion ? { tone: 'amber', lead: paused, rest: `${why} Other emails are sent.` } : null;
  const isPaused = enforced && status === 'paused', region = hasRegion ? ` ${paused} ${why}` : '';
  const [bounces, complaints] = [bounce, complaint].map(({ warning, pause }) => (isPaused ? [pause] : [warning, pause]).find(isBeyond));
  const causes = [bounces && sentence(bounces, 'bounced for good'), complaints && sentence(complaints, 'were reported as spam')].filter(Boolean).join(' ');
  if (isPaused) return { tone: 'red', lead: 'Sending is paused.', rest: `${causes} New emails are accepted from ${shortDate(resumesAt(answer, now))}, 00:00 UTC.${region}` };
  if (!enforced) return { tone: 'amber', lead: `The rate of ${bounces ? 'bounces' : 'complaints'} is high.`, rest: causes };
  const { pause } = bounces ? bounce : complaint;
  return { tone: 'amber', lead: 'Sending may be paused soon.', rest: `${causes} Sending pauses at ${percent(pause.limit * 100)} over ${windowOf(pause.window_days)}. The warning ends when the rate is lower again.${region}` };
}
