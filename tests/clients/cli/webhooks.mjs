// Every subcommand of `resend webhooks` and `resend logs`.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { Receiver, hasTypes } from '../node/receiver.mjs';
import { TIMESTAMP, UNKNOWN_ID, UUID, assert, until } from '../node/check.mjs';

// The suite causes no open and no click, so this endpoint gets no delivery.
const ENDPOINT = 'https://hooks.example.com/cli';
const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const EMAIL = 'cli-webhooks@customer.example.net';

export async function webhooks(suite) {
  await endpoints(suite);
  const receiver = await Receiver.start();
  try {
    await deliveries(suite, receiver);
  } finally {
    receiver.close();
  }
  await listening(suite);
}

async function endpoints(suite) {
  let created;
  await suite.check('webhooks create', 'an endpoint with its secret', () => {
    created = suite.data('webhooks create', '--endpoint', ENDPOINT, '--events', 'email.opened', 'email.clicked');
    assert.equal(created.object, 'webhook');
    assert.match(created.id, UUID);
    assert.match(created.signing_secret, SECRET);
    suite.refused(422, 'validation_error', 'webhooks create', '--endpoint', ENDPOINT, '--events', 'email.imagined');
  });
  if (!created) return;
  const { id } = created;

  // `all` includes types of the hosted service that this server does not emit.
  suite.mustFail(422, 'validation_error', 'types that the server does not emit', 'webhooks create', '--endpoint', ENDPOINT, '--events', 'all');
  suite.mustFail(422, 'validation_error', 'types that the server does not emit', 'webhooks update', id, '--events', 'all');
  await suite.check('webhooks get', 'every field with the secret; an unknown id is 404', () => {
    const { endpoint, events, status, signing_secret } = suite.data('webhooks get', id);
    assert.deepEqual([endpoint, [...events].sort(), status], [ENDPOINT, ['email.clicked', 'email.opened'], 'enabled']);
    assert.equal(signing_secret, created.signing_secret);
    assert.equal(suite.refused(404, 'not_found', 'webhooks get', UNKNOWN_ID), 'Webhook endpoint not found');
  });
  await suite.check('webhooks list', 'newest first without secrets, limit and cursors', () => {
    const other = suite.data('webhooks create', '--endpoint', ENDPOINT, '--events', 'email.opened').id;
    const ids = (...args) => suite.data('webhooks list', ...args).data.map((row) => row.id);
    assert.deepEqual(ids('--limit', '2'), [other, id]);
    assert.deepEqual(ids('--limit', '1', '--after', other), [id]);
    assert.deepEqual(ids('--limit', '1', '--before', id), [other]);
    suite.data('webhooks delete', other, '--yes');
  });
  await suite.check('webhooks update', 'URL, types and status', () => {
    suite.data('webhooks update', id, '--endpoint', `${ENDPOINT}/moved`, '--events', 'email.clicked', '--status', 'disabled');
    const { endpoint, events, status } = suite.data('webhooks get', id);
    assert.deepEqual([endpoint, events, status], [`${ENDPOINT}/moved`, ['email.clicked'], 'disabled']);
  });
  await suite.check('webhooks rotate-signing-secret', 'another secret', () => {
    const rotated = suite.data('webhooks rotate-signing-secret', id);
    assert.match(rotated.signing_secret, SECRET);
    assert.notEqual(rotated.signing_secret, created.signing_secret);
    assert.equal(suite.data('webhooks get', id).signing_secret, rotated.signing_secret);
  });
  await suite.check('webhooks delete', 'deleted, then 404', () => {
    assert.deepEqual(suite.data('webhooks delete', id, '--yes'), { object: 'webhook', id, deleted: true });
    suite.refused(404, 'not_found', 'webhooks get', id);
  });
}

async function deliveries(suite, receiver) {
  const types = ['contact.created', 'contact.deleted'];
  const { id } = suite.data('webhooks create', '--endpoint', receiver.url('/events'), '--events', types.join(','));
  suite.data('contacts create', '--email', EMAIL);
  suite.data('contacts delete', EMAIL, '--yes');
  let events;
  await suite.check('webhooks events list', 'the deliveries, newest first, limit and after', async () => {
    await receiver.until('/events', hasTypes(types));
    const page = await until(() => suite.data('webhooks events list', id), ({ data }) => data.every((row) => row.status === 'success'));
    events = page.data;
    assert.deepEqual(events.map((row) => row.type), ['contact.deleted', 'contact.created']);
    const first = suite.data('webhooks events list', id, '--limit', '1');
    assert.deepEqual([first.has_more, first.data[0].id], [true, events[0].id]);
    assert.deepEqual(suite.data('webhooks events list', id, '--after', events[0].id).data.map((row) => row.id), [events[1].id]);
  });
  if (!events) return;
  const event = events[1].id;

  await suite.check('webhooks events get', 'one event with the delivered body', () => {
    const read = suite.data('webhooks events get', id, event);
    const { event: payload } = receiver.at('/events').find((delivery) => delivery.id === event);
    assert.deepEqual([read.object, read.id, read.status, read.payload], ['webhook_event', event, 'success', payload]);
    suite.refused(404, 'not_found', 'webhooks events get', id, UNKNOWN_ID);
  });
  await suite.check('webhooks events replay', 'delivered again under the same id', async () => {
    suite.data('webhooks events replay', id, event);
    await receiver.until('/events', (all) => all.filter((delivery) => delivery.id === event).length === 2);
  });
  await suite.check('webhooks events attempts', 'the attempts with their responses, limit and after', async () => {
    const { data } = await until(() => suite.data('webhooks events attempts', id, event), (page) => page.data.length === 2);
    assert.deepEqual(data.map((row) => [row.http_status_code, row.response]), [[200, 'received'], [200, 'received']]);
    assert.equal(suite.data('webhooks events attempts', id, event, '--limit', '1', '--after', data[0].id).data[0].id, data[1].id);
  });
  suite.data('webhooks delete', id, '--yes');
}

/** Checks the command that creates an endpoint, prints its events, and deletes it on SIGTERM. */
async function listening(suite) {
  await suite.check('webhooks listen', 'prints an event and deletes its endpoint', async () => {
    const port = await freePort();
    const endpoint = `http://127.0.0.1:${port}`;
    const listener = suite.start('webhooks listen', '--url', endpoint, '--port', String(port), '--events', 'suppression.added');
    let printed = '';
    let errors = '';
    listener.stdout.on('data', (chunk) => { printed += chunk; });
    listener.stderr.on('data', (chunk) => { errors += chunk; });
    const ended = once(listener, 'exit');
    const exists = () => suite.data('webhooks list', '--limit', '100').data.some((row) => row.endpoint === endpoint);
    try {
      await until(() => (listener.exitCode === null ? exists() : errors), Boolean);
      assert.equal(listener.exitCode, null, errors);
      suite.data('suppressions add', EMAIL);
      await until(() => printed, (text) => text.includes('\n'));
      assert.deepEqual([JSON.parse(printed).type, JSON.parse(printed).payload.data.email], ['suppression.added', EMAIL]);
    } finally {
      listener.kill('SIGTERM');
      await ended;
    }
    assert.equal(exists(), false);
    suite.data('suppressions delete', EMAIL, '--yes');
  });
}

/**
 * Returns a port without a listener. The command does not accept port 0. The system takes ports for connections from
 * 32768 upward, and could take a port of that range before the command listens on it.
 */
async function freePort() {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const port = randomInt(20_000, 32_768);
    const server = createServer().listen(port);
    try {
      await once(server, 'listening');
    } catch {
      continue; // Another program listens on the port.
    }
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error('no free port was found');
}

export async function logs(suite) {
  const topic = suite.data('topics create', '--name', 'Cli logs', '--default-subscription', 'opt_in');
  const isIt = (row) => row.method === 'POST' && row.endpoint === '/topics' && row.response_status === 201;
  let log;
  await suite.check('logs list', 'newest first, limit and cursors', async () => {
    const found = await until(() => suite.data('logs list', '--limit', '100'), (page) => page.data.some(isIt));
    log = found.data.find(isIt);
    assert.match(log.id, UUID);
    assert.match(log.created_at, TIMESTAMP);
    const [first, second] = suite.data('logs list', '--limit', '2').data;
    assert.equal(suite.data('logs list', '--limit', '1', '--after', first.id).data[0].id, second.id);
    assert.equal(suite.data('logs list', '--limit', '100', '--before', second.id).data.at(-1).id, first.id);
  });
  if (!log) return;
  await suite.check('logs get', 'with the request and the response; an unknown id is 404', () => {
    const { object, request_body, response_body } = suite.data('logs get', log.id);
    assert.deepEqual([object, request_body.name, response_body.id], ['log', 'Cli logs', topic.id]);
    suite.refused(404, 'not_found', 'logs get', UNKNOWN_ID);
  });
  suite.data('topics delete', topic.id, '--yes');
}
