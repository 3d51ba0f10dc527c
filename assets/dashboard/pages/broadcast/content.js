// The content of a broadcast: what the editor edits, and how it is saved.
import { api } from '../../lib/api.js';

/** @typedef {import('../../types/broadcasts.d.ts').BroadcastContent} BroadcastContent */
/** @typedef {import('../../types/api.d.ts').Template} Template */

/** Writes the content of a template into a broadcast. @param {string} id @param {string} template id or alias @param {number} [revision] of the broadcast @returns {Promise<BroadcastContent>} */
export async function copyTemplate(id, template, revision) {
  const { html, text } = /** @type {Template} */ (await api.get(`/templates/${encodeURIComponent(template)}`));
  return api.put(`/broadcasts/${id}/content`, { html, text, revision });
}

/** Text with line ends of one character, as the editor has it. @param {string | null} text */
export function lines(text) {
  return (text ?? '').replace(/\r\n?/g, '\n');
}

/** The body that saves a content. @param {{ source: string | null, html: string | null, text: string | null }} content */
export function bodyOf({ source, html, text }) {
  return source === null ? { html: html || null, text: text || null } : { source };
}
