// Filters: the search field of a list, and filters that live in the query of the address.
import { h, useEffect, useRef, useState } from '../vendor/preact.js';
import { t } from '../lib/h.js';
import { icon } from '../lib/icons.js';
import { useKeys } from '../lib/keys.js';
import { query, setQuery } from '../lib/router.js';
import { Checkbox } from './field.js';
import { Menu } from './menu.js';

const TYPING_MS = 250;

/** Names in the query that hold a place in a list. A changed filter starts at the newest again. */
const PLACE = { after: null, before: null };

/** @param {{ label: string, placeholder: string, name?: string }} props `name` is the name in the query; `/` reaches the field named `q` */
export function SearchField({ label, placeholder, name = 'q' }) {
  const value = query.value[name] ?? '';
  const [text, setText] = useState(value);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const timer = useRef(0);
  const sent = useRef(value);
  useEffect(() => { if (value !== sent.current) { sent.current = value; setText(value); } }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const send = (/** @type {string} */ next, /** @type {number} */ wait) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => { sent.current = next.trim(); setQuery({ ...PLACE, [name]: next.trim() }, { replace: true }); }, wait);
  };
  useKeys(name === 'q' ? { '/': () => field.current?.select() } : {});
  return t.div({ class: 'input-group' }, icon('search'), t.input({
    ref: field, class: 'input', type: 'search', 'aria-label': label, placeholder, value: text, spellcheck: false, autocomplete: 'off',
    onInput: (event) => send(event.currentTarget.value, TYPING_MS),
    onKeyDown: (event) => {
      if (event.key === 'Enter') send(event.currentTarget.value, 0);
      if (event.key === 'Escape') { if (text) { event.preventDefault(); send('', 0); } else event.currentTarget.blur(); }
    },
  }), name === 'q' && t.kbd({ 'aria-hidden': 'true' }, '/'));
}

/**
 * A filter with several values, as `name=a,b` in the query.
 * @param {{ name: string, label: string, options: [value: string, text: string][] }} props
 */
export function MultiFilter({ name, label, options }) {
  const on = new Set((query.value[name] ?? '').split(',').filter(Boolean));
  const set = (/** @type {Set<string>} */ next) => setQuery({ ...PLACE, [name]: [...next].join(',') });
  const words = options.filter(([value]) => on.has(value)).map(([, text]) => text);
  const face = words.length === 0 ? [label, icon('down')] : [`${label} is `, t.b({ class: 't1', key: 'b' }, words.length > 2 ? `any of ${words.length}` : words.join(' or ')), icon('down')];
  return h(Menu, { class: 'filter', button: face, children: [
    ...options.map(([value, text]) => h(Checkbox, { key: value, class: 'mi', label: text, checked: on.has(value), onChange: (/** @type {boolean} */ checked) => {
      const next = new Set(on);
      if (checked) next.add(value); else next.delete(value);
      set(next);
    } })),
    on.size > 0 && t.hr({ key: 'line' }),
    on.size > 0 && t.button({ key: 'all', type: 'button', onClick: () => set(new Set()) }, 'Clear'),
  ] });
}

/**
 * A filter with one value of a list.
 * @param {{ name: string, label: string, options: [value: string, text: string][], none: string }} props `none` is the text without a value
 */
export function OneFilter({ name, label, options, none }) {
  const value = query.value[name] ?? '';
  const face = options.find(([key]) => key === value)?.[1];
  return h(Menu, { class: 'filter', button: [face ?? label, icon('down')], children: [['', none], ...options].map(([key, text]) =>
    t.button({ key, type: 'button', 'aria-pressed': key === value, onClick: () => setQuery({ ...PLACE, [name]: key }) }, text, key === value && icon('check'))) });
}

/**
 * A filter that is on, with its value and a way to remove it.
 * @param {{ name: string, label: string, text?: string }} props
 */
export function FilterOn({ name, label, text }) {
  const value = query.value[name];
  if (!value) return null;
  return t.span({ class: 'filter is-on' }, `${label} `, t.b({ class: 't1 trunc' }, text ?? value),
    t.button({ type: 'button', 'aria-label': `Remove the filter ${label.toLowerCase()}`, title: 'Remove', onClick: () => setQuery({ ...PLACE, [name]: null }) }, icon('x')));
}

/**
 * Whether one of the names has a value, and a function that removes all.
 * @param {string[]} names
 * @returns {{ any: boolean, values: Record<string, string>, clear: () => void }}
 */
export function useFilters(names) {
  const values = Object.fromEntries(names.filter((name) => query.value[name]).map((name) => [name, /** @type {string} */ (query.value[name])]));
  return { any: Object.keys(values).length > 0, values, clear: () => setQuery({ ...PLACE, ...Object.fromEntries(names.map((name) => [name, null])) }) };
}
