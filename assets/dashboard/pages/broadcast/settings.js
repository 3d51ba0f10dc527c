// The settings of a broadcast: sender, subject, audience. Each change is saved by itself.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { useLoad } from '../../lib/load.js';
import { count } from '../../lib/time.js';
import { errorNote } from '../../components/empty.js';
import { SelectField, TextField } from '../../components/field.js';
import { fieldOf, onlyReads } from '../parts/autosave.js';

/** @typedef {import('../../types/api.d.ts').Broadcast} Broadcast */
/** @typedef {{ name: string, from: string, subject: string, reply_to: string, preview_text: string, segment_id: string, topic_id: string }} Fields */

/** Characters of a subject that a phone shows. */
const PHONE_CHARS = 40;
/** Segments and topics in a list. */
const LIST_MAX = 100;
const NAMES = /** @type {const} */ (['name', 'from', 'subject', 'reply_to', 'preview_text', 'segment_id', 'topic_id']);

/** The settings as the fields show them. The name of a broadcast without one is its subject. @param {Broadcast} broadcast @returns {Fields} */
export function fieldsOf(broadcast) {
  return { name: broadcast.name === broadcast.subject ? '' : broadcast.name ?? '', from: broadcast.from, subject: broadcast.subject, reply_to: (broadcast.reply_to ?? []).join(', '), preview_text: broadcast.preview_text ?? '', segment_id: broadcast.segment_id ?? '', topic_id: broadcast.topic_id ?? '' };
}

/** Addresses in a field with commas, which a quoted name may contain too. @param {string} text */
export function addressesOf(text) {
  return (text.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []).map((one) => one.trim()).filter(Boolean);
}

/** The body that saves changed settings. @param {Partial<Fields>} changes */
export function changesOf(changes) {
  /** @type {Record<string, unknown>} */
  const body = {};
  for (const name of NAMES) {
    const value = changes[name];
    if (value === undefined) continue;
    if (name === 'reply_to') body[name] = addressesOf(value);
    else if (name === 'segment_id' || name === 'topic_id' || name === 'preview_text') body[name] = value || null;
    else body[name] = value;
  }
  return body;
}

/** @typedef {{ id: string, name: string }} Named */

/** The things of a list, and the chosen one even if it is not among them. @param {string} none @param {Named[] | undefined} things @param {string} chosen @returns {[string, string][]} */
function options(none, things, chosen) {
  const known = (things ?? []).map(({ id, name }) => /** @type {[string, string]} */ ([id, name]));
  return [['', none], ...known, ...(chosen && !known.some(([id]) => id === chosen) ? [/** @type {[string, string]} */ ([chosen, chosen])] : [])];
}

/**
 * @param {{ broadcast: Broadcast, fields: Fields, change: (changes: Partial<Fields>) => void, error: import('../../lib/api.js').ApiError | null, audience: import('../../types/broadcasts.d.ts').Audience | null, readOnly: boolean }} props
 */
export function Settings({ fields, change, error, audience, readOnly }) {
  const segments = /** @type {import('../../lib/load.js').Loaded<{ data: Named[], has_more: boolean }>} */ (useLoad('/segments', { limit: LIST_MAX }));
  const topics = /** @type {import('../../lib/load.js').Loaded<{ data: Named[], has_more: boolean }>} */ (useLoad('/topics', { limit: LIST_MAX }));
  const wrong = fieldOf(error), isKnown = NAMES.some((name) => name === wrong);
  const field = (/** @type {typeof NAMES[number]} */ name) => ({ value: fields[name], name, error: wrong === name ? error?.message : null, onInput: (/** @type {string} */ value) => change({ [name]: value }) });
  const more = (/** @type {boolean | undefined} */ has_more) => (has_more ? `Only the newest ${LIST_MAX} are listed.` : undefined);
  return t.form({ class: 'c-set', 'aria-label': 'Settings', onSubmit: (event) => event.preventDefault() }, readOnly && onlyReads(), t.fieldset({ disabled: readOnly },
    error && !isKnown && errorNote(error),
    h(TextField, { ...field('from'), label: 'From', hint: 'An address of a verified domain.' }),
    h(TextField, { ...field('reply_to'), label: 'Reply-To', hint: fields.reply_to ? undefined : 'Replies go to the sender.' }),
    h(TextField, { ...field('subject'), label: 'Subject', spellcheck: true, hint: `${[...fields.subject].length} characters. Phones show about ${PHONE_CHARS}.` }),
    h(TextField, { ...field('preview_text'), label: 'Preview text', spellcheck: true, hint: fields.preview_text ? undefined : 'Without it, mail programs show the beginning of the message.' }),
    t.hr(),
    h(SelectField, { ...field('segment_id'), label: 'Segment', options: options('All contacts', segments.data?.data, fields.segment_id), hint: more(segments.data?.has_more) }),
    h(SelectField, { ...field('topic_id'), label: 'Topic', options: options('No topic', topics.data?.data, fields.topic_id), hint: more(topics.data?.has_more) ?? (fields.topic_id ? 'Contacts who left this topic are skipped.' : undefined) }),
    (audience || !readOnly) && h(Reach, { audience, hasSegment: fields.segment_id !== '', hasTopic: fields.topic_id !== '' }),
    t.hr(),
    h(TextField, { ...field('name'), label: 'Name', hint: 'Recipients do not see it. Without a name, the list shows the subject.' })));
}

/** @param {{ audience: import('../../types/broadcasts.d.ts').Audience | null, hasSegment: boolean, hasTopic: boolean }} props */
function Reach({ audience, hasSegment, hasTopic }) {
  const line = (/** @type {string} */ name, /** @type {number | undefined} */ n, less = true) => (!less || n !== 0) && t.div({ class: less ? 't3' : undefined, key: name }, t.dt(null, name), t.dd(null, n === undefined ? '–' : `${less ? '−' : ''}${count(n)}`));
  return t.section({ class: 'reach', 'aria-labelledby': 'h-reach', 'aria-busy': audience === null }, t.h2({ id: 'h-reach', class: 'sr' }, 'Who receives it'),
    t.dl({ class: 'sum' },
      line(hasSegment ? 'In the segment' : 'Contacts', audience?.total, false), line('Unsubscribed', audience?.unsubscribed), hasTopic && line('Left the topic', audience?.opted_out), line('Suppressed', audience?.suppressed),
      t.div({ class: 'is-sum' }, t.dt(null, 'Will receive'), t.dd(null, audience ? `${audience.complete ? '' : 'at least '}${count(audience.will_receive)}` : '–'))));
}
