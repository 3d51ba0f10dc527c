// Table: rows of 40 px, the whole row is one link. j and k move, x selects. Below 640 px rows become cards.
import { h, useEffect, useRef, useState } from '../vendor/preact.js';
import { cls, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';
import { whenIdle } from '../lib/idle.js';
import { useKeys } from '../lib/keys.js';
import { liveState } from '../lib/live.js';
import { BASE, placeOfEntry } from '../lib/router.js';
import { viewport } from '../lib/viewport.js';
import { Checkbox } from './field.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} head
 * @property {(row: Row) => import('../lib/h.js').Children} cell
 * @property {string} [class] of head and cells: `c-status`, `c-to`, `c-subject`, `c-time` place the cell in a card; `num` aligns right
 * @property {string} [width] a class such as `w-128`, on the head
 * @property {boolean} [link] this cell holds the link of the row
 */

/**
 * @template Row
 * @typedef {object} TableProps
 * @property {string} label the caption, for assistive technology
 * @property {Column<Row>[]} columns
 * @property {Row[] | null} rows null while the first answer is awaited
 * @property {(row: Row) => string} id
 * @property {(row: Row) => string} [to] the page of a row
 * @property {(row: Row) => string} [name] names the row, for its checkbox
 * @property {{ ids: Set<string>, set: (ids: Set<string>) => void }} [selection]
 * @property {boolean} [compact]
 * @property {string} [class]
 * @property {boolean} [keys] false: the shortcuts j, k and x are left to another table
 */

/**
 * @template Row
 * @param {TableProps<Row>} props
 */
export function table(props) {
  return h(/** @type {import('../vendor/preact.js').FunctionComponent<TableProps<Row>>} */ (Table), props);
}

/** Height of a row in px. */
const ROW_PX = 40;

/**
 * Returns the number of rows to draw. A new list is drawn in two steps: the rows that fit into the window, then all rows.
 * A list that shares a row with the previous list is drawn whole. So is any list while the page is scrolled, or if Back
 * returns to a place further down.
 * @param {string[]} ids
 */
function useDrawn(ids) {
  const before = useRef(/** @type {Set<string>} */ (new Set())), [, again] = useState(0);
  const fit = Math.ceil(viewport.height / ROW_PX);
  const isWhole = ids.length <= fit || viewport.top > 0 || placeOfEntry().top > 0 || ids.some((one) => before.current.has(one));
  useEffect(() => {
    before.current = new Set(ids);
    if (!isWhole) whenIdle(() => again((n) => n + 1));
  });
  return isWhole ? ids.length : fit;
}

/**
 * @template Row
 * @param {TableProps<Row>} props
 */
function Table({ label, columns, rows, id, to, name, selection, compact, class: more = 'table-cards', keys = true }) {
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const lastPicked = useRef(/** @type {string | null} */ (null));
  const ids = (rows ?? []).map(id), drawn = useDrawn(ids);
  const picked = selection ? ids.filter((one) => selection.ids.has(one)).length : 0;

  const pick = (/** @type {string} */ one, /** @type {boolean} */ on, /** @type {boolean} */ range) => {
    if (!selection) return;
    const from = range && lastPicked.current !== null ? ids.indexOf(lastPicked.current) : -1;
    const at = ids.indexOf(one);
    const some = from < 0 ? [one] : ids.slice(Math.min(from, at), Math.max(from, at) + 1);
    const next = new Set(selection.ids);
    for (const each of some) if (on) next.add(each); else next.delete(each);
    lastPicked.current = one;
    selection.set(next);
  };
  const links = () => /** @type {HTMLElement[]} */ ([...(body.current?.querySelectorAll('a.cell') ?? [])]);
  const at = () => links().findIndex((link) => link.closest('tr')?.contains(document.activeElement));
  const move = (/** @type {number} */ by) => {
    const all = links();
    all[Math.max(0, Math.min(all.length - 1, at() + by))]?.focus();
  };
  useKeys(keys ? { j: () => move(1), k: () => move(-1), x: () => { const one = ids[at()]; if (one !== undefined && selection) pick(one, !selection.ids.has(one), false); } } : {});

  const head = t.thead(null, t.tr(null,
    selection && t.th({ class: 'c-check', scope: 'col' }, h(Checkbox, {
      label: 'Select all on this page', hideLabel: true, checked: picked > 0 && picked === ids.length, mixed: picked > 0 && picked < ids.length,
      onChange: (/** @type {boolean} */ on) => selection.set(on ? new Set(ids) : new Set()),
    })),
    columns.map((column) => t.th({ key: column.head, class: cls(column.class, column.width), scope: 'col' }, column.head))));

  const line = (/** @type {Row} */ row, /** @type {number} */ index) => {
    const key = /** @type {string} */ (ids[index]);
    const on = selection?.ids.has(key) ?? false;
    return t.tr({ key, class: cls(on && 'is-selected') },
      selection && t.td({ class: 'c-check' }, h(Checkbox, { label: `Select ${name?.(row) ?? key}`, hideLabel: true, checked: on,
        onChange: (/** @type {boolean} */ next, /** @type {MouseEvent} */ event) => pick(key, next, event.shiftKey) })),
      columns.map((column) => t.td({ key: column.head, class: column.class },
        column.link && to ? t.a({ class: 'cell', href: BASE + to(row) }, column.cell(row)) : column.cell(row))));
  };
  return t.table({ class: cls('table', more, compact && 'table-compact'), 'aria-busy': rows === null },
    t.caption({ class: 'sr' }, label), head, t.tbody({ ref: body }, rows ? rows.slice(0, drawn).map(line) : waiting(columns, selection !== undefined)));
}

/**
 * Rows of the right height while the first answer is awaited.
 * @param {Column<any>[]} columns
 * @param {boolean} checks
 */
function waiting(columns, checks) {
  return Array.from({ length: 8 }, (_, i) => t.tr({ key: i, 'aria-hidden': 'true' }, checks && t.td({ class: 'c-check' }),
    columns.map((column) => t.td({ key: column.head, class: column.class }, t.span({ class: cls('sk', column.class?.includes('c-status') ? 'sk-pill' : ['sk-60', 'sk-80', 'sk-40'][i % 3]) })))));
}

/** The chip that new rows wait behind. @param {{ count: number, show: () => void }} props */
export function NewChip({ count, show }) {
  return t.div({ class: 'chip-slot', 'aria-live': 'polite' },
    count > 0 && t.button({ type: 'button', class: 'chip-new', onClick: show }, icon('up'), `${count} new`));
}

/** `Live`, or why rows do not come by themselves. @param {{ state?: import('../lib/live.js').LiveState }} props `state` is that of the stream, except in the kit */
export function Live({ state = liveState.value }) {
  if (state === 'live') return t.span({ class: 'live' }, 'Live');
  if (state === 'polling') return t.span({ class: 'live', title: 'Without HTTPS, this page asks every 5 seconds.' }, 'Every 5 s');
  return t.span({ class: 'live live-wait', role: 'status' }, 'Reconnecting');
}

/**
 * The foot of a list: newer, older, rows on a page.
 * @param {{ newer?: (() => void) | null, older?: (() => void) | null, size?: number, setSize?: (size: number) => void, live?: boolean, children?: import('../lib/h.js').Children }} props
 */
export function Pager({ newer, older, size, setSize, live = true, children }) {
  useKeys({ '[': () => newer?.(), ']': () => older?.() });
  const step = (/** @type {string} */ text, /** @type {(() => void) | null | undefined} */ go, /** @type {string} */ none) =>
    t.button({ type: 'button', class: 'btn btn-sm', 'aria-disabled': go ? undefined : 'true', title: go ? undefined : none, onClick: () => go?.() }, text);
  return t.div({ class: 'table-foot' }, live && h(Live, null), children, t.span({ class: 'grow' }),
    setSize && t.label({ class: 'row' }, 'Rows ', t.select({ class: 'select select-sm', 'aria-label': 'Rows on a page', onChange: (event) => setSize(Number(event.currentTarget.value)) },
      [20, 50, 100].map((n) => t.option({ key: n, value: n, selected: n === size }, n)))),
    t.div({ class: 'actions' }, step('Newer', newer, 'These are the newest.'), step('Older', older, 'These are the oldest.')));
}

/**
 * The toolbar of the selected rows.
 * @param {{ count: number, label: string, clear: () => void, children?: import('../lib/h.js').Children }} props
 */
export function Bulk({ count, label, clear, children }) {
  useEffect(() => {
    const esc = (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('dialog[open], :popover-open')) clear(); };
    document.addEventListener('keydown', esc);
    return () => document.removeEventListener('keydown', esc);
  }, [clear]);
  return t.div({ class: 'bulk', role: 'toolbar', 'aria-label': label }, t.p(null, `${count} selected`), children,
    t.button({ type: 'button', class: 'btn btn-ghost btn-sm btn-icon', 'aria-label': 'Clear the selection', title: 'Clear the selection', onClick: clear }, icon('x')));
}

/** An address, shortened in its middle so that the domain stays. @param {string} address */
export function middle(address) {
  const at = address.lastIndexOf('@');
  if (at < 0) return t.span({ class: 'trunc', title: address }, address);
  return t.span({ class: 'mid', title: address }, t.span({ class: 'trunc' }, address.slice(0, at)), t.span({ class: 'trunc' }, address.slice(at)));
}
