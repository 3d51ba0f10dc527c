// Pill: a state as dot and word. Outline: nothing to do. Filled: needs attention. Tag: a customer's label.
import { cls, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';

/** @typedef {'gray' | 'green' | 'blue' | 'violet' | 'amber' | 'red'} Tone */
/** @typedef {{ tone?: Tone, fill?: boolean, hollow?: boolean, machine?: boolean }} PillLook */

/**
 * @param {string} text
 * @param {PillLook} [look]
 */
export function pill(text, { tone = 'gray', fill, hollow, machine } = {}) {
  return t.span({ class: cls('pill', tone !== 'gray' && `pill-${tone}`, fill && 'pill-fill', hollow && 'pill-hollow') }, text, machine && icon('bot'));
}

/** Word and look of each status of an email. @type {Record<string, [string, PillLook]>} */
export const EMAIL_STATUS = {
  scheduled: ['Scheduled', { hollow: true }],
  queued: ['Queued', {}],
  sent: ['Sent', {}],
  delivery_delayed: ['Delayed', {}],
  delivered: ['Delivered', { tone: 'green' }],
  opened: ['Opened', { tone: 'blue' }],
  clicked: ['Clicked', { tone: 'violet' }],
  prefetched: ['Prefetched', { machine: true }],
  bounced: ['Bounced', { tone: 'red', fill: true }],
  complained: ['Complained', { tone: 'amber', fill: true }],
  suppressed: ['Suppressed', { tone: 'red' }],
  failed: ['Failed', { tone: 'red', fill: true }],
  canceled: ['Canceled', {}],
};

/** The pill of an email's status. @param {string} status */
export function emailPill(status) {
  const [word, look] = EMAIL_STATUS[status] ?? [status, {}];
  return pill(word, look);
}

/** The pill of an HTTP status; null stands for no answer. @param {number | null} status */
export function httpPill(status) {
  if (status === null) return pill('No answer', { tone: 'red', fill: true });
  if (status < 300) return pill(String(status), { tone: 'green' });
  if (status < 400) return pill(String(status));
  return pill(String(status), status < 500 ? { tone: 'amber', fill: true } : { tone: 'red', fill: true });
}

/** @param {string} text */
export function tag(text) {
  return t.span({ class: 'tag trunc' }, text);
}

/** A coloured dot with a name for assistive technology. @param {Tone} tone @param {string} label */
export function dot(tone, label) {
  return t.span({ class: cls('dot', tone !== 'gray' && `dot-${tone}`), role: 'img', 'aria-label': label });
}
