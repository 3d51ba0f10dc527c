// Invented state of the server: overview, queue, health.
import { EMAILS } from './emails.mjs';
import { H, M, ago, missing, uuid } from './lists.mjs';

const site = (name, waiting, oldest, state, last_reply, reason, more = {}) => ({ site: name, waiting, domains: [name.replace('domain:', '')], oldest_at: ago(oldest), state, reason, until: null, sessions: 1, rate: null, last_reply, delisting: null, paused: false, ...more });
const sites = [
  site('gmail.com', 502, 65 * M, 'rate_limited', '421-4.7.28 Gmail has detected an unusual rate of mail', 'The rate of messages to gmail.com is reached.', { domains: ['gmail.com', 'googlemail.com', 'acme-partners.example'], rate: 480 / 3600, sessions: 2, until: ago(-4 * M) }),
  site('yahoo.example', 412, 192 * M, 'site_paused', '421 4.7.0 [TSS04] Messages from 198.51.100.17 temporarily deferred due to unexpected volume or user complaints', 'The mail servers of yahoo.example refused or limited mail of this server. They are paused until the next test.', { rate: 60 / 3600, until: ago(-38 * M), delisting: 'https://senders.yahoo.example/contact' }),
  site('outlook.com', 122, 2 * M, 'session', '250 2.6.0 Queued mail for delivery', 'It waits for a session with outlook.com.', { sessions: 4, rate: 1200 / 3600 }),
  site('acme-partners.example.net', 96, 26 * M, 'held', '250 2.0.0 Ok: queued as 9F2C1A', 'The operator paused the site.', { paused: true }),
  site('domain:nortwhind.example', 41, 50 * M, 'lookup_failed', null, 'The mail servers of nortwhind.example cannot be looked up.', { until: ago(-9 * M), sessions: 0 }),
  site('example.net', 31, 4 * M, 'retry', '451 4.7.1 greylisted, please try again in 60 seconds', 'The last attempt failed temporarily, and the next one follows.', { until: ago(-1 * M), rate: 240 / 3600 }),
  ...Array.from({ length: 100 }, (_, n) => site(`site-${n}.example.org`, 1 + (n % 3), (n + 1) * M, 'retry', '450 4.2.1 Try later', 'The last attempt failed temporarily, and the next one follows.')),
];

let paused = false;

export function queue({ method, path, state }) {
  if (path === '/queue/pause' || path === '/queue/resume') { paused = path.endsWith('pause'); return { json: { object: 'queue', paused } }; }
  if (path === '/queue') return { json: { object: 'list', paused, has_more: false, data: state === 'empty' ? [] : state === 'one' ? sites.slice(0, 1) : state === 'hundred' ? sites : sites.slice(0, 6) } };
  const [, name, verb] = /^\/queue\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  const row = sites.find((one) => one.site === name);
  if (!name) return null;
  if (!row) return missing('Site with queued email');
  if (method === 'POST') { if (verb !== 'flush') row.paused = verb === 'pause'; if (verb === 'resume') row.state = 'session'; return { json: { object: 'site', site: name, paused: row.paused, groups: verb === 'flush' ? row.waiting : 0, has_more: false } }; }
  const groups = Array.from({ length: Math.min(7, row.waiting) }, (_, n) => ({ email_id: EMAILS[n].id, domain: row.domains[0], due_at: ago(-n * M), attempts: 7 - n, state: row.state, until: ago(-n * M), reason: row.reason }));
  return { json: { ...row, groups, has_more: row.waiting > 7 } };
}

const CHECKS = /** @type {[string, string, string, string, string?, string?][]} */ ([
  ['smtp_port', 'Outgoing SMTP', 'ok', 'gmail.com, outlook.com and yahoo.com answer on port 25'],
  ['reverse_dns', 'Reverse DNS', 'failed', '198.51.100.17 has the name ec2-198-51-100-17.compute.example', 'mail.acme.com', 'Ask the provider of the address to set its reverse name to mail.acme.com.'],
  ['domains:notify.acme.com', 'Domain records: notify.acme.com', 'warning', 'the MX record of send.notify.acme.com leads to mail.oldhost.example', '10 mail.acme.com', 'Replace the record, then verify the domain.'],
  ['hostname', 'Host name', 'ok', 'mail.acme.com resolves to 198.51.100.17'], ['clock', 'Clock', 'ok', '12 ms from pool.ntp.org'], ['disk', 'Disk space', 'ok', '412 GB free'],
  ['certificate', 'Certificate', 'not_checked', 'no public URL with https is set'], ['resolver', 'DNS servers', 'ok', '2 servers answer in 4 ms'], ['open_files', 'Open files', 'ok', 'the limit is 65,536'], ['store', 'Store', 'ok', 'writes in 2 ms'],
]);

export function health({ path, state }) {
  if (path !== '/health' && path !== '/health/run') return null;
  const checked_at = new Date(Date.now() - (path === '/health' ? 41_000 : 0)).toISOString();
  const domains = Array.from({ length: 100 }, (_, n) => [`domains:team-${n}.acme.com`, `Domain records: team-${n}.acme.com`, n % 9 === 0 ? 'warning' : 'ok', ...CHECKS[2].slice(3)]);
  const some = state === 'empty' || state === 'one' ? CHECKS.slice(0, 1) : state === 'hundred' ? [...CHECKS, ...domains] : CHECKS;
  const data = some.map(([id, title, status, seen, expected = null, fix = null]) => ({ id, title, status, seen, expected, fix, docs: '/docs/DASHBOARD#the-checks', checked_at }));
  return { json: { object: 'list', has_more: false, status: some.every((check) => check[2] === 'ok') ? 'ok' : 'failing', checked_at, data } };
}

export function overview({ path, state }) {
  if (path !== '/overview') return null;
  if (state === 'empty') return { json: { attention: [], queue: { waiting: 0, oldest_s: 0, paused: false }, webhooks: { disabled: 0, failing: 0 }, domains: { unverified: 0 }, health: 'ok', last: [] } };
  const attention = [
    { severity: 'red', text: 'The webhook https://api.acme.com/hooks/ringmail was disabled after too many failed deliveries.', href: `/dashboard/webhooks/${uuid('4400', 0)}` },
    { severity: 'red', text: 'The DNS records of news.acme.com are wrong or missing.', href: `/dashboard/domains/${uuid('d0d0', 3)}` },
    { severity: 'amber', text: 'The webhook https://hooks.example.net/mail has failed for 58 min: its last response was 503. It is disabled after 20 exhausted deliveries in a row; 7 so far.', href: `/dashboard/webhooks/${uuid('4400', 1)}` },
    { severity: 'amber', text: '1204 groups of recipients wait in the queue, the oldest for 3 h 12 min.', href: '/dashboard/queue' },
    { severity: 'amber', text: 'Domain records: notify.acme.com: the MX record of send.notify.acme.com leads to mail.oldhost.example', href: '/dashboard/health' },
  ];
  return { json: { attention: state === 'one' ? attention.slice(0, 1) : attention, queue: { waiting: 1204, oldest_s: 192 * 60, paused: false }, webhooks: { disabled: 1, failing: 1 }, domains: { unverified: 2 }, health: 'warning', last: EMAILS.slice(0, state === 'one' || state === 'capture' ? 1 : 8) } };
}
