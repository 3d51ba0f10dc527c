// Broadcasts in words: status, audience, result, times.
import { t } from '../../lib/h.js';
import { count, parseTime, plural } from '../../lib/time.js';
import { pill } from '../../components/pill.js';

/** @typedef {import('../../types/broadcasts.d.ts').BroadcastStatus} BroadcastStatus */

/** Word and look of each status. @type {Record<BroadcastStatus, [string, import('../../components/pill.js').PillLook]>} */
export const BROADCAST_STATUS = {
  draft: ['Draft', { hollow: true }],
  scheduled: ['Scheduled', { hollow: true }],
  queued: ['Sending', { tone: 'blue', fill: true }],
  sent: ['Sent', { tone: 'green' }],
  canceled: ['Canceled', {}],
  failed: ['Failed', { tone: 'red', fill: true }],
};

/** @param {BroadcastStatus} status */
export function broadcastPill(status) {
  const [word, look] = BROADCAST_STATUS[status] ?? [status, {}];
  return pill(word, look);
}

/** The name of a broadcast, or its subject. @param {{ name: string | null, subject: string }} broadcast */
export function titleOf({ name, subject }) {
  return name || subject || 'Untitled broadcast';
}

/** `Customers, topic Product news`. @param {{ segment_name: string | null, topic_name: string | null }} broadcast */
export function audienceOf({ segment_name, topic_name }) {
  const segment = segment_name ?? 'All contacts';
  return topic_name ? `${segment}, topic ${topic_name}` : segment;
}

/** A share in percent: `59%`, `0.3%`. @param {number} part @param {number} whole */
export function share(part, whole) {
  if (whole <= 0) return '';
  const percent = (100 * part) / whole;
  // 100% is all of them.
  const shown = percent > 99 && percent < 100 ? Math.floor(10 * percent) / 10 : percent < 10 ? Math.round(10 * percent) / 10 : Math.round(percent);
  return `${shown}%`;
}

const moment = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/** `17:50 UTC`, or with the day if that is not today. @param {number} ms */
export function momentOf(ms) {
  const isToday = new Date(ms).toISOString().slice(0, 10) === new Date().toISOString().slice(0, 10);
  return `${(isToday ? hour : moment).format(ms)} UTC`;
}

/** `at 17:50 UTC`, `on Tue 24 Nov at 08:00 UTC`. @param {number} ms */
export function onMoment(ms) {
  const [date, time] = momentOf(ms).split(', ');
  return time === undefined ? `at ${date}` : `on ${date} at ${time}`;
}

/** A moment of the wire in words. @param {string | null | undefined} at @param {string} [none] */
export function when(at, none = '') {
  const ms = parseTime(at);
  return ms === null ? none : t.time({ dateTime: new Date(ms).toISOString() }, momentOf(ms));
}

/** `10,878 contacts`, `at least 10,878 contacts`. @param {import('../../types/broadcasts.d.ts').Audience} audience */
export function reachOf(audience) {
  return `${audience.complete ? '' : 'at least '}${plural(audience.will_receive, 'contact')}`;
}

/** The message of a finding, with the contacts that have no value. @param {import('../../types/broadcasts.d.ts').Finding} finding @param {import('../../types/broadcasts.d.ts').Audience} audience */
export function messageOf({ message, contacts }, audience) {
  return contacts ? `${message} ${count(contacts)} of ${reachOf(audience)} ${contacts === 1 ? 'has' : 'have'} no value.` : message;
}
