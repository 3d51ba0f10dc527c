// The time that the metrics show, in the time zone of the browser: days, steps, and the emails of a step.
import { navigate, search } from '../../lib/router.js';

/** @typedef {'hourly' | 'daily' | 'weekly' | 'monthly'} Granularity */
/** @typedef {{ first: string, last: string, days: string, granularity: Granularity, fitting: Granularity[] }} Range `days` is empty for own dates */

/** The time zone of the browser. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
export const SPANS = ['7', '15', '30'];
const DAY_MS = 86_400_000;
/** The longest range of each step in days, so that a chart has at most 90 buckets. @type {[Granularity, number][]} */
const FITS = [['hourly', 3], ['daily', 90], ['weekly', 620], ['monthly', Infinity]];
/** Texts below a chart. */
const TICKS_MAX = 8;

/** @param {Date} date */
function dayOf(date) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The start of a day, or of an hour such as `2026-11-23T13:00`. @param {string} period */
function startOf(period) {
  const [year = 1970, month = 1, day = 1, hour = 0] = period.slice(0, 13).split(/\D/).map(Number);
  return new Date(year, month - 1, day, hour);
}

/** @param {string} day @param {number} n */
export function addDays(day, n) {
  const date = startOf(day);
  return dayOf(new Date(date.getFullYear(), date.getMonth(), date.getDate() + n));
}

/** Today. */
export function today() {
  return dayOf(new Date());
}

/** The range of the address: `days`, or `from` and `to`, and `by`. @param {Record<string, string | undefined>} query @returns {Range} */
export function rangeOf({ days = '', from = '', to = '', by }) {
  const isDay = (/** @type {string} */ text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
  const own = isDay(from) && isDay(to) && from <= to, chosen = SPANS.includes(days) ? days : '7';
  const last = own ? to : today(), first = own ? from : addDays(last, 1 - Number(chosen));
  const length = Math.round((startOf(last).getTime() - startOf(first).getTime()) / DAY_MS) + 1;
  const fitting = FITS.filter(([, most]) => length <= most).map(([step]) => step).slice(0, 3);
  const best = length === 1 ? 'hourly' : fitting.find((step) => step !== 'hourly') ?? 'monthly';
  return { first, last, days: own ? '' : chosen, fitting, granularity: fitting.find((step) => step === by) ?? best };
}

/** The first moment after a step. @param {string} period @param {Granularity} granularity */
function endOf(period, granularity) {
  const from = startOf(period);
  if (granularity === 'hourly') return new Date(from.getTime() + 3_600_000);
  if (granularity === 'monthly') return new Date(from.getFullYear(), from.getMonth() + 1, 1);
  return startOf(addDays(period, granularity === 'weekly' ? 7 : 1));
}

/**
 * The steps of a range, also those without a row. Hours are those of the answer, because a day of 23 or 25 hours has its own.
 * @param {Range} range
 * @param {{ period: string }[]} rows
 */
export function periodsOf({ first, last, granularity }, rows) {
  if (granularity === 'hourly') return rows.map((row) => row.period);
  const start = startOf(first);
  let at = granularity === 'monthly' ? `${first.slice(0, 7)}-01` : granularity === 'weekly' ? addDays(first, -((start.getDay() + 6) % 7)) : first;
  const periods = [];
  for (; at <= last && periods.length < 400; at = dayOf(endOf(at, granularity))) periods.push(at);
  return periods;
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
const month = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric' });

/** `Tue 17 Nov`, `17 Nov, 13:00`, `Week of 16 Nov`, `Nov 2026`. @param {string} period @param {Granularity} granularity */
export function periodName(period, granularity) {
  const at = startOf(period);
  if (granularity === 'hourly') return `${day.format(at)}, ${period.slice(11, 13)}:00`;
  if (granularity === 'weekly') return `Week of ${day.format(at)}`;
  return granularity === 'monthly' ? month.format(at) : weekday.format(at).replace(',', '');
}

/** The texts below a chart: some of the steps. @param {string[]} periods @param {Granularity} granularity */
export function ticksOf(periods, granularity) {
  const step = Math.ceil(periods.length / TICKS_MAX);
  return periods.map((period, i) => (i % step !== 0 ? '' : granularity === 'hourly' ? (periods.length > 25 ? periodName(period, granularity) : `${period.slice(11, 13)}:00`) : granularity === 'monthly' ? month.format(startOf(period)) : day.format(startOf(period))));
}

/** The list of the emails of one step. @param {string} period @param {Granularity} granularity @param {Record<string, string | undefined>} filters */
export function emailsOf(period, granularity, filters) {
  return `/emails${search({ ...filters, since: startOf(period).toISOString(), until: endOf(period, granularity).toISOString() })}`;
}

/** Begins own dates with those that are shown. @param {Range} range @param {string} path @param {Record<string, string | undefined>} query */
export function chooseDates({ first, last }, path, query) {
  navigate(path + search({ ...query, days: null, from: first, to: last }));
}
