// Changes that repair a finding: a fallback of a merge field, and the alternative text of an image.

/** @typedef {import('../../types/broadcasts.d.ts').Finding} Finding */
/** @typedef {{ at: number, length: number, text: string }} Repair what to replace, in UTF-16 code units */

/** Text of an image in Markdown: merge fields stay, other marks are escaped. @param {string} text */
const inMarkdown = (text) => text.replace(/\{\{\{[^{}]*\}\}\}|[\\`*_[\]<>&~|]/g, (mark) => (mark.length > 1 ? mark : `\\${mark}`));
/** @type {Record<string, string>} */
const REFERENCES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Whether `repairOf` has a repair for this kind of finding. @param {Finding} finding */
export const isRepairable = ({ kind, at, length }) => (kind === 'fallback_missing' || kind === 'alt_missing') && at !== null && length !== null;

/**
 * Returns the change that puts words into the place of a finding. Null if the text there has changed since the check,
 * as by this repair.
 * @param {Finding} finding
 * @param {string} text the part with the finding
 * @param {string} words
 * @returns {Repair | null}
 */
export function repairOf({ kind, part, at, length }, text, words) {
  const from = at ?? 0, place = text.slice(from, from + (length ?? 0));
  if (kind === 'fallback_missing') return /^\{\{\{[^{}|]*\}\}\}$/.test(place) ? { at: from + place.length - 3, length: 0, text: `|${words}` } : null;
  // An image in Markdown may have blanks, or another image without a text, in the place of its text.
  const begin = (part === 'source' ? /^!\[\s*(?=\]|!\[\s*[!\]])/ : /^<img(?=[\s/>].*>$|>$)/is).exec(place)?.[0];
  // An attribute may have `alt=` in its value.
  if (!begin || (part !== 'source' && /[\s"']alt[\s=/>]/i.test(place.replace(/"[^"]*"|'[^']*'/g, '""')))) return null;
  if (part === 'source') return { at: from + 2, length: begin.length - 2, text: inMarkdown(words) };
  return { at: from + begin.length, length: 0, text: ` alt="${words.replace(/[&<>"]/g, (mark) => REFERENCES[mark] ?? mark)}"` };
}
