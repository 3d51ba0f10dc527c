// Times and numbers as text. The wire has times as `2026-11-21 14:31:32.123456+00` or RFC 3339.

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const counts = new Intl.NumberFormat('en');

/**
 * Reads a time of the wire; null if the text is not a time.
 * @param {string | null | undefined} text
 */
export function parseTime(text) {
  if (!text) return null;
  const iso = text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00');
  const ms = Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * `38s ago`, `in 1d`; after 30 days a date.
 * @param {number} ms
 * @param {number} now
 */
export function relative(ms, now) {
  const gap = Math.abs(now - ms);
  if (gap >= 30 * DAY) return date.format(ms);
  const text = gap < MINUTE ? `${Math.floor(gap / SECOND)}s` : gap < HOUR ? `${Math.floor(gap / MINUTE)}m`
    : gap < DAY ? `${Math.floor(gap / HOUR)}h` : `${Math.floor(gap / DAY)}d`;
  if (gap < SECOND) return 'just now';
  return ms > now ? `in ${text}` : `${text} ago`;
}

/** `2026-11-21 14:31:32 UTC`. @param {number} ms */
export function exact(ms) {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `14:31:32`, in UTC. @param {number} ms */
export function clock(ms) {
  return new Date(ms).toISOString().slice(11, 19);
}

/** `3 Nov`. @param {number} ms */
export function shortDate(ms) {
  return day.format(ms);
}

/** A span: `84 ms`, `0.4s`, `4m 16s`, `3h 05m`, `2d 4h`. @param {number} ms */
export function span(ms) {
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)}s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)}s`;
  const pair = (/** @type {number} */ whole, /** @type {string} */ a, /** @type {number} */ rest, /** @type {string} */ b) =>
    rest === 0 ? `${whole}${a}` : `${whole}${a} ${String(rest).padStart(2, '0')}${b}`;
  const seconds = Math.round(ms / SECOND);
  if (ms < HOUR) return pair(Math.floor(seconds / 60), 'm', seconds % 60, 's');
  const minutes = Math.round(ms / MINUTE);
  if (ms < DAY) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'm');
  return pair(Math.floor(ms / DAY), 'd', Math.floor((ms % DAY) / HOUR), 'h');
}

/** A span in words, for a sentence: `47 minutes`. @param {number} ms */
export function spanInWords(ms) {
  if (ms < MINUTE) return plural(Math.max(1, Math.round(ms / SECOND)), 'second');
  if (ms < 90 * MINUTE) return plural(Math.round(ms / MINUTE), 'minute');
  if (ms < 36 * HOUR) return plural(Math.round(ms / HOUR), 'hour');
  return plural(Math.round(ms / DAY), 'day');
}

/** `1,204`. @param {number} n */
export function count(n) {
  return counts.format(n);
}

/** `96.9%`, `0.08%`. 100% is all of them. @param {number} value in percent */
export function percent(value) {
  return `${value > 99 ? Math.floor(value * 10) / 10 : +value.toFixed(value < 1 ? 2 : 1)}%`;
}

/**
 * `1 email`, `3 emails`.
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function plural(n, one, many = `${one}s`) {
  return `${counts.format(n)} ${n === 1 ? one : many}`;
}

/** `18.2 kB`. @param {number} bytes */
export function bytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
