// Menu: a native popover below its button. Arrow keys move, Esc closes.
import { useId, useRef } from '../vendor/preact.js';
import { cls, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';
import { attempt } from '../lib/problem.js';

/**
 * @typedef {object} MenuProps
 * @property {string} [label] label of a button that shows only an icon
 * @property {import('../lib/h.js').Children} button content of the button
 * @property {string} [class] classes of the button
 * @property {boolean} [end] aligns the end of the menu with the end of the button
 * @property {boolean} [up]
 * @property {import('../lib/h.js').Children} children buttons, links, `hr`, `p`, checkboxes with class `mi`
 */

/** @param {MenuProps} props */
export function Menu({ label, button, class: className = 'btn', end, up, children }) {
  const id = useId();
  const menu = useRef(/** @type {HTMLDivElement | null} */ (null));
  const step = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !menu.current) return;
    const items = [...menu.current.querySelectorAll('button, a, input')].filter((item) => item instanceof HTMLElement);
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    event.preventDefault();
    items[(at + by + items.length) % items.length]?.focus();
  };
  return t.span({ class: 'menu-at' },
    t.button({ type: 'button', class: className, popovertarget: id, 'aria-label': label, title: label }, button),
    t.div({ class: cls('menu', end && 'menu-end', up && 'menu-up'), id, popover: 'auto', ref: menu, onKeyDown: step,
      onClick: (event) => { if (event.target instanceof Element && event.target.closest('button, a')) menu.current?.hidePopover(); },
      onToggle: (event) => { const first = menu.current?.querySelector('button, a, input');
        if (event.newState === 'open' && first instanceof HTMLElement) first.focus(); } }, children));
}

/**
 * An item that acts.
 * @param {import('../lib/icons.js').IconName | null} name
 * @param {string} text
 * @param {() => unknown} onClick an error of its promise is shown
 * @param {{ danger?: boolean, keys?: string }} [look]
 */
export function menuItem(name, text, onClick, { danger, keys } = {}) {
  return t.button({ type: 'button', class: cls(danger && 'danger'), onClick: () => { void attempt(onClick()); } }, name && icon(name), text, keys && t.kbd(null, keys));
}
