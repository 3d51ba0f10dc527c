// Button: verb and noun. It stays enabled, then shows progress under the same label. A disabled one says why.
import { useEffect, useRef, useState } from '../vendor/preact.js';
import { cls, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';
import { attempt } from '../lib/problem.js';

/** @typedef {'primary' | 'ghost' | 'danger' | 'danger-solid'} ButtonKind */
/**
 * @typedef {object} ButtonProps
 * @property {ButtonKind} [kind]
 * @property {'sm' | 'lg'} [size]
 * @property {import('../lib/icons.js').IconName} [icon]
 * @property {string} [label] label of a button that shows only an icon
 * @property {string | null | false} [disabled] the reason; the button stays in the tab order
 * @property {() => unknown} [onClick] a promise keeps the progress until it settles
 * @property {'button' | 'submit'} [type]
 * @property {boolean} [busy]
 * @property {string} [class]
 * @property {boolean} [autofocus]
 * @property {import('../lib/h.js').Children} [children]
 */

/** Time until a spinner appears, and its shortest stay. */
const SPIN_AFTER_MS = 200;
const SPIN_MIN_MS = 300;

/** @param {ButtonProps} props */
export function Button({ kind, size, icon: name, label, disabled, onClick, type = 'button', busy = false, class: more, autofocus, children }) {
  const [running, setRunning] = useState(false);
  const [spins, setSpins] = useState(false);
  const alive = useRef(true);
  useEffect(() => () => { alive.current = false; }, []);
  const at_work = running || busy;
  useEffect(() => {
    if (!at_work) return undefined;
    const timer = setTimeout(() => setSpins(true), SPIN_AFTER_MS);
    return () => { clearTimeout(timer); setTimeout(() => alive.current && setSpins(false), SPIN_MIN_MS); };
  }, [at_work]);

  const click = async (/** @type {Event} */ event) => {
    if (disabled || at_work) { event.preventDefault(); return; }
    const result = onClick?.();
    if (!(result instanceof Promise)) return;
    setRunning(true);
    await attempt(result);
    if (alive.current) setRunning(false);
  };
  return t.button({
    type, autofocus,
    class: cls('btn', kind && `btn-${kind}`, size && `btn-${size}`, label && 'btn-icon', more),
    'aria-label': label, title: disabled || label || undefined,
    'aria-disabled': disabled ? 'true' : undefined, 'aria-busy': at_work ? 'true' : undefined,
    onClick: click,
  }, spins && at_work ? t.span({ class: 'spin' }) : name && icon(name), children);
}
