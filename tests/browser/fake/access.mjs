// Invented API keys, requests of the log, and sessions.
import { D, H, M, NOW, S, ago, missing, page, uuid } from './lists.mjs';

/** [name, time since the last use, permission, number of the domain] */
const KEYS = /** @type {[string, number | null, string, number?][]} */ ([['Production', 3 * M, 'sending_access', 1], ['Staging', 5 * H, 'full_access'], ['Nightly export of invoices for the accounting department, northern region', null, 'sending_access', 4], ['Old website', 200 * D, 'full_access']]);
const keys = Array.from({ length: 104 }, (_, n) => {
  const [name, used, permission, domain] = KEYS[n] ?? [`Worker ${n}`, n * H, 'sending_access'];
  return { id: uuid('beef', n), name, created_at: ago((n + 1) * D), last_used_at: used === null ? null : ago(used), permission, domain_id: domain === undefined ? null : uuid('d0d0', domain) };
});

export function apiKeys({ method, path, query, body, state }) {
  if (path === '/api-keys' && method === 'POST') {
    const made = { id: crypto.randomUUID(), name: body.name, created_at: new Date().toISOString(), last_used_at: null, permission: body.permission, domain_id: body.domain_id ?? null };
    keys.unshift(made);
    return { status: 201, json: { id: made.id, token: 'rm_Ml2kiBjsXiCGAe2tEtS2TKIFJG7frlh7' } };
  }
  if (path === '/api-keys') return page(keys, query, state);
  const [, id] = /^\/api-keys\/([^/]+)$/.exec(path) ?? [];
  const row = keys.find((one) => one.id === id);
  if (!id) return null;
  if (!row) return missing('API key');
  if (method === 'PATCH') row.name = body.name; else keys.splice(keys.indexOf(row), 1);
  return { json: { object: 'api_key', id, ...(method === 'DELETE' ? { deleted: true } : {}) } };
}

/** [method, endpoint, status, client, request body, response body, detail] */
const REQUESTS = /** @type {[string, string, number, string | null, any, any, string?][]} */ ([
  ['POST', '/emails', 200, 'resend-node:6.1.0', { from: 'Acme <hello@mail.acme.com>', to: 'ada@example.net', subject: 'Your invoice INV-2026-1184 is ready', html: '[redacted]' }, { id: '0199c000-6b0d-7f53-9a3e-d2c81b7e0000' }],
  ['POST', '/emails', 403, 'resend-python:2.4.0', { from: 'hello@acme.test', to: ['ada@example.net'], subject: 'Hello', text: '[redacted]' }, { statusCode: 403, name: 'validation_error', message: 'The acme.test domain is not verified. Please, add and verify your domain.' }],
  ['GET', '/emails/0199c000-6b0d-7f53-9a3e-d2c81b7e0000', 200, 'curl/8.15.0', null, { object: 'email', subject: 'Your invoice' }],
  ['POST', '/emails', 422, 'resend-go/2.13', { from: 'hello@mail.acme.com', to: 'kim@example.com', subject: 'Release' }, { statusCode: 422, name: 'all_recipients_suppressed', message: 'All recipients are on the suppression list.' }, 'kim@example.com: bounced on 20 Nov'],
  ['POST', '/emails/batch', 200, 'resend-node:6.1.0', { truncated: true, bytes: 81_204 }, { data: [] }],
  ['GET', '/contacts', 500, null, null, { statusCode: 500, name: 'internal_server_error', message: 'The store could not be read.' }],
  ['DELETE', '/contacts/an-address-that-is-rather-long-for-a-narrow-screen@accounts-payable.northern-region.example.net', 200, 'acme-batch/12', null, { deleted: true }],
  ['PATCH', '/domains/0199c000-d0d0-7f53-9a3e-d2c81b7e0000', 429, 'terraform', { open_tracking: false }, { statusCode: 429, name: 'rate_limit_exceeded', message: 'Too many requests.' }],
]);
const LOGS = 240;
const logs = Array.from({ length: LOGS }, (_, n) => {
  const [method, endpoint, response_status, client, request_body, response_body, detail = null] = REQUESTS[n % REQUESTS.length];
  const user_agent = n === LOGS - 1 ? 'oldest-client/1' : client;
  return { object: 'log', id: uuid('10c0', n), method, endpoint, response_status, user_agent, request_body, response_body, detail, created_at: ago(n * 7 * M + 12 * S), duration_ms: 3 + (n * 7) % 90, api_key_id: keys[n % 3].id };
});
/** The requests as a list has them. */
const rows = logs.map(({ object, request_body, response_body, detail, ...row }) => row);

/** Maximum number of rows that a filter reads for one answer. The real server has such a bound too. */
const READ_MAX = 100;

/** The newest requests that match each given filter, and the position from which the next answer continues. */
function foundRequests({ q, status, method, key, after, limit = '20' }) {
  const text = q?.toLowerCase(), has = (list, value) => !list || list.split(',').includes(String(value));
  const matches = (row) => (!text || row.id === text || row.endpoint.toLowerCase().includes(text) || (row.user_agent ?? '').toLowerCase().includes(text))
    && (has(status, row.response_status) || has(status, Math.floor(row.response_status / 100))) && has(method, row.method) && has(key, row.api_key_id);
  const from = after ? rows.findIndex((row) => row.id === after) + 1 : 0;
  const data = [];
  let end = from;
  while (end < rows.length && end < from + READ_MAX && data.length < Number(limit)) {
    if (matches(rows[end])) data.push(rows[end]);
    end += 1;
  }
  const last = end < rows.length ? rows[end - 1] : null;
  return { json: { object: 'list', has_more: last !== null, data, position: last?.id ?? null, searched_until: last?.created_at ?? null } };
}

export function requests({ path, query, state }) {
  if (path === '/logs' && state !== 'empty' && (query.q || query.status || query.method || query.key)) return foundRequests(query);
  if (path === '/logs') return { json: { ...page(rows, query, state).json, position: null, searched_until: null } };
  const [, id] = /^\/logs\/([^/]+)$/.exec(path) ?? [];
  return id ? { json: logs.find((one) => one.id === id) ?? logs[0] } : null;
}

const AGENTS = ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1', 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'];
const session = (n) => ({ id: uuid('5e55', n), created_at: new Date(NOW - (n * 3 + 1) * D).toISOString(), last_used_at: ago(n * 9 * H), ip: ['203.0.113.7', '2001:db8:85a3:8d3:1319:8a2e:370:7348', '198.51.100.23'][n % 3], user_agent: AGENTS[n % 3], current: n === 0 });
let sessions_ = AGENTS.map((_, n) => session(n));
/** Further sessions of the state `hundred`. */
const more = Array.from({ length: 107 }, (_, n) => session(n + AGENTS.length));

export function sessions({ method, path, query, state }) {
  if (path === '/sessions' && method === 'DELETE') {
    const deleted = sessions_.length - 1;
    sessions_ = sessions_.filter((one) => one.current);
    return { json: { object: 'session', deleted } };
  }
  if (path === '/sessions') return page(state === 'hundred' ? [...sessions_, ...more] : sessions_, query, state);
  const [, id] = /^\/sessions\/([^/]+)$/.exec(path) ?? [];
  if (!id) return null;
  sessions_ = sessions_.filter((one) => one.id !== id);
  return { json: { object: 'session', id, deleted: true } };
}
