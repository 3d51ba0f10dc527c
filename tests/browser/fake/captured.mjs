// Invented captured messages, and what the page Connect shows.
import { LONGEST, M, NOW, ago, page, uuid } from './lists.mjs';

const rows = [
  ['Hello', 'hello@example.com', 'you@example.com', 9_000, 'captured'],
  ['Your sign-in code is 482 913', 'Acme <login@example.com>', 'ada@example.net', 4 * 60_000, 'captured'],
  ['Your invoice INV-2026-1184 is ready', 'Acme Billing <billing@mail.acme.com>', LONGEST, 50 * 60_000, 'captured'],
  ['Confirm your address', 'Acme <hello@example.com>', 'bounced+signup@example.com', 3 * 3_600_000, 'other'],
].map(([subject, from, to, age, mode], n) => ({ object: 'captured', id: `0199d00${4 - n}-6b0d-7f53-9a3e-d2c81b7e0000`, email_id: uuid('6b0d', n), from, to: [to], subject, received_at: ago(age), size: 18_214 / (n + 1) | 0, mode, released_at: null }));
/** Further messages of the state `hundred`. */
const more = Array.from({ length: 110 }, (_, n) => ({ ...rows[n % 4], id: uuid('ca97', n), email_id: uuid('6b0d', n), to: [`reader-${n}@example.net`], received_at: ago((200 + n * 7) * M) }));

export function captured({ method, path, query, state }) {
  if (path === '/captured' && method === 'GET') {
    const has = (text, part) => !part || text.toLowerCase().includes(part.toLowerCase());
    const all = state === 'hundred' ? [...rows, ...more] : rows;
    const { json } = page(all.filter((row) => has(row.to[0], query.to) && has(row.subject, query.subject)), query, state);
    return { json: { ...json, position: null } };
  }
  if (path === '/captured' && method === 'DELETE') { rows.length = 0; return { json: { object: 'captured', deleted: true } }; }
  const [, id, part] = /^\/captured\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
  const row = rows.find((one) => one.id === id);
  if (!id) return null;
  if (!row) return { status: 404, json: { statusCode: 404, name: 'not_found', message: 'Captured message not found.' } };
  if (method === 'DELETE') { rows.splice(rows.indexOf(row), 1); return { json: { object: 'captured', id, deleted: true } }; }
  if (part === 'release') { row.released_at = new Date().toISOString(); return { json: { object: 'captured', id } }; }
  if (part === 'raw') return { type: 'message/rfc822', text: `From: ${row.from}\r\nTo: ${row.to[0]}\r\nSubject: ${row.subject}\r\n\r\nIt works.\r\n` };
  if (part === 'preview') return { html: '<!doctype html><body style="font:16px/24px sans-serif;margin:24px"><h1>It works.</h1><p>Your sign-in code is <b>482 913</b>.</p>' };
  if (part) return null;
  return { json: { ...row, headers: [['From', row.from], ['To', row.to[0]], ['Subject', row.subject], ['Message-ID', `<${row.id}@example.com>`], ['MIME-Version', '1.0'], ['Content-Type', 'multipart/mixed; boundary="b1"']], text: 'It works.\n\nYour sign-in code is 482 913.\nhttps://app.example.com/confirm?token=5f2c', html: true, html_source: '<h1>It works.</h1>\n<p>Your sign-in code is <b>482 913</b>.</p>\n', attachments: [{ index: 2, filename: 'terms.pdf', content_type: 'application/pdf', size: 48_120, content_id: null }], would_go_to: { route: 'direct', hosts: [...new Set(row.to.map((to) => to.split('@')[1]))] }, links: ['https://app.example.com/confirm?token=5f2c'], code: '482913' } };
}

export function connect({ path, state }) {
  if (path !== '/connect') return null;
  const dev = state === 'empty' || state === 'dev';
  return { json: { base_url: dev ? 'http://127.0.0.1:8787' : 'https://mail.acme.com', smtp: null, first_key: dev ? 'rm_Ml2kiBjsXiCGAe2tEtS2TKIFJG7frlh7' : null, sdks: state === 'empty' || state === 'new' ? [] : [{ name: 'node', seen_at: new Date(NOW - 38_000).toISOString() }] } };
}
