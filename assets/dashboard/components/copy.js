// Copy: the icon becomes a tick for a moment, and the word is announced.
import { useState } from '../vendor/preact.js';
import { cls, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';

/** Copies text, also where the page has no secure context. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    const open = document.querySelector('dialog[open]') ?? document.body;
    open.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

/**
 * Whether something has just been copied, and a function that copies.
 * @returns {[boolean, (text: string) => void]}
 */
export function useCopy() {
  const [done, setDone] = useState(false);
  return [done, (text) => {
    void copyText(text).then(() => { setDone(true); setTimeout(() => setDone(false), 1200); });
  }];
}

/** @param {{ text: string, label: string, copied?: boolean }} props `label` names the thing: `Copy the API key`. `copied`: as after copying, for the kit */
export function Copy({ text, label, copied = false }) {
  const [isCopied, copy] = useCopy(), done = isCopied || copied;
  return t.button({ type: 'button', class: cls('btn btn-ghost btn-icon btn-sm', done && 'is-done'), 'aria-label': label, title: label, onClick: () => copy(text) },
    icon(done ? 'check' : 'copy'), t.span({ class: 'sr', role: 'status' }, done ? 'Copied' : ''));
}
