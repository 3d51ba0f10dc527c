// The variables of a template, with sample values for its preview.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { TextField } from '../../components/field.js';

const VARIABLE = /\{\{\{\s*([A-Za-z0-9_]+)\s*(\|[^{}]*)?\}\}\}/g;
/** Placeholders that the server fills. */
const PLACEHOLDERS = ['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL'];
/** Variables with a field of their own. */
const SHOWN_MAX = 50;

/** The names in some texts, each once, and whether each place has a fallback. @param {(string | null)[]} texts @returns {Map<string, boolean>} */
export function variablesOf(texts) {
  /** @type {Map<string, boolean>} */
  const found = new Map();
  for (const [, name = '', fallback] of texts.flatMap((text) => [...(text ?? '').matchAll(VARIABLE)])) {
    if (PLACEHOLDERS.includes(name)) continue;
    found.set(name, (found.get(name) ?? true) && fallback !== undefined);
  }
  return found;
}

/** @param {{ variables: Map<string, boolean>, values: Record<string, string>, set: (values: Record<string, string>) => void }} props */
export function Variables({ variables, values, set }) {
  const names = [...variables].slice(0, SHOWN_MAX);
  return t.section({ class: 'stack-sm', 'aria-labelledby': 'h-vars' }, t.h2({ id: 'h-vars' }, 'Variables'),
    names.length === 0 ? t.p({ class: 't3' }, 'Write ', t.code(null, '{{{NAME|fallback}}}'), ' where a program puts a value.')
      : names.map(([name, hasFallback]) => h(TextField, { key: name, label: name, value: values[name] ?? '', onInput: (/** @type {string} */ value) => set({ ...values, [name]: value }), hint: hasFallback ? undefined : 'No fallback: each send needs a value.' })),
    names.length > 0 && t.p({ class: 'meta' }, 'These values are only for the preview.'));
}
