// Invented emails.
import { D, H, LONGEST, M, NOW, S, ago, uuid } from './lists.mjs';

/** [status, to, subject, from domain, tag, age] */
const ROWS = [
  ['opened', 'ada@example.net', 'Your invoice INV-2026-1184 is ready', 'mail.acme.com', 'invoice', 38 * S],
  ['delivered', 'wei@example.org', 'Reset your password', 'mail.acme.com', 'account', 2 * M],
  ['queued', 'jo@example.net', 'Your weekly report: 12 sites, 3 changes', 'mail.acme.com', 'digest', 2 * M + 7 * S],
  ['delivery_delayed', 'marta@example.com', 'Your invoice INV-2026-1183 is ready', 'mail.acme.com', 'invoice', 19 * M],
  ['bounced', 'tom@nortwhind.example', 'Confirm your address', 'mail.acme.com', 'account', 33 * M],
  ['clicked', 'noor@example.org', 'دعوة للانضمام إلى فريق Acme', 'mail.acme.com', 'invite', 51 * M],
  ['delivered', 'security-gateway@example.com', 'Sign-in from a new device', 'mail.acme.com', 'security', 71 * M],
  ['delivered', LONGEST, 'Statement for October 2026', 'billing.acme.com', 'invoice', 105 * M],
  ['complained', 'priya@example.net', 'Acme 4.0 is here: faster exports, dark mode and 40 smaller things you asked for', 'news.acme.com', 'release', 3 * H],
  ['opened', 'olle@example.org', 'Acme 4.0 is here: faster exports, dark mode and 40 smaller things you asked for', 'news.acme.com', 'release', 3 * H + S],
  ['suppressed', 'kim@example.com', 'Acme 4.0 is here: faster exports, dark mode and 40 smaller things you asked for', 'news.acme.com', 'release', 3 * H + 2 * S],
  ['failed', 'inbox@legacy.example.net', 'Your export is ready (attachment of 26 MB)', 'mail.acme.com', 'export', 5 * H],
  ['scheduled', 'ada@example.net', 'Reminder: your trial ends on Monday', 'mail.acme.com', 'trial', 5 * H + M],
  ['delivered', 'support@example.org', 'Re: [#48211] Webhook signature does not match', 'help.acme.com', 'support', 21 * H],
  ['canceled', 'all-hands@example.com', 'Planned maintenance on Sunday', 'mail.acme.com', 'status', 22 * H],
  ['sent', 'ren@example.net', 'Ваш заказ № 20261120-07 отправлен', 'mail.acme.com', 'order', 22 * H + M],
];

/** Time after which retention deletes the content of an email. */
const CONTENT_MS = 8 * D;
const id = (n) => uuid('6b0d', n);
export const EMAILS = Array.from({ length: 140 }, (_, n) => {
  const [last_event, to, subject, domain, tag, age] = ROWS[n % ROWS.length];
  return {
    object: 'email', id: id(n), message_id: `<${id(n)}@${domain}>`, from: `Acme <hello@${domain}>`, to: n % 16 === 13 ? [to, 'second@example.org', 'third@example.org'] : [to],
    cc: null, bcc: null, reply_to: n % 16 === 0 ? ['billing@acme.com'] : null, subject, created_at: ago(age + Math.floor(n / 16) * D), last_event, topic_id: null,
    scheduled_at: last_event === 'scheduled' ? ago(-41 * H) : null, tags: [{ name: 'category', value: tag }],
  };
});

// The pictures of the documentation do not have this row, because a machine without colour fonts draws boxes.
EMAILS[30].subject = '🛠️ Planned maintenance on Sunday 👩🏽‍💻👨‍👩‍👧‍👦🇪🇺 – thank you 🙏';

const MODEL = EMAILS[1];

/** An id of version 7: its time comes first. */
function newId() {
  const ms = Date.now().toString(16).padStart(12, '0'), rest = crypto.randomUUID();
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${rest.slice(15)}`;
}

/** `GET /emails`, `POST /emails`, `GET /search`. */
export function emails({ method, path, query, body, state }) {
  if (method === 'POST') {
    const made = { ...MODEL, ...body, to: [body.to].flat(), id: newId(), last_event: 'queued', created_at: new Date().toISOString() };
    EMAILS.unshift(made);
    return { json: { id: made.id } };
  }
  if (state === 'empty') return { json: path === '/search' ? { object: 'list', data: [], position: null, complete: true, searched_until: null } : { object: 'list', has_more: false, data: [] } };
  let rows = EMAILS;
  if (state === 'one') rows = rows.slice(0, 1);
  if (path === '/search') {
    const has = (text) => text.toLowerCase().includes((query.q ?? '').toLowerCase());
    rows = rows.filter((row) => (!query.q || has(row.subject) || has(row.to[0]) || row.id === query.q) && (!query.status || query.status.split(',').includes(row.last_event))
      && (!query.domain || row.from.includes(`@${query.domain}`)) && (!query.since || row.created_at >= query.since));
    const from = query.after ? Number(query.after) : 0;
    const page = rows.slice(from, from + 20);
    const complete = from + 20 >= rows.length;
    return { json: { object: 'list', data: page, position: complete ? null : String(from + 20), complete, searched_until: complete ? null : page.at(-1).created_at } };
  }
  const limit = Number(query.limit ?? 20);
  const at = (one) => rows.findIndex((row) => row.id === one);
  const from = query.after ? at(query.after) + 1 : query.before ? Math.max(0, at(query.before) - limit) : 0;
  const end = query.before ? at(query.before) : from + limit;
  return { json: { object: 'list', has_more: query.before ? from > 0 : end < rows.length, data: rows.slice(from, end) } };
}

const TALK = (last, to) => `S: 220 mx1.example.net ESMTP ready
C: EHLO mail.acme.com
S: 250-mx1.example.net greets mail.acme.com
S: 250-SIZE 52428800
S: 250-STARTTLS
S: 250 SMTPUTF8
C: STARTTLS
S: 220 2.0.0 ready
-- TLS 1.3, certificate valid
C: EHLO mail.acme.com
C: MAIL FROM:<b-7k2m@send.mail.acme.com> SIZE=18214
S: 250 2.1.0 ok
C: RCPT TO:<${to}>
${last}
C: QUIT`;

const TLS = { version: 'TLSv1.3', cipher: 'TLS13_AES_256_GCM_SHA384', verified: true };

/** `GET /emails/{id}` and the paths below it. */
export function email({ method, body }, wanted, part) {
  const row = EMAILS.find((one) => one.id === wanted);
  if (!row) return { status: 404, json: { statusCode: 404, name: 'not_found', message: 'Email not found.' } };
  const start = Date.parse(row.created_at);
  const at = (ms) => new Date(start + ms).toISOString();
  const done = ['delivered', 'opened', 'clicked', 'complained'].includes(row.last_event);
  if (method === 'PUT') { Object.assign(row, body); return { json: {} }; }
  if (method === 'DELETE') { EMAILS.splice(EMAILS.indexOf(row), 1); return { json: { object: 'email', id: wanted, deleted: true } }; }
  if (part === 'resend') return emails({ method: 'POST', path: '/emails', query: {}, body: row, state: '' });
  if (part === 'cancel') { row.last_event = 'canceled'; return { json: { object: 'email', id: wanted } }; }
  if (part === 'attempts') {
    const attempt = (number, ms, result, last, tls = TLS) => ({ object: 'email_attempt', id: crypto.randomUUID(), number, created_at: at(ms), to: row.to, host: 'mx1.example.net', address: '203.0.113.25:25', tls, tls_downgraded: false, possible_duplicate: false, result, transcript: TALK(last, row.to[0]) });
    const grey = '451 4.7.1 greylisted, please try again in 60 seconds';
    const data = row.last_event === 'bounced' ? [attempt(1, 1200, '550 5.1.1 no such user', 'S: 550 5.1.1 <tom@nortwhind.example> no such user here')]
      : row.last_event === 'delivery_delayed' ? [attempt(1, 900, grey, `S: ${grey}`)]
        : done ? [attempt(3, 256_000, '250 2.0.0 ok, queued as 4XkQ2v1rT8', 'S: 250 2.1.5 ok\nC: DATA\nS: 354 go ahead\n-- 18,214 bytes\nS: 250 2.0.0 ok, queued as 4XkQ2v1rT8'), attempt(2, 65_000, grey, `S: ${grey}`), attempt(1, 400, grey, `S: ${grey}`)] : [];
    const waiting = row.last_event === 'delivery_delayed' ? [{ to: row.to, domain: 'example.com', attempts: 1, state: 'retry', until: new Date(Date.now() + 12 * M).toISOString(), reason: 'The server of example.com refused the last attempt for now: 451 4.7.1 greylisted.' }] : [];
    return { json: { object: 'list', has_more: false, data, waiting } };
  }
  if (part === 'request') return { json: { object: 'log', id: crypto.randomUUID(), created_at: at(-14), endpoint: '/emails', method: 'POST', response_status: 200, user_agent: 'resend-node:6.4.0', api_key_id: '0199c000-beef-7f53-9a3e-d2c81b7e0000', duration_ms: 14, request_body: { from: row.from, to: row.to, subject: row.subject, html: '<h1>…', tags: row.tags }, response_body: { id: row.id }, detail: null } };
  const delivery = (n) => `msg_${uuid('e0e0', n).replaceAll('-', '')}`;
  if (part === 'deliveries') return { json: { object: 'list', has_more: false, data: [
    { id: delivery(1), webhook_id: uuid('4400', 0), endpoint: 'https://api.acme.com/hooks/ringmail', event: 'email.opened', status: 'pending', attempts: 3, next_attempt_at: new Date(Date.now() + 9 * M).toISOString(), response_status: 503, duration_ms: 10000, created_at: at(300_000) },
    { id: delivery(0), webhook_id: uuid('4400', 0), endpoint: 'https://api.acme.com/hooks/ringmail', event: 'email.delivered', status: 'success', attempts: 1, next_attempt_at: null, response_status: 200, duration_ms: 84, created_at: at(256_400) },
    { id: delivery(5), webhook_id: uuid('4400', 0), endpoint: 'https://api.acme.com/hooks/ringmail', event: 'email.sent', status: 'success', attempts: 1, next_attempt_at: null, response_status: 200, duration_ms: 91, created_at: at(900) }] } };
  if (part === 'raw') return { type: 'message/rfc822', text: `From: Acme Billing <billing@mail.acme.com>\r\nTo: ${row.to[0]}\r\nReply-To: billing@acme.com\r\nSubject: ${row.subject}\r\nDate: Sat, 21 Nov 2026 09:12:04 +0000\r\nMessage-ID: ${row.message_id}\r\nMIME-Version: 1.0\r\nDKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=mail.acme.com; s=rm7k2m;\r\n h=from:to:subject:date:message-id; bh=frcCV1k9oG9oKj3dpUqdJg1PxRT2RSN/XKdLCPjaYaY=; b=\r\nContent-Type: multipart/alternative; boundary="b1"\r\n\r\n--b1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nYour invoice INV-2026-1184 is ready.\r\n--b1\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<h1 style=3D"font-size:22px">Your invoice is ready</h1>\r\n--b1--\r\n` };
  if (part) return null;
  const event = (type, ms, more = {}) => ({ type, created_at: at(ms), to: row.to, ...more });
  const click = { link: 'https://billing.acme.com/invoices/INV-2026-1184', ipAddress: '198.51.100.7', userAgent: 'Mozilla/5.0 (Macintosh)', timestamp: at(53 * M) };
  const open = { ipAddress: '198.51.100.7', userAgent: 'Mozilla/5.0 (Macintosh)', timestamp: at(51 * M), reason: null };
  const events = [...(row.last_event === 'bounced' ? [event('email.bounced', 1200, { reply: '550 5.1.1 <tom@nortwhind.example> no such user here', bounce: { message: 'The address does not exist.', type: 'Permanent', subType: 'NoEmail', diagnosticCode: ['smtp; 550 5.1.1 no such user'] }, guidance: { category: 'recipient', title: 'The mailbox does not exist', explanation: 'The mail server of the recipient does not know the address.', action: 'Look for a typing error in the address. If the address is right, remove it from your lists.' } })]
    : row.last_event === 'delivery_delayed' ? [event('email.delivery_delayed', 900, { reply: '451 4.7.1 greylisted' })]
      : row.last_event === 'failed' ? [event('email.failed', 2000, { failed: { reason: '26 MB is more than legacy.example.net takes.' } })]
        : row.last_event === 'suppressed' ? [event('email.suppressed', 5)]
          : done ? [event('email.sent', 300), event('email.delivery_delayed', 400, { reply: '451 4.7.1 greylisted' }), event('email.delivery_delayed', 65_000, { reply: '451 4.7.1 greylisted' }), event('email.delivered', 256_000, { reply: '250 2.0.0 ok, queued as 4XkQ2v1rT8' }), event('email.prefetched', 259_000, { open: { ...open, ipAddress: '203.0.113.80', reason: 'timing' } }),
            ...(row.last_event !== 'delivered' ? [event('email.opened', 51 * M, { open }), event('email.clicked', 52 * M, { click })] : []), ...(row.last_event === 'complained' ? [event('email.complained', 60 * M, { complaint_feedback_type: 'abuse' })] : [])] : [])];
  const content = start < NOW - CONTENT_MS ? { html: null, text: null, attachments: [] } : { html: '<!doctype html>\n<html lang="en">\n<body style="margin:0">\n  <h1 style="font-size:22px">Your invoice is ready</h1>\n  <a href="https://billing.acme.com/invoices/INV-2026-1184">View invoice</a>\n</body>\n</html>', text: 'Your invoice INV-2026-1184 is ready.\n\nTotal: EUR 1,240.00, due on 5 December 2026.\n\nView invoice: https://billing.acme.com/invoices/INV-2026-1184\n\nAcme Ltd, 1 Example Street, Exampleton', attachments: [{ id: 'a1', filename: 'INV-2026-1184.pdf', size: 11_200, content_type: 'application/pdf' }] };
  return { json: { ...row, ...content, recipients: row.to.map((address) => ({ email: address, last_event: row.last_event })), events } };
}

/** The content of an email in the frame. */
export function preview({ dark }) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light${dark === '1' ? ' dark' : ''}"><style>body{margin:0;font:16px/24px Arial,sans-serif;background:#f4f5f7;color:#16181d;padding:32px 24px}div{max-width:520px;margin:auto;background:#fff;border-radius:8px;padding:32px}td{padding:10px 0;border-bottom:1px solid #e4e6eb}a{display:inline-block;margin-top:20px;background:#12503a;color:#fff;padding:10px 18px;border-radius:6px;text-decoration:none;font-weight:bold}</style><div><h1 style="font-size:22px;margin:0 0 12px">Your invoice is ready</h1><p>Hello Northwind, thank you for your business. Here is your invoice for November 2026.</p><table width="100%" cellspacing="0"><tr><td>Team plan, 31 seats<td align="right">€ 992.00<tr><td>Additional storage, 500 GB<td align="right">€ 50.00<tr><td><b>Total, due on 5 December</b><td align="right"><b>€ 1,240.00</b></table><a href="https://billing.acme.com/invoices/INV-2026-1184">View invoice</a></div></html>`;
}
