// Invented templates.
import { D, H, ago, missing, page, stale, uuid } from './lists.mjs';

const HTML = '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Order</title></head>\n<body>\n<!-- The order -->\n<h1>Thank you, {{{NAME|there}}}</h1>\n<p style="margin:0">Your order <b>{{{ORDER}}}</b> leaves us today &amp; arrives soon.</p>\n</body>\n</html>\n';
const NAMES = [
  ['Order confirmation', 'order-confirmation', 'published', true, 3 * H], ['Password reset', 'password-reset', 'published', false, 4 * D], ['Invoice', null, 'draft', true, 6 * D],
  ['A template whose name somebody has written as a whole sentence, because there was no limit that stopped them from it', 'a-very-long-alias-that-explains-everything-about-the-template-and-its-history', 'draft', true, 9 * D],
];
const rows = Array.from({ length: 110 }, (_, n) => {
  const [name, alias, status, changed, age] = NAMES[n] ?? [`Reminder ${n}`, `reminder-${n}`, 'published', false, (10 + n) * D];
  return { object: 'template', id: uuid('7e41', n), revision: 0, name, alias, status, published_at: status === 'published' ? ago(age + D) : null, created_at: ago(age + 9 * D), updated_at: ago(age), current_version_id: uuid('7e42', n), from: null, reply_to: null, variables: [], subject: 'Your order {{{ORDER}}}', html: HTML, text: null, has_unpublished_versions: changed };
});
const summary = ({ id, name, alias, status, published_at, created_at, updated_at }) => ({ id, name, alias, status, published_at, created_at, updated_at });

/** @param {string} text @param {Record<string, string>} values */
function filled(text, values) {
  const without = [];
  const whole = text.replace(/\{\{\{(\w+)(?:\|([^{}]*))?\}\}\}/g, (_, name, fallback) => values[name] ?? fallback ?? (without.push(name), `{${name}}`));
  return { whole, without };
}

export function templates({ method, path, query, body, state }) {
  const taken = (id) => body?.alias && rows.some((row) => row.alias === body.alias && row.id !== id) ? { status: 409, json: { statusCode: 409, name: 'conflict', message: 'Another template has this `alias`.' } } : null;
  if (path === '/templates' && method === 'POST') {
    if (taken('')) return taken('');
    const row = { ...rows[2], subject: null, text: null, alias: null, ...body, id: crypto.randomUUID(), revision: 0, status: 'draft', published_at: null, created_at: new Date().toISOString(), updated_at: new Date().toISOString(), has_unpublished_versions: true };
    rows.unshift(row);
    return { status: 201, json: { object: 'template', id: row.id } };
  }
  if (path === '/templates') return page(rows.map(summary), query, state);
  const [, id, part = ''] = /^\/templates\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  if (!id) return null;
  const row = rows.find((one) => one.id === id || one.alias === id);
  if (!row) return missing('Template');
  const done = { json: { object: 'template', id: row.id } }, values = JSON.parse(query.variables || '{}');
  if (part === 'preview') return { html: filled(row.html, values).whole };
  if (part === 'rendered') {
    const subject = filled(row.subject ?? '', values), html = filled(row.html, values);
    return { json: { object: 'template_preview', id, subject: row.subject && subject.whole, html: html.whole, text: row.text, missing: [...new Set([...subject.without, ...html.without])] } };
  }
  if (part === 'publish') { Object.assign(row, { status: 'published', published_at: new Date().toISOString(), has_unpublished_versions: false }); return done; }
  if (part === 'duplicate') { const copy = { ...row, id: crypto.randomUUID(), revision: 0, name: `${row.name} (copy)`, alias: null, status: 'draft', published_at: null }; rows.unshift(copy); return { json: { object: 'template', id: copy.id } }; }
  if (method === 'PATCH') {
    const refusal = stale('template', row, body) ?? taken(row.id);
    if (refusal) return refusal;
    Object.assign(row, body, { revision: row.revision + 1, updated_at: new Date().toISOString(), has_unpublished_versions: true });
    return { json: { ...done.json, revision: row.revision } };
  }
  if (method === 'DELETE') { rows.splice(rows.indexOf(row), 1); return { json: { object: 'template', id: row.id, deleted: true } }; }
  return { json: row };
}
