// Chart: bars are counts, lines are rates, limits are drawn and named. Arrow keys move the cursor, its values are read
// out, and Enter follows it. "View as table" is always there. At most 90 buckets and 4 series.
import { h, useState } from '../vendor/preact.js';
import { cls, fragment, t } from '../lib/h.js';
import { link, navigate } from '../lib/router.js';
import { count, percent } from '../lib/time.js';

/** @typedef {'gray' | 'strong' | 'green' | 'blue' | 'violet' | 'amber' | 'red' | 'machine'} ChartTone `machine` is hollow */
/** @typedef {{ name: string, tone: ChartTone, values: (number | null)[] }} Series null: no value */
/**
 * @typedef {object} ChartProps
 * @property {string} label the chart in one sentence, with its result
 * @property {string[]} buckets name of each bucket
 * @property {string[]} [ticks] text below some buckets; empty texts are left out
 * @property {Series[]} [bars] counts, stacked
 * @property {Series[]} [lines] in percent
 * @property {{ name: string, at: number, tone: 'warn' | 'pause' }[]} [limits] in percent
 * @property {string} [head] of the buckets in the table
 * @property {string} [empty] the sentence of a range without values
 * @property {(i: number) => string | null} [to] the page that a bucket leads to
 */

const WIDTH = 812, HEIGHT = 232, NARROW = 312, LOW = 200;
const BUCKETS_MAX = 90;
/** Width of one character of an axis. */
const CHARACTER = 6.6;

/** A round number that is not below `value`. @param {number} value */
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

/** `4.5k`. @param {number} n */
function short(n) {
  if (n >= 1e6) return `${+(n / 1e6).toFixed(1)}M`;
  return n >= 1e3 ? `${+(n / 1e3).toFixed(1)}k` : String(+n.toFixed(1));
}

/** @param {ChartProps} props */
export function Chart(props) {
  const { label, bars = [], lines = [], head = 'From, UTC', to } = props;
  const buckets = props.buckets.slice(0, BUCKETS_MAX), size = buckets.length;
  const [moved, setAt] = useState(/** @type {number | null} */ (null));
  const at = moved !== null && moved < size ? moved : null;
  const values = (/** @type {number} */ i) => [...bars.map((one) => [one.name, count(one.values[i] ?? 0)]), ...lines.map((one) => [one.name, text(one.values[i] ?? null)])];
  const follow = (/** @type {number | null} */ i) => { const page = i === null ? null : to?.(i); if (page) navigate(page); };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter') follow(at);
    const next = { ArrowRight: (at ?? -1) + 1, ArrowLeft: (at ?? size) - 1, Home: 0, End: size - 1 }[event.key];
    if (next === undefined) { if (event.key === 'Escape') setAt(null); return; }
    event.preventDefault();
    setAt(Math.max(0, Math.min(size - 1, next)));
  };
  const under = (/** @type {Event} */ event) => {
    const bar = event.target instanceof Element ? event.target.getAttribute('data-at') : null;
    return bar === null ? null : Number(bar);
  };
  const said = at === null ? '' : `${buckets[at]}: ${values(at).map((pair) => pair.join(' ')).join(', ')}`;
  const drawing = { ...props, buckets, bars, lines, at };
  return t.div({ class: 'chart-box' },
    t.div({ class: cls('chart-keys', to && 'is-link'), tabIndex: 0, role: 'group', 'aria-label': `${label} Arrow keys move through the values.${to ? ' Enter shows the emails.' : ''}`,
      onKeyDown: key, onPointerMove: (event) => setAt(under(event)), onPointerLeave: () => setAt(null), onBlur: () => setAt(null), onClick: (event) => follow(under(event)) },
    h(Drawing, { ...drawing, width: WIDTH, height: HEIGHT, className: 'chart chart-wide' }),
    h(Drawing, { ...drawing, width: NARROW, height: LOW, className: 'chart chart-narrow' })),
    at !== null && t.div({ class: cls('tip-at', at * 2 < size && 'tip-end') }, t.div({ class: 'tip' }, t.b(null, buckets[at]), t.dl(null, values(at).map(([name, value]) => fragment(t.dt(null, name), t.dd(null, value)))))),
    t.p({ class: 'sr', 'aria-live': 'polite' }, said),
    bars.length + lines.length > 1 && t.ul({ class: 'chart-legend' }, [...bars, ...lines].map((one, i) => t.li({ key: one.name }, t.svg({ class: 'chart', viewBox: '0 0 16 8', 'aria-hidden': 'true' },
      i < bars.length ? t.rect({ class: `s-${one.tone}`, x: 3, y: 0.5, width: 10, height: 7, rx: 2 }) : t.line({ class: `line l-${one.tone}`, x1: 0, x2: 16, y1: 4, y2: 4 })), one.name))),
    t.details({ class: 'as-table' }, t.summary(null, 'View as table'),
      t.div({ class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': `Values as a table: ${label}` }, t.table({ class: 'table table-compact table-plain' },
        t.thead(null, t.tr(null, t.th({ scope: 'col' }, head), [...bars, ...lines].map((one) => t.th({ key: one.name, scope: 'col', class: 'num' }, one.name)))),
        t.tbody(null, buckets.map((bucket, i) => {
          const page = to?.(i);
          return t.tr({ key: bucket }, t.td(null, page ? link({ class: 'link', to: page }, bucket) : bucket), values(i).map(([name, value]) => t.td({ key: name, class: 'num' }, value)));
        }))))));
}

/** @param {number | null} value */
function text(value) {
  return value === null ? '–' : percent(value);
}

/** @param {ChartProps & { bars: Series[], lines: Series[], at: number | null, width: number, height: number, className: string }} props */
function Drawing({ label, buckets, ticks = [], bars, lines, limits = [], empty = 'Nothing happened in this time.', at, width, height, className }) {
  const size = buckets.length, of = (/** @type {Series} */ one, /** @type {number} */ i) => one.values[i] ?? 0;
  const sums = buckets.map((_, i) => bars.reduce((sum, one) => sum + of(one, i), 0));
  const most = ceiling(Math.max(...sums, 0)), none = sums.every((sum) => sum === 0) && lines.every((line) => line.values.every((value) => !value));
  const peak = Math.max(...lines.flatMap((line) => line.values.map((value) => value ?? 0)), ...limits.map((limit) => limit.at), 0) * 1.1;
  const cap = peak > 100 ? 100 : ceiling(peak);
  const hasRates = lines.length > 0 && (!none || limits.length > 0), scale = hasRates ? [0, cap / 2, cap].map((value) => `${+value.toFixed(3)}%`) : [];
  const left = width === NARROW ? 28 : 40, right = width - (hasRates ? 10 + CHARACTER * Math.max(...scale.map((one) => one.length)) : 2), top = 14, base = height - 24;
  const slot = (right - left) / Math.max(1, size), gap = Math.min(slot * 0.18, 6);
  const y = (/** @type {number} */ value) => base - (value / most) * (base - top), rate = (/** @type {number} */ value) => base - (Math.min(value, cap) / cap) * (base - top);
  const middle = (/** @type {number} */ i) => left + slot * (i + 0.5), number = (/** @type {number} */ n) => Number(n.toFixed(1));
  const every = width === NARROW ? 2 : 1;
  let named = 0;
  return t.svg({ class: className, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    (none ? [0] : [0, most / 2, most]).filter(Number.isInteger).map((value) => fragment(t.line({ class: value === 0 ? 'base' : 'grid', x1: left, x2: right, y1: number(y(value)), y2: number(y(value)) }), t.text({ x: left - 8, y: number(y(value)) + 4, 'text-anchor': 'end' }, short(value)))),
    scale.map((one, i) => t.text({ key: one, x: number(right + 8), y: number(base - (i / 2) * (base - top)) + 4 }, one)),
    buckets.map((_, i) => {
      let foot = base;
      return fragment(bars.map((one) => {
        const high = of(one, i) > 0 ? Math.max(1, base - y(of(one, i))) : 0;
        foot -= high;
        return high > 0 && t.rect({ key: one.name, class: cls('bar', `s-${one.tone}`, at === i && 'is-on'), x: number(left + slot * i + gap / 2), y: number(foot), width: number(Math.max(1, slot - gap)), height: number(high), rx: Math.min(2, slot / 4) });
      }), t.rect({ class: 'bar-hit', 'data-at': String(i), x: number(left + slot * i), y: top, width: number(slot), height: base - top }));
    }),
    limits.map((limit) => fragment(t.line({ class: limit.tone, x1: left, x2: right, y1: number(rate(limit.at)), y2: number(rate(limit.at)) }), t.text({ class: `t-${limit.tone}`, x: left + 2, y: number(rate(limit.at)) - 4 }, `${limit.name}, ${percent(limit.at)}`))),
    !none && lines.map((line) => fragment(pieces(line.values.slice(0, size)).map((piece) => t.polyline({ key: piece[0]?.[0], class: `line l-${line.tone}`, points: piece.map(([i, value]) => `${number(middle(i))},${number(rate(value))}`).join(' ') })),
      dots(line, at, size).map((i) => t.circle({ key: `dot${i}`, class: `dot-${line.tone}`, cx: number(middle(i)), cy: number(rate(of(line, i))), r: at === i ? 4 : 2.5 })))),
    at !== null && t.line({ class: 'cursor', x1: number(middle(at)), x2: number(middle(at)), y1: top, y2: base }),
    none && t.text({ x: (left + right) / 2, y: (top + base) / 2, 'text-anchor': 'middle' }, empty),
    ticks.slice(0, size).map((name, i) => (name && named++ % every === 0 ? t.text({ key: i, x: number(middle(i)), y: height - 6, 'text-anchor': 'middle' }, name) : null)));
}

/** The runs of values between missing ones, each value with its position. @param {(number | null)[]} values */
function pieces(values) {
  /** @type {[number, number][][]} */
  const found = [];
  let open = false;
  for (const [i, value] of values.entries()) {
    if (value !== null && !open) found.push([]);
    open = value !== null;
    if (value !== null) found.at(-1)?.push([i, value]);
  }
  return found;
}

/** The points of a line that have a dot: the one at the cursor, the last one, and those without a neighbour. @param {Series} line @param {number | null} at @param {number} size */
function dots(line, at, size) {
  const has = (/** @type {number} */ i) => i >= 0 && i < size && (line.values[i] ?? null) !== null;
  const last = line.values.slice(0, size).findLastIndex((value) => value !== null);
  return line.values.slice(0, size).map((_, i) => i).filter((i) => has(i) && (i === (at ?? last) || (!has(i - 1) && !has(i + 1))));
}
