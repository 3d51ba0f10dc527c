// Tests the official command line client, unmodified, against a running server: every subcommand of GROUPS.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contactProperties, contacts, segments, suppressions, topics } from './audience.mjs';
import { broadcasts, templates } from './broadcasts.mjs';
import { logs, webhooks } from './webhooks.mjs';
import { NO_ENDPOINT, Suite, UNKNOWN_ID, UUID, assert, inHours, until } from '../node/check.mjs';

const PROGRAM = join(process.env.CLIENT_DIR, 'node_modules/resend-cli/dist/cli.cjs');
const FROM = 'Example Sender <sender@example.com>';
const GROUPS = [
  'emails', 'domains', 'api-keys', 'contacts', 'contact-properties', 'topics', 'segments', 'suppressions', 'broadcasts', 'templates',
  'webhooks', 'logs',
];
// Commands that open a page of the hosted service and send no request.
const LOCAL = ['logs open', 'broadcasts open', 'templates open'];
const MESSAGE = ['--from', FROM, '--to', 'one@example.net', '--subject', 'cli', '--text', 'hello from the cli suite'];

class CliSuite extends Suite {
  constructor() {
    super('cli');
    this.key = process.env.RESEND_API_KEY;
  }

  withKey(key) {
    const other = Object.create(this);
    other.key = key;
    return other;
  }

  /** Runs `resend <command> <args…>` and records that the command was called. */
  resend(command, ...args) {
    this.called.add(command);
    const { status, stdout, stderr, error } = spawnSync(process.execPath, [PROGRAM, ...command.split(' '), ...args, '--json'], {
      encoding: 'utf8', timeout: 60_000, env: { ...process.env, RESEND_API_KEY: this.key },
    });
    if (error) throw error;
    return { status, stdout, stderr };
  }

  /** Starts a command that runs until it gets a signal. */
  start(command, ...args) {
    this.called.add(command);
    return spawn(process.execPath, [PROGRAM, ...command.split(' '), ...args, '--json'], {
      env: { ...process.env, RESEND_API_KEY: this.key }, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000,
    });
  }

  /** Returns the JSON that a successful command prints. */
  data(command, ...args) {
    const { status, stdout, stderr } = this.resend(command, ...args);
    assert.equal(status, 0, stderr || stdout);
    return JSON.parse(stdout);
  }

  /**
   * Returns the message of a command that the server refuses. The CLI prints it as JSON with the
   * status. The name of the error is in a line that the SDK logs before.
   */
  refused(statusCode, name, command, ...args) {
    const { status, stdout, stderr } = this.resend(command, ...args);
    assert.notEqual(status, 0, `accepted: ${stdout}`);
    const { error } = JSON.parse(stderr.slice(stderr.indexOf('{\n  "error"')));
    // `receiving listen` prints only the message.
    if (error.statusCode !== undefined) assert.equal(error.statusCode, statusCode, error.message);
    assert.match(stderr, new RegExp(`statusCode: ${statusCode}\\b`), stderr);
    assert.match(stderr, new RegExp(`name: '${name}'`), stderr);
    return error.message;
  }

  mustFail(statusCode, name, note, command, ...args) {
    try {
      const message = this.refused(statusCode, name, command, ...args);
      if (statusCode === 404) assert.equal(message, NO_ENDPOINT);
      this.pass(`${command} must fail: ${statusCode} ${name} (${note})`);
    } catch (error) {
      this.fail(command, note, error);
    }
  }
}

const suite = new CliSuite();
const folder = mkdtempSync(join(tmpdir(), 'ringmail-cli-'));
const file = (name, content) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
try {
  const parts = [
    sending, batches, reading, mustFail, domains, apiKeys, contactProperties, topics, segments, contacts, suppressions, broadcasts, templates,
    webhooks, logs,
  ];
  for (const part of parts) {
    await suite.part(part, file);
  }
  suite.cover(leaves(suite.data('commands')));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
suite.finish();

/** Returns the commands without subcommands from the list that the CLI prints. */
function leaves(tree) {
  const walk = (node, path) =>
    node.subcommands?.length ? node.subcommands.flatMap((child) => walk(child, [...path, child.name])) : [path.join(' ')];
  return tree.subcommands
    .filter((node) => GROUPS.includes(node.name))
    .flatMap((node) => walk(node, [node.name]))
    .filter((command) => !LOCAL.includes(command));
}

async function sending() {
  const forms = {
    'text': [],
    'html and text': ['--html', '<p>hello</p>'],
    'html from a file': ['--html-file', file('body.html', '<p>hello</p>')],
    'several recipients, cc, bcc and reply-to': ['--to', 'two@example.net', '--cc', 'cc@example.net', '--bcc', 'bcc@example.net', '--reply-to', 'reply@example.com'],
    'headers and tags': ['--headers', 'X-Entity-Ref-ID=cli-1', '--tags', 'suite=cli', 'kind=check'],
  };
  for (const [note, args] of Object.entries(forms)) {
    await suite.check('emails send', note, () => assert.match(suite.data('emails send', ...MESSAGE, ...args).id, UUID));
  }
  await suite.check('emails send', 'the same idempotency key returns the same id, another payload is 409', () => {
    const key = ['--idempotency-key', `cli-${crypto.randomUUID()}`];
    const first = suite.data('emails send', ...MESSAGE, ...key);
    assert.deepEqual(suite.data('emails send', ...MESSAGE, ...key), first);
    suite.refused(409, 'invalid_idempotent_request', 'emails send', ...MESSAGE, '--html', '<p>changed</p>', ...key);
  });
  await suite.check('emails attachments', 'a file and base64, listed and read', () => {
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255]);
    const spec = `${file('bytes.bin', bytes)};type=application/octet-stream`;
    const list = file('attachments.json', JSON.stringify([{ filename: 'more.bin', content: bytes.toString('base64') }]));
    const { id } = suite.data('emails send', ...MESSAGE, '--attachment', spec, '--attachments-file', list);
    const { object, has_more, data } = suite.data('emails attachments', id);
    assert.deepEqual([object, has_more, data.map((row) => row.filename).sort()], ['list', false, ['bytes.bin', 'more.bin']]);
    for (const row of data) {
      assert.deepEqual([row.size, row.download_url, row.expires_at], [6, null, null]);
      assert.equal(suite.data('emails attachment', id, row.id).content, bytes.toString('base64'));
    }
    assert.equal(suite.data('emails attachments', id, '--limit', '1').has_more, true);
    suite.refused(404, 'not_found', 'emails attachment', id, UNKNOWN_ID);
  });
  await suite.check('emails update', 'scheduled by ISO 8601, then rescheduled', () => {
    const { id } = suite.data('emails send', ...MESSAGE, '--scheduled-at', inHours(1));
    const moved = inHours(2);
    assert.deepEqual(suite.data('emails update', id, '--scheduled-at', moved), { object: 'email', id });
    const { last_event, scheduled_at } = suite.data('emails get', id);
    assert.deepEqual([last_event, Date.parse(scheduled_at)], ['scheduled', Date.parse(moved)]);
  });
  await suite.check('emails cancel', 'scheduled in English, then canceled once', () => {
    const { id } = suite.data('emails send', ...MESSAGE, '--scheduled-at', 'in 1 hour');
    assert.deepEqual(suite.data('emails cancel', id), { object: 'email', id });
    assert.equal(suite.data('emails get', id).last_event, 'canceled');
    suite.refused(422, 'validation_error', 'emails cancel', id);
  });
  for (const [note, status, name, pattern, args] of [
    ['from is not an address', 422, 'validation_error', /`from`/, ['--from', 'not an address']],
    ['an unverified domain', 403, 'validation_error', /The example\.org domain is not verified\./, ['--from', 'sender@example.org']],
    ['51 recipients', 422, 'validation_error', /50/, ['--cc', ...Array.from({ length: 50 }, (_, index) => `cc${index}@example.net`)]],
    ['only suppressed recipients', 422, 'all_recipients_suppressed', /All recipients are suppressed/, ['--to', 'suppressed@resend.dev']],
  ]) {
    await suite.check('emails send', `${note} is ${status} ${name}`, () => {
      const base = args[0] === '--to' ? MESSAGE.filter((_, index) => index < 2 || index > 3) : MESSAGE;
      assert.match(suite.refused(status, name, 'emails send', ...base, ...args), pattern);
    });
  }
}

async function batches() {
  const message = (subject) => ({ from: FROM, to: ['one@example.net'], subject, text: 'hello from the cli suite' });
  const batch = (name, ...emails) => ['--file', file(name, JSON.stringify(emails))];
  await suite.check('emails batch', 'two emails, and the same ids again under one idempotency key', () => {
    const args = [...batch('two.json', message('one'), message('two')), '--idempotency-key', `cli-${crypto.randomUUID()}`];
    const first = suite.data('emails batch', ...args);
    const ids = (response) => (response.data ?? response).map((row) => row.id);
    assert.equal(ids(first).length, 2);
    assert.deepEqual(ids(suite.data('emails batch', ...args)), ids(first));
  });
  const mixed = batch('mixed.json', message('good'), { ...message('bad'), to: ['not an address'] });
  await suite.check('emails batch', 'strict: one bad item refuses the batch and names it', () => {
    assert.match(suite.refused(422, 'validation_error', 'emails batch', ...mixed, '--batch-validation', 'strict'), /^emails\.1: /);
  });
  await suite.check('emails batch', 'permissive: valid items are accepted, others are listed', () => {
    const response = suite.data('emails batch', ...mixed, '--batch-validation', 'permissive');
    assert.deepEqual([response.data.length, response.errors.map((row) => row.index)], [1, [1]]);
  });
}

async function reading() {
  await suite.check('emails get', 'every field, and last_event reaches delivered', async () => {
    const { id } = suite.data('emails send', ...MESSAGE, '--html', '<p>hello</p>', '--cc', 'cc@example.net');
    const email = await until(() => suite.data('emails get', id), (read) => read.last_event === 'delivered');
    const { object, from, to, cc, bcc, subject, html, text } = email;
    assert.deepEqual({ object, from, to, cc, bcc, subject, html, text }, {
      object: 'email', from: FROM, to: ['one@example.net'], cc: ['cc@example.net'], bcc: null, subject: 'cli',
      html: '<p>hello</p>', text: 'hello from the cli suite',
    });
    assert.equal(suite.refused(404, 'not_found', 'emails get', UNKNOWN_ID), 'Email not found');
  });
  await suite.check('emails list', 'newest first, limit, after and before', () => {
    const ids = [1, 2, 3].map(() => suite.data('emails send', ...MESSAGE).id).reverse();
    const page = suite.data('emails list', '--limit', '2');
    assert.deepEqual([page.object, page.has_more, page.data.map((row) => row.id)], ['list', true, ids.slice(0, 2)]);
    assert.equal(suite.data('emails list', '--limit', '1', '--after', ids[1]).data[0].id, ids[2]);
    assert.equal(suite.data('emails list', '--limit', '1', '--before', ids[1]).data[0].id, ids[0]);
    suite.refused(422, 'validation_error', 'emails list', '--after', UNKNOWN_ID);
  });
  await suite.check('emails metrics', 'the outcomes are counted by domain', () => {
    const { object, totals, data } = suite.data('emails metrics', '--metrics', 'sent,delivery_rate', '--dimensions', 'domain');
    assert.equal(object, 'metrics');
    assert.ok(totals.sent > 0 && totals.delivery_rate <= 100);
    assert.ok(data.some((row) => row.domain_name === 'example.com' && row.sent > 0));
    suite.refused(422, 'validation_error', 'emails metrics', '--timezone', 'Nowhere/Else');
  });
}

async function mustFail() {
  const { id } = suite.data('emails send', ...MESSAGE);
  for (const row of [
    [404, 'not_found', 'no shared links', 'emails share', id, '--expires-in', '10m'],
    [404, 'not_found', 'no inbound mail', 'emails receiving list'],
    [404, 'not_found', 'no inbound mail', 'emails receiving get', UNKNOWN_ID],
    [404, 'not_found', 'no inbound mail', 'emails receiving listen'],
    [404, 'not_found', 'no inbound mail', 'emails receiving attachments', UNKNOWN_ID],
    [404, 'not_found', 'no inbound mail', 'emails receiving attachment', UNKNOWN_ID, UNKNOWN_ID],
    [404, 'not_found', 'no inbound mail', 'emails receiving forward', UNKNOWN_ID, '--to', 'one@example.net', '--from', FROM],
    [422, 'validation_error', 'a remote attachment is never fetched', 'emails send', ...MESSAGE, '--attachment', 'https://example.com/a.txt;filename=a.txt'],
    [422, 'validation_error', 'inline images', 'emails send', ...MESSAGE, '--attachment', `${file('a.png', 'png')};cid=logo`],
  ]) {
    suite.mustFail(...row);
  }
}

async function domains() {
  const name = 'cli-client.example.org';
  let created;
  await suite.check('domains create', 'a new domain with its records', () => {
    created = suite.data('domains create', '--name', name, '--region', 'us-east-1', '--custom-return-path', 'bounce', '--tls', 'opportunistic', '--sending');
    assert.deepEqual([created.object, created.name, created.status], ['domain', name, 'not_started']);
    assert.ok(['SPF', 'DKIM'].every((kind) => created.records.some((row) => row.record === kind)));
    assert.match(suite.refused(403, 'validation_error', 'domains create', '--name', name), /has been registered already/);
  });
  if (!created) return;
  const { id } = created;

  await suite.check('domains list', 'newest first, limit and cursors', () => {
    const page = suite.data('domains list', '--limit', '100');
    assert.equal(page.data.find((row) => row.name === 'example.com').status, 'verified');
    assert.equal(suite.data('domains list', '--limit', '1').data[0].id, id);
    assert.equal(suite.data('domains list', '--limit', '1', '--after', id).data[0].id, page.data[1].id);
    assert.equal(suite.data('domains list', '--limit', '1', '--before', page.data[1].id).data[0].id, id);
  });
  await suite.check('domains get', 'the domain with its records; an unknown id is 404', () => {
    const read = suite.data('domains get', id);
    assert.deepEqual([read.id, read.name, read.records.length], [id, name, created.records.length]);
    assert.equal(suite.refused(404, 'not_found', 'domains get', UNKNOWN_ID), 'Domain not found');
  });
  await suite.check('domains update', 'tracking on, then off', () => {
    const response = suite.data('domains update', id, '--open-tracking', '--click-tracking', '--tracking-subdomain', 'links');
    assert.deepEqual([response.object, response.id], ['domain', id]);
    const on = suite.data('domains get', id);
    assert.deepEqual([on.open_tracking, on.click_tracking], [true, true]);
    suite.data('domains update', id, '--no-open-tracking', '--no-click-tracking');
    assert.equal(suite.data('domains get', id).open_tracking, false);
  });
  await suite.check('domains verify', 'starts a check', () => {
    const response = suite.data('domains verify', id);
    assert.deepEqual([response.object, response.id], ['domain', id]);
  });
  for (const row of [
    [422, 'validation_error', 'the TLS mode is not set per domain', 'domains update', id, '--tls', 'enforced'],
    [422, 'validation_error', 'the TLS mode is not set per domain', 'domains create', '--name', 'tls.example.org', '--tls', 'enforced'],
    [422, 'validation_error', 'no inbound mail', 'domains create', '--name', 'in.example.org', '--receiving'],
    [422, 'validation_error', 'a region this server does not offer', 'domains create', '--name', 'eu.example.org', '--region', 'eu-west-1'],
    [404, 'not_found', 'no domain claims', 'domains claim create', '--name', 'claim.example.org'],
    [404, 'not_found', 'no domain claims', 'domains claim get', id],
    [404, 'not_found', 'no domain claims', 'domains claim verify', id],
  ]) {
    suite.mustFail(...row);
  }
  await suite.check('domains delete', 'deleted, then 404', () => {
    const response = suite.data('domains delete', id, '--yes');
    assert.deepEqual([response.id, response.deleted], [id, true]);
    suite.refused(404, 'not_found', 'domains get', id);
  });
}

async function apiKeys() {
  let created;
  await suite.check('api-keys create', 'a full-access key works', () => {
    created = suite.data('api-keys create', '--name', 'cli full');
    assert.match(created.token, /^rm_[A-Za-z0-9_-]{32}$/);
    suite.withKey(created.token).data('emails list', '--limit', '1');
  });
  if (!created) return;
  await suite.check('api-keys create', 'a sending-only key of one domain sends, but cannot read', () => {
    const home = suite.data('domains list').data.find((row) => row.name === 'example.com');
    const { id, token } = suite.data('api-keys create', '--name', 'cli sending', '--permission', 'sending_access', '--domain-id', home.id);
    const limited = suite.withKey(token);
    const sent = limited.data('emails send', ...MESSAGE);
    limited.refused(403, 'restricted_api_key', 'emails list');
    limited.refused(403, 'restricted_api_key', 'emails get', sent.id);
    limited.refused(403, 'restricted_api_key', 'domains list');
    suite.data('api-keys delete', id, '--yes');
  });
  await suite.check('api-keys list', 'newest first, limit and cursors', () => {
    const other = suite.data('api-keys create', '--name', 'cli other');
    const page = suite.data('api-keys list', '--limit', '2');
    assert.deepEqual(page.data.map((row) => row.id), [other.id, created.id]);
    assert.equal(suite.data('api-keys list', '--limit', '1', '--after', other.id).data[0].id, created.id);
    assert.equal(suite.data('api-keys list', '--limit', '1', '--before', created.id).data[0].id, other.id);
    suite.data('api-keys delete', other.id, '--yes');
  });
  await suite.check('api-keys update', 'renamed', () => {
    suite.data('api-keys update', created.id, '--name', 'cli renamed');
    assert.equal(suite.data('api-keys list', '--limit', '1').data[0].name, 'cli renamed');
  });
  await suite.check('api-keys delete', 'the key stops working', () => {
    const response = suite.data('api-keys delete', created.id, '--yes');
    assert.deepEqual([response.id, response.deleted], [created.id, true]);
    suite.withKey(created.token).refused(403, 'invalid_api_key', 'emails list');
    assert.equal(suite.refused(404, 'not_found', 'api-keys delete', created.id, '--yes'), 'API key not found');
  });
}
