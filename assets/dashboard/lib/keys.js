// Shortcuts: single keys, and `g` followed by a letter. They are off in a field that takes text, and
// while a dialog is open. Nothing is reachable by shortcut alone.
import { useEffect, useRef } from '../vendor/preact.js';

/** @typedef {Record<string, () => void>} KeyMap */

/** Time within which the second key of a chord counts. */
const CHORD_MS = 1200;

/** The maps in use; a later one wins. @type {{ current: KeyMap }[]} */
const maps = [];
let chordSince = -Infinity;

/** @param {string} key */
function find(key) {
  for (const map of [...maps].reverse()) {
    const action = map.current[key];
    if (action) return action;
  }
  return null;
}

/**
 * Uses shortcuts as long as the component is shown. Names are keys such as `j`, chords such as `g e`, and
 * `mod+k` for Ctrl or ⌘.
 * @param {KeyMap} map
 */
export function useKeys(map) {
  const held = useRef(map);
  held.current = map;
  useEffect(() => {
    maps.push(held);
    return () => { maps.splice(maps.indexOf(held), 1); };
  }, []);
}

/** Whether shortcuts must not act on this element, which may be in a shadow root. @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof Element && target.closest('input:not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable], [role="tablist"], [role="listbox"]') !== null;
}

/** Starts listening. */
export function startKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const mod = event.metaKey || event.ctrlKey;
    if (mod && !event.altKey && !event.shiftKey) {
      const action = find(`mod+${event.key.toLowerCase()}`);
      if (action) event.preventDefault();
      if (action && !document.querySelector('dialog[open]')) action();
      return;
    }
    if (mod || event.altKey || isTyping(event.composedPath()[0] ?? null) || document.querySelector('dialog[open], .menu:popover-open')) return;
    const chord = performance.now() - chordSince < CHORD_MS ? find(`g ${event.key}`) : null;
    chordSince = -Infinity;
    if (event.key === 'g' && !chord) { chordSince = performance.now(); return; }
    const action = chord ?? find(event.key);
    if (action) { event.preventDefault(); action(); }
  });
}

/** The name of the modifier key on this machine. */
export const MOD = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl ';
