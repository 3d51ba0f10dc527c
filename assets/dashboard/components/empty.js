// Empty, failed and loading states, notes and banners.
import { h } from '../vendor/preact.js';
import { docsUrl } from '../lib/docs.js';
import { cls, fragment, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';
import { Id } from './id.js';

/**
 * The state without content: the thing, its use, and one action. A list without matches names the filter and clears it.
 * @param {{ title: string, text?: import('../lib/h.js').Children, actions?: import('../lib/h.js').Children, card?: boolean, docs?: import('../lib/docs.js').DocName }} props
 */
export function empty({ title, text, actions, card = true, docs }) {
  return t.div({ class: cls(card && 'card', 'empty') }, t.h2(null, title), text && t.p(null, text),
    (actions || docs) && t.div({ class: 'actions' }, actions, docs && t.a({ class: 'btn btn-ghost', href: docsUrl(docs) }, 'Read more')));
}

/** @typedef {'plain' | 'green' | 'amber' | 'red'} NoteTone */
/** @type {Record<NoteTone, import('../lib/icons.js').IconName>} */
const ICONS = { plain: 'info', green: 'check', amber: 'warn', red: 'stop' };

/**
 * A sentence inside a page.
 * @param {NoteTone} tone
 * @param {import('../lib/h.js').Children[]} children
 */
export function note(tone, ...children) {
  return t.div({ class: cls('note', tone !== 'plain' && `note-${tone}`), role: tone === 'red' ? 'alert' : undefined }, icon(ICONS[tone]), t.div({ class: 'grow' }, children));
}

/**
 * The state of the whole server: one sentence, one action. Screen readers read a warning when it appears.
 * @param {NoteTone} tone
 * @param {import('../lib/h.js').Children} text
 * @param {import('../lib/h.js').Children} [action]
 * @param {string} [label]
 */
export function banner(tone, text, action, label = 'State of the server') {
  return t.aside({ class: cls('banner', tone !== 'plain' && `banner-${tone}`), 'aria-label': label }, icon(ICONS[tone]), t.p({ role: tone === 'plain' ? undefined : 'status' }, text), action);
}

/** The request id of an error, for a report. @param {import('../lib/api.js').ApiError} error */
function requestId(error) {
  return error.requestId && fragment(' ', t.span({ class: 't3 error-id' }, 'Request', h(Id, { id: error.requestId, whole: true })));
}

/** An error beside the thing that failed. @param {import('../lib/api.js').ApiError} error */
export function errorNote(error) {
  return note('red', t.p(null, error.message, requestId(error)));
}

/**
 * A page or a part that could not be loaded.
 * @param {import('../lib/api.js').ApiError} error
 * @param {() => unknown} retry
 * @param {string} [thing] such as `The list`
 */
export function failed(error, retry, thing = 'This page') {
  if (error.status === 403) return empty({ title: 'You have no access to this', text: error.message });
  if (error.status === 404) return empty({ title: `${thing} does not exist`, text: 'It may have been deleted, or its address is incomplete.' });
  return t.div({ class: 'note note-red', role: 'alert' }, icon('stop'),
    t.div({ class: 'grow' }, t.p(null, t.b(null, `${thing} could not be read. `), error.message, requestId(error))),
    t.button({ type: 'button', class: 'btn btn-sm', onClick: () => { void retry(); } }, 'Try again'));
}

/** Gray lines in place of text that is being loaded. @param {number} [lines] */
export function skeleton(lines = 3) {
  return t.div({ class: 'card pad stack-sm', 'aria-hidden': 'true' }, Array.from({ length: lines }, (_, i) => t.span({ class: cls('sk', ['sk-40', 'sk-80', 'sk-60'][i % 3]) })));
}

/** The head of a page that has only its name yet. @param {string} title */
function bareHead(title) {
  return t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, title)));
}

/**
 * A whole page that could not be loaded.
 * @param {string} title the kind of page, such as `Email`
 * @param {import('../lib/api.js').ApiError} error
 * @param {() => unknown} retry
 */
export function pageFailed(title, error, retry) {
  return fragment(bareHead(title), failed(error, retry, `This ${title.toLowerCase()}`));
}

/** A whole page while its first answer is awaited. @param {string} title */
export function pageWaiting(title) {
  return fragment(bareHead(title), skeleton(6));
}
