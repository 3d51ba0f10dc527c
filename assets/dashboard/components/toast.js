// Toast: a change is done, with its undo. Never the only copy of an error.
import { signal } from '../vendor/preact.js';
import { t } from '../lib/h.js';
import { icon } from '../lib/icons.js';

/** @typedef {{ id: number, text: string, undo?: () => void, commit?: () => void, timer: number }} Toast */

const SHOWN_MS = 6000;
const SHOWN_MAX = 3;
let last = 0;

/** @type {import('../vendor/preact.js').Signal<Toast[]>} */
const toasts = signal(/** @type {Toast[]} */ ([]));

/** @param {number} id */
function close(id) {
  const gone = toasts.value.find((toast) => toast.id === id);
  if (!gone) return;
  clearTimeout(gone.timer);
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
  gone.commit?.();
}

/**
 * Shows a sentence for six seconds. With `undo`, `commit` does the change when the toast is gone.
 * @param {string} text
 * @param {{ undo?: () => void, commit?: () => void }} [actions]
 */
export function toast(text, { undo, commit } = {}) {
  const id = ++last;
  toasts.value = [...toasts.value, { id, text, undo, commit, timer: setTimeout(() => close(id), SHOWN_MS) }];
  for (const old of toasts.value.slice(0, -SHOWN_MAX)) close(old.id);
}

// A change that waits for its undo is done when the page goes away.
addEventListener('pagehide', () => { for (const { id } of toasts.value) close(id); });

/** The toasts of this tab. */
export function Toasts() {
  return t.div({ class: 'toasts', role: 'status' }, toasts.value.map(({ id, text, undo }) => t.div({ class: 'toast', key: id },
    icon('check'), t.span({ class: 'grow' }, text),
    undo && t.button({ type: 'button', class: 'btn btn-ghost btn-sm', onClick: () => {
      const mine = toasts.value.find((toast) => toast.id === id);
      if (mine) mine.commit = undefined;
      undo();
      close(id);
    } }, 'Undo'),
    t.button({ type: 'button', class: 'btn btn-ghost btn-icon btn-sm', 'aria-label': 'Close', onClick: () => close(id) }, icon('x')))));
}
