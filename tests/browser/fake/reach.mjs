// Invented suppressions and webhooks with their deliveries.
import { D, H, LONGEST, M, S, ago, missing, page, uuid } from './lists.mjs';

const LISTED = /** @type {[string, string, number][]} */ ([['tom@nortwhind.example', 'bounce', 33 * M], ['priya@example.net', 'complaint', 3 * H], ['kim@example.com', 'bounce', 2 * D], ['all@example.org', 'manual', 9 * D], ['wei@example.org', 'unsubscribe', 12 * D],
  [LONGEST, 'bounce', 20 * D]]);
const listed = Array.from({ length: 130 }, (_, n) => {
  const [email, origin, age] = LISTED[n] ?? [`reader-${n}@example.net`, ['bounce', 'unsubscribe', 'manual'][n % 3], (n + 20) * D];
  return { object: 'suppression', id: uuid('5099', n), email, origin, source_id: origin === 'bounce' || origin === 'complaint' ? '0199bffc-6b0d-7f53-9a3e-d2c81b7e0004' : null, created_at: ago(age) };
});

export function suppressions({ method, path, query, body, state }) {
  if (path === '/suppressions/batch/add') {
    for (const email of body.emails) if (!listed.some((row) => row.email === email)) listed.unshift({ object: 'suppression', id: crypto.randomUUID(), email: email.toLowerCase(), origin: 'manual', source_id: null, created_at: new Date().toISOString() });
    return { status: 201, json: { data: body.emails.map(() => ({ object: 'suppression', id: listed[0].id })) } };
  }
  if (path === '/suppressions/batch/remove') {
    for (const id of body.ids) listed.splice(listed.findIndex((row) => row.id === id), 1);
    return { json: { data: body.ids.map((id) => ({ object: 'suppression', id, deleted: true })) } };
  }
  if (path === '/suppressions') return page(listed.filter((row) => !query.origin || row.origin === query.origin), query, state);
  const [, id] = /^\/suppressions\/([^/]+)$/.exec(path) ?? [];
  const row = listed.find((one) => one.id === id || one.email === id);
  if (!id) return null;
  if (!row) return missing('Suppression');
  if (method === 'DELETE') { listed.splice(listed.indexOf(row), 1); return { json: { object: 'suppression', id: row.id, deleted: true } }; }
  return { json: row };
}

const URLS = /** @type {[string, string, string[] | null][]} */ ([['https://api.acme.com/hooks/ringmail', 'disabled', ['email.delivered', 'email.bounced', 'email.complained']], ['https://crm.acme.com/events', 'enabled', null],
  ['https://functions.cloud-provider.example.com/accounts/northern-region/applications/customer-communication/triggers/mail-events-of-production', 'enabled', ['suppression.added']]]);
const hooks = Array.from({ length: 112 }, (_, n) => {
  const [endpoint, status, events] = URLS[n] ?? [`https://hooks-${n}.acme.com/in`, 'enabled', null];
  return { object: 'webhook', id: uuid('4400', n), endpoint, status, events, created_at: ago((n + 4) * D), disabled_by: status === 'disabled' ? 'failures' : null };
});
let previous = /** @type {string | null} */ (null);

/** [event, status, attempts, response status, response] */
const ANSWERS = /** @type {[string, string, number, number | null, string][]} */ ([['email.delivered', 'success', 1, 200, 'ok'], ['email.bounced', 'pending', 3, 503, '<html><body><h1>503 Service Unavailable</h1> upstream connect error</body></html>'],
  ['email.delivered', 'failed', 8, null, 'The endpoint did not answer within 15 s.'], ['email.complained', 'success', 2, 204, ''], ['email.delivered', 'failed', 8, 500, '{"error":"duplicate key value violates unique constraint"}'], ['email.delivered', 'success', 1, 200, 'ok']]);
const deliveries = Array.from({ length: 150 }, (_, n) => {
  const [event, status, attempts, response_status, response] = ANSWERS[n % ANSWERS.length];
  return { id: `msg_${uuid('e0e0', n).replaceAll('-', '')}`, event, status, attempts, response_status, response, next_attempt_at: status === 'pending' ? ago(-12 * M) : null, duration_ms: response_status === null ? 15_000 : 84 + n, created_at: ago(n * 11 * M + 40 * S) };
});

export function webhooks({ method, path, query, body, state }) {
  if (path === '/webhooks' && method === 'POST') {
    const made = { object: 'webhook', id: crypto.randomUUID(), endpoint: body.endpoint, status: 'enabled', events: body.events, created_at: new Date().toISOString() };
    hooks.unshift(made);
    return { status: 201, json: { object: 'webhook', id: made.id, signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' } };
  }
  if (path === '/webhooks') return page(hooks, query, state);
  const [, id, part, delivery, verb] = /^\/webhooks\/([^/]+)(?:\/([\w-]+)(?:\/([^/]+)(?:\/(\w+))?)?)?$/.exec(path) ?? [];
  const hook = hooks.find((one) => one.id === id);
  if (!id) return null;
  if (!hook) return missing('Webhook');
  if (part === 'rotate-secret') { previous = new Date(Date.now() + body.overlap_hours * H).toISOString(); return { json: { object: 'webhook', id, signing_secret: 'whsec_9v8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ', previous_secret_expires_at: previous } }; }
  if (part === 'test') {
    const made = { ...deliveries[0], id: `msg_${crypto.randomUUID().replaceAll('-', '')}`, event: body?.type ?? 'email.delivered', created_at: new Date().toISOString() };
    deliveries.unshift(made);
    return { json: { object: 'webhook_event', id: made.id, type: made.event, status: 'pending', created_at: made.created_at } };
  }
  if (part === 'deliveries' && !delivery) return page(deliveries.map(({ response, ...row }) => ({ ...row, webhook_id: id, endpoint: hook.endpoint })), query, state);
  if (part === 'deliveries') {
    const row = deliveries.find((one) => one.id === delivery);
    if (!row) return missing('Webhook event');
    if (verb === 'replay') { row.status = 'success'; row.attempts += 1; row.response_status = 200; row.response = 'ok'; row.next_attempt_at = null; return { json: { object: 'webhook_event', id: row.id } }; }
    const attempts = Array.from({ length: row.attempts }, (_, n) => ({ id: uuid('a77e', n), sent_at: ago(n * H + 5 * M), duration_ms: row.duration_ms, response_status: row.response_status, response: row.response }));
    return { json: { object: 'webhook_delivery', id: row.id, webhook_id: id, event: row.event, status: row.status, next_attempt_at: row.next_attempt_at, created_at: row.created_at, attempts,
      payload: { type: row.event, created_at: row.created_at, data: { email_id: '0199c000-6b0d-7f53-9a3e-d2c81b7e0000', from: 'Acme <hello@mail.acme.com>', to: ['ada@example.net'], subject: 'Your invoice INV-2026-1184 is ready' } } } };
  }
  if (method === 'DELETE') { hooks.splice(hooks.indexOf(hook), 1); return { json: { object: 'webhook', id, deleted: true } }; }
  if (method === 'PATCH') { Object.assign(hook, body); return { json: { object: 'webhook', id } }; }
  return { json: { ...hook, signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', previous_secret_expires_at: previous } };
}
