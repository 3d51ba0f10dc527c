// Code: text to copy, with strings and comments marked.
import { h } from '../vendor/preact.js';
import { t } from '../lib/h.js';
import { Copy } from './copy.js';

const PARTS = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|((?:^|\s)(?:#|\/\/).*$)|\b(import|from|const|await|new|export|require|use|func|return|package|let|puts|echo)\b/gm;

/** Marks strings, comments and a few words. @param {string} text */
function marked(text) {
  const out = [];
  let at = 0;
  for (const match of text.matchAll(PARTS)) {
    out.push(text.slice(at, match.index));
    out.push(t.span({ class: match[1] ? 's' : match[2] ? 'c' : 'k' }, match[0]));
    at = match.index + match[0].length;
  }
  out.push(text.slice(at));
  return out;
}

/** @param {{ text: string, label?: string, plain?: boolean }} props */
export function Code({ text, label = 'Copy the code', plain = false }) {
  return t.div({ class: 'code' }, t.pre({ tabIndex: 0 }, t.code(null, plain ? text : marked(text))), h(Copy, { text, label }));
}

/** A value as indented JSON. @param {unknown} value */
export function json(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
