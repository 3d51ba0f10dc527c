// Id: shortened, muted, copyable.
import { cls, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';
import { useCopy } from './copy.js';

/** `4f7c2a1e…90aa`. @param {string} id */
export function shortId(id) {
  return id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

/** @param {{ id: string, whole?: boolean }} props */
export function Id({ id, whole = false }) {
  const [done, copy] = useCopy();
  return t.button({ type: 'button', class: cls('id', done && 'is-done'), title: `Copy ${id}`, onClick: () => copy(id) },
    t.span({ class: 'trunc' }, done ? 'Copied' : whole ? id : shortId(id)), icon(done ? 'check' : 'copy'),
    t.span({ class: 'sr', role: 'status' }, done ? 'Copied' : ''));
}
