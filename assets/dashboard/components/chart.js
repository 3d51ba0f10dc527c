// Chart: bars are counts, lines are rates, thresholds are drawn and named. Arrow keys move the cursor, and
// its values are read out. "View as table" is always there. At most 90 buckets and 4 series.
import { h, useId, useRef, useState } from '../vendor/preact.js';
import { cls, fragment, t } from '../lib/h.js';
import { count } from '../lib/time.js';

/** @typedef {{ name: string, values: number[] }} Series */
/**
 * @typedef {object} ChartProps
 * @property {string} label the chart in one sentence, with its result
 * @property {string[]} buckets name of each bucket, in UTC
 * @property {string[]} [ticks] text below some buckets; empty texts are left out
 * @property {Series} bars
 * @property {Series} [rate] in percent
 * @property {{ name: string, at: number, tone: 'warn' | 'pause' }[]} [lines] in percent
 * @property {string} [unit] of the bars, such as `Emails`
 * @property {string} [empty] the sentence of a range without values
 */

const WIDTH = 812, HEIGHT = 232, NARROW = 312, LOW = 200;
const BUCKETS_MAX = 90;

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
  const size = Math.min(BUCKETS_MAX, props.buckets.length);
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const note = useId();
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const values = (/** @type {number} */ i) => [[props.bars.name, count(props.bars.values[i] ?? 0)], ...(props.rate ? [[props.rate.name, `${props.rate.values[i] ?? 0}%`]] : [])];
  const key = (/** @type {KeyboardEvent} */ event) => {
    const to = { ArrowRight: (at ?? -1) + 1, ArrowLeft: (at ?? size) - 1, Home: 0, End: size - 1 }[event.key];
    if (to === undefined) { if (event.key === 'Escape') setAt(null); return; }
    event.preventDefault();
    setAt(Math.max(0, Math.min(size - 1, to)));
  };
  const move = (/** @type {PointerEvent & { currentTarget: HTMLElement }} */ event) => {
    const bar = event.target instanceof Element ? event.target.getAttribute('data-at') : null;
    setAt(bar === null ? null : Number(bar));
  };
  const said = at === null ? '' : `${props.buckets[at]}: ${values(at).map((pair) => pair.join(' ')).join(', ')}`;
  return t.div({ class: 'chart-box' },
    t.div({ ref: box, class: 'chart-keys', tabIndex: 0, role: 'group', 'aria-label': `${props.label} Arrow keys move through the values.`, onKeyDown: key, onPointerMove: move, onPointerLeave: () => setAt(null), onBlur: () => setAt(null) },
      h(Drawing, { ...props, at, width: WIDTH, height: HEIGHT, className: 'chart chart-wide' }),
      h(Drawing, { ...props, at, width: NARROW, height: LOW, className: 'chart chart-narrow' })),
    t.div({ class: 'tip-at' }, at !== null && t.div({ class: 'tip' }, t.b(null, props.buckets[at]), t.dl(null, values(at).map(([name, value]) => fragment(t.dt(null, name), t.dd(null, value)))))),
    t.p({ class: 'sr', id: note, 'aria-live': 'polite' }, said),
    t.details({ class: 'as-table' }, t.summary(null, 'View as table'),
      t.div({ class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Values as a table' }, t.table({ class: 'table table-compact table-plain' },
        t.thead(null, t.tr(null, t.th({ scope: 'col' }, 'From, UTC'), t.th({ scope: 'col', class: 'num' }, props.bars.name), props.rate && t.th({ scope: 'col', class: 'num' }, props.rate.name))),
        t.tbody(null, props.buckets.slice(0, size).map((bucket, i) => t.tr({ key: bucket }, t.td(null, bucket), values(i).map(([name, value]) => t.td({ key: name, class: 'num' }, value)))))))));
}

/** @param {ChartProps & { at: number | null, width: number, height: number, className: string }} props */
function Drawing({ label, buckets, ticks = [], bars, rate, lines = [], empty = 'Nothing happened in this time.', at, width, height, className }) {
  const narrow = width === NARROW, size = Math.min(BUCKETS_MAX, buckets.length);
  const left = narrow ? 28 : 40, right = width - (rate ? (narrow ? 30 : 40) : 2), top = 14, base = height - 24;
  const most = ceiling(Math.max(...bars.values, 0));
  const cap = rate ? Math.max(2, ceiling(Math.max(...rate.values, ...lines.map((line) => line.at), 0) * 1.1)) : 1;
  const slot = (right - left) / Math.max(1, size), gap = Math.min(slot * 0.18, 6);
  const y = (/** @type {number} */ value) => base - (value / most) * (base - top), percent = (/** @type {number} */ value) => base - (value / cap) * (base - top);
  const middle = (/** @type {number} */ i) => left + slot * (i + 0.5);
  const none = bars.values.every((value) => value === 0);
  const number = (/** @type {number} */ n) => Number(n.toFixed(1));
  const every = narrow ? 2 : 1;
  let named = 0;
  return t.svg({ class: className, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    (none ? [0] : [0, most / 2, most]).map((value) => fragment(t.line({ class: value === 0 ? 'base' : 'grid', x1: left, x2: right, y1: number(y(value)), y2: number(y(value)) }), t.text({ x: left - 8, y: number(y(value)) + 4, 'text-anchor': 'end' }, short(value)))),
    rate && !none && [0, cap / 2, cap].map((value) => t.text({ key: value, class: 't-rate', x: right + 8, y: number(percent(value)) + 4 }, value === 0 ? '0' : `${+value.toFixed(1)}%`)),
    buckets.slice(0, size).map((bucket, i) => {
      const value = bars.values[i] ?? 0, high = Math.max(value > 0 ? 1 : 0, base - y(value));
      return fragment(t.rect({ class: cls('bar', at === i && 'is-on'), x: number(left + slot * i + gap / 2), y: number(base - high), width: number(Math.max(1, slot - gap)), height: number(high), rx: Math.min(2, slot / 4) }),
        t.rect({ class: 'bar-hit', 'data-at': String(i), x: number(left + slot * i), y: top, width: number(slot), height: base - top }));
    }),
    lines.map((line) => fragment(t.line({ class: line.tone, x1: left, x2: right, y1: number(percent(line.at)), y2: number(percent(line.at)) }), t.text({ class: `t-${line.tone}`, x: left + 2, y: number(percent(line.at)) - 4 }, `${line.name}, ${line.at}%`))),
    rate && !none && t.polyline({ class: 'rate', points: rate.values.slice(0, size).map((value, i) => `${number(middle(i))},${number(percent(value))}`).join(' ') }),
    rate && !none && t.circle({ class: 'rate-dot', cx: number(middle(at ?? size - 1)), cy: number(percent(rate.values[at ?? size - 1] ?? 0)), r: 4 }),
    at !== null && t.line({ class: 'cursor', x1: number(middle(at)), x2: number(middle(at)), y1: top, y2: base }),
    none && t.text({ x: (left + right) / 2, y: (top + base) / 2, 'text-anchor': 'middle' }, empty),
    ticks.slice(0, size).map((text, i) => (text && named++ % every === 0 ? t.text({ key: i, x: number(middle(i)), y: height - 6, 'text-anchor': 'middle' }, text) : null)));
}
