// Invented domains with their records.
import { D, H, M, ago, missing, page, uuid } from './lists.mjs';

const NAMES = /** @type {[string, string, number][]} */ ([['notify.acme.com', 'pending', 25 * M], ['mail.acme.com', 'verified', 40 * D], ['billing.acme.com', 'verified', 41 * D], ['news.acme.com', 'failed', 3 * D],
  ['customer-communications.european-subsidiary.northern-region.very-long-company-name.example.com', 'not_started', 2 * H]]);
const rows = Array.from({ length: 110 }, (_, n) => {
  const [name, status, age] = n < NAMES.length ? NAMES[n] : [`team-${n}.acme.com`, 'verified', (50 + n) * D];
  return { object: 'domain', id: uuid('d0d0', n), name, status, created_at: ago(age), region: 'us-east-1', open_tracking: n === 1, click_tracking: n === 1, tracking_subdomain: n === 1 ? 'links' : null, capabilities: { sending: 'enabled', receiving: 'disabled' } };
});
const RSA = 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr3vJm0iT8kQ2Hc5dU1n0fVwYx9ZLqkM4pB7sE6tC2uRgNwDhXoP1yAaKbJzFvWlSeOiTQmU8GdHnYcRxLpZ3kV5wB0jE9sMfC4uNqXaDtIyPgKhOoZrSlWbVmJ1eQn7vTcUx2HdYk6LpRfGiBsAzMw8NqEoCtJuXhDyKgVrPlSbWmZa1e3QIDAQAB';

/** A domain with its records: in the state `pending` one differs and one is missing. */
function whole(row) {
  const apex = row.name.split('.').slice(-2).join('.'), below = row.name.slice(0, -apex.length - 1);
  const at = (label) => (below ? `${label}.${below}` : label);
  const well = row.status === 'verified', unknown = row.status === 'not_started';
  const record = (kind, name, type, value, live, detail, more = {}) => ({ record: kind, name: at(name), type, ttl: 'Auto', status: live === 'found' ? 'verified' : unknown ? 'not_started' : 'pending', value, live: unknown ? 'unknown' : live,
    ...(live === 'found' && !unknown ? {} : { detail: unknown ? `${at(name)}.${apex}: not looked up yet; publish the record, then verify the domain` : `${at(name)}.${apex}: ${detail}` }), ...more });
  const refusal = row.name === 'billing.acme.com' ? { at: ago(2 * H), email_id: uuid('6b0d', 3), host: 'gmail-smtp-in.l.google.com', reply: '550 5.7.26 This mail has been blocked because the sender is unauthenticated. - gsmtp' } : null;
  return { ...row, checked_at: unknown ? null : ago(41_000), refusal, records: [
    record('SPF', 'send', 'MX', 'mail.acme.com', well ? 'found' : 'mismatch', 'Another MX record is published: 10 mail.oldhost.example', { priority: 10, seen: well ? [] : ['10 mail.oldhost.example'] }),
    record('SPF', 'send', 'TXT', 'v=spf1 a:mail.acme.com ~all', 'found', ''),
    record('DKIM', 'rm7k2m._domainkey', 'TXT', RSA, 'found', ''),
    record('DKIM', 'rm7k2e._domainkey', 'TXT', 'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=', well ? 'found' : 'missing', 'No DKIM record is published at this name.'),
    ...(row.tracking_subdomain ? [record('Tracking', row.tracking_subdomain, 'CNAME', 'mail.acme.com', row.tracking_subdomain === 'links' ? 'found' : 'missing', 'No CNAME record is published at this name.')] : []),
  ], recommended_records: [record('DMARC', '_dmarc', 'TXT', 'v=DMARC1; p=none;', 'found', '', { policy: 'none', inherited_from: apex })] };
}

export function domains({ method, path, query, body, state }) {
  if (path === '/domains' && method === 'POST') {
    if (rows.some((row) => row.name === body.name)) return { status: 422, json: { statusCode: 422, name: 'validation_error', message: 'The domain already exists.' } };
    const made = { ...rows[0], id: crypto.randomUUID(), name: body.name, status: 'not_started', created_at: new Date().toISOString() };
    rows.unshift(made);
    return { status: 201, json: whole(made) };
  }
  if (path === '/domains') return page(rows, query, state);
  const [, id, part] = /^\/domains\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  const row = rows.find((one) => one.id === id);
  if (!id) return null;
  if (!row) return missing('Domain');
  if (part === 'verify') { if (row.status !== 'verified') row.status = 'pending'; return { json: { object: 'domain', id } }; }
  if (method === 'DELETE') { rows.splice(rows.indexOf(row), 1); return { json: { object: 'domain', id, deleted: true } }; }
  if (method === 'PATCH') {
    if (body.tracking_subdomain === 'send') return { status: 422, json: { statusCode: 422, name: 'validation_error', message: 'The `tracking_subdomain` must differ from the label of the return path.' } };
    Object.assign(row, body);
    return { json: { object: 'domain', id } };
  }
  return { json: whole(row) };
}
