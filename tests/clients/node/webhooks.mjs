import { Receiver, hasTypes } from './receiver.mjs';
import { TIMESTAMP, UNKNOWN_ID, UUID, assert, until } from './check.mjs';

export const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
// The suite causes no open and no click, so this endpoint gets no delivery.
const ENDPOINT = 'https://hooks.example.com/node';
const EVENTS = ['email.opened', 'email.clicked'];

export async function webhooks(suite) {
  await endpoints(suite);
  const receiver = await Receiver.start();
  try {
    await deliveries(suite, receiver);
    await failures(suite, receiver);
  } finally {
    receiver.close();
  }
}

async function endpoints(suite) {
  let created;
  await suite.check('webhooks.create', 'an endpoint with its secret', async () => {
    created = await suite.data('webhooks.create', { endpoint: ENDPOINT, events: EVENTS });
    assert.equal(created.object, 'webhook');
    assert.match(created.id, UUID);
    assert.match(created.signing_secret, SECRET);
  });
  if (!created) return;
  const { id } = created;

  const unsupported = ['domain.created', 'email.received'];
  await suite.mustFail(422, 'validation_error', 'types that the server does not emit', 'webhooks.create', { endpoint: ENDPOINT, events: unsupported });
  await suite.mustFail(422, 'validation_error', 'types that the server does not emit', 'webhooks.update', id, { events: unsupported });
  await suite.check('webhooks.create', 'missing fields, unknown types and invalid URLs are 422', async () => {
    await suite.refused(422, 'missing_required_field', 'webhooks.create', { events: EVENTS });
    await suite.refused(422, 'missing_required_field', 'webhooks.create', { endpoint: ENDPOINT });
    await suite.refused(422, 'validation_error', 'webhooks.create', { endpoint: ENDPOINT, events: [] });
    await suite.refused(422, 'validation_error', 'webhooks.create', { endpoint: ENDPOINT, events: ['email.imagined'] });
    for (const endpoint of ['not a url', 'ftp://hooks.example.com/', 'https://ada:secret@hooks.example.com/']) {
      await suite.refused(422, 'validation_error', 'webhooks.create', { endpoint, events: EVENTS });
    }
  });
  await suite.check('webhooks.get', 'every field with the secret; an unknown id is 404', async () => {
    const { created_at, ...read } = await suite.data('webhooks.get', id);
    assert.match(created_at, TIMESTAMP);
    assert.deepEqual(read, {
      object: 'webhook', id, endpoint: ENDPOINT, events: read.events, status: 'enabled',
      signing_secret: created.signing_secret, previous_secret_expires_at: null,
    });
    assert.deepEqual([...read.events].sort(), [...EVENTS].sort());
    assert.equal((await suite.refused(404, 'not_found', 'webhooks.get', UNKNOWN_ID)).message, 'Webhook endpoint not found');
  });
  await suite.check('webhooks.list', 'newest first without secrets, limit and cursors', async () => {
    const other = await suite.data('webhooks.create', { endpoint: `${ENDPOINT}/other`, events: EVENTS });
    const page = await suite.data('webhooks.list');
    assert.equal(page.object, 'list');
    assert.deepEqual(page.data.slice(0, 2).map((row) => [row.id, row.endpoint, row.status]), [
      [other.id, `${ENDPOINT}/other`, 'enabled'], [id, ENDPOINT, 'enabled'],
    ]);
    assert.match(page.data[0].created_at, TIMESTAMP);
    assert.equal(JSON.stringify(page).includes('whsec_'), false);
    assert.equal((await suite.data('webhooks.list', { limit: 1, after: other.id })).data[0].id, id);
    assert.equal((await suite.data('webhooks.list', { limit: 1, before: id })).data[0].id, other.id);
    await suite.data('webhooks.remove', other.id);
  });
  await suite.check('webhooks.update', 'URL, types and status, each separately', async () => {
    for (const changes of [{ endpoint: `${ENDPOINT}/moved` }, { events: ['email.clicked'] }, { status: 'disabled' }]) {
      assert.deepEqual(await suite.data('webhooks.update', id, changes), { object: 'webhook', id });
      const read = await suite.data('webhooks.get', id);
      for (const [name, value] of Object.entries(changes)) assert.deepEqual(read[name], value);
    }
    await suite.refused(422, 'validation_error', 'webhooks.update', id, { status: 'asleep' });
    await suite.refused(422, 'validation_error', 'webhooks.update', id, { events: [] });
    await suite.refused(404, 'not_found', 'webhooks.update', UNKNOWN_ID, { status: 'enabled' });
  });
  await suite.check('webhooks.rotateSigningSecret', 'a new secret; the previous one signs for another day', async () => {
    const rotated = await suite.data('webhooks.rotateSigningSecret', id);
    assert.deepEqual([rotated.object, rotated.id], ['webhook', id]);
    assert.match(rotated.signing_secret, SECRET);
    assert.notEqual(rotated.signing_secret, created.signing_secret);
    const read = await suite.data('webhooks.get', id);
    assert.equal(read.signing_secret, rotated.signing_secret);
    const hours = (Date.parse(read.previous_secret_expires_at) - Date.now()) / 3_600_000;
    assert.ok(hours > 23.9 && hours <= 24, `${hours} hours`);
    await suite.refused(404, 'not_found', 'webhooks.rotateSigningSecret', UNKNOWN_ID);
  });
  await suite.check('webhooks.remove', 'removed, then 404', async () => {
    assert.deepEqual(await suite.data('webhooks.remove', id), { object: 'webhook', id, deleted: true });
    await suite.refused(404, 'not_found', 'webhooks.get', id);
    await suite.refused(404, 'not_found', 'webhooks.remove', id);
  });
}

async function deliveries(suite, receiver) {
  const types = ['contact.created', 'contact.deleted'];
  const { id: webhookId } = await suite.data('webhooks.create', { endpoint: receiver.url('/events'), events: types });
  const email = 'node-webhooks@customer.example.net';
  await suite.data('contacts.create', { email, firstName: 'Zoë' });
  await suite.data('contacts.remove', { email });
  let received;
  let rows;
  await suite.check('webhooks.events.list', 'the deliveries, newest first, limit and after', async () => {
    received = await receiver.until('/events', hasTypes(types));
    const page = await until(() => suite.data('webhooks.events.list', { webhookId }), ({ data }) => data.every((row) => row.status === 'success'));
    assert.deepEqual([page.object, page.has_more], ['list', false]);
    rows = page.data;
    assert.deepEqual(rows.map((row) => row.type), ['contact.deleted', 'contact.created']);
    assert.match(rows[0].created_at, TIMESTAMP);
    assert.deepEqual(rows.map((row) => row.id).sort(), received.map(({ id }) => id).sort());
    const first = await suite.data('webhooks.events.list', { webhookId, limit: 1 });
    assert.deepEqual([first.has_more, first.data.map((row) => row.id)], [true, [rows[0].id]]);
    const second = await suite.data('webhooks.events.list', { webhookId, limit: 1, after: rows[0].id });
    assert.deepEqual([second.has_more, second.data.map((row) => row.id)], [false, [rows[1].id]]);
    await suite.refused(404, 'not_found', 'webhooks.events.list', { webhookId: UNKNOWN_ID });
  });
  if (!rows) return;
  const eventId = rows[1].id;
  const { event } = received.find(({ id }) => id === eventId);

  await suite.check('webhooks.events.get', 'one event with the delivered body', async () => {
    const { created_at, ...read } = await suite.data('webhooks.events.get', { webhookId, eventId });
    assert.match(created_at, TIMESTAMP);
    assert.deepEqual(read, {
      object: 'webhook_event', id: eventId, type: 'contact.created', status: 'success', next_attempt_at: null, payload: event,
    });
    assert.equal(event.data.first_name, 'Zoë');
    await suite.refused(404, 'not_found', 'webhooks.events.get', { webhookId, eventId: UNKNOWN_ID });
  });
  await suite.check('webhooks.events.replay', 'delivered again under the same id', async () => {
    assert.deepEqual(await suite.data('webhooks.events.replay', { webhookId, eventId }), { object: 'webhook_event', id: eventId });
    const again = await receiver.until('/events', (deliveries) => deliveries.filter(({ id }) => id === eventId).length === 2);
    assert.equal(new Set(again.filter(({ id }) => id === eventId).map(({ body }) => body)).size, 1);
    await suite.refused(404, 'not_found', 'webhooks.events.replay', { webhookId, eventId: UNKNOWN_ID });
  });
  await suite.check('webhooks.events.attempts.list', 'the attempts with their responses, newest first, limit and after', async () => {
    const page = await until(() => suite.data('webhooks.events.attempts.list', { webhookId, eventId }), ({ data }) => data.length === 2);
    assert.equal(page.object, 'list');
    assert.deepEqual(page.data.map((row) => [row.http_status_code, row.response]), [[200, 'received'], [200, 'received']]);
    assert.ok(page.data[0].sent_at >= page.data[1].sent_at);
    for (const row of page.data) assert.match(row.sent_at, TIMESTAMP);
    const first = await suite.data('webhooks.events.attempts.list', { webhookId, eventId, limit: 1 });
    assert.deepEqual([first.has_more, first.data[0].id], [true, page.data[0].id]);
    const second = await suite.data('webhooks.events.attempts.list', { webhookId, eventId, limit: 1, after: page.data[0].id });
    assert.deepEqual([second.has_more, second.data[0].id], [false, page.data[1].id]);
  });
  await suite.check('webhooks.update', 'events while an endpoint is disabled are not delivered, also not after it is enabled', async () => {
    const before = receiver.at('/events').length;
    await suite.data('webhooks.update', webhookId, { status: 'disabled' });
    await suite.data('contacts.create', { email: `disabled-${email}` });
    await suite.data('webhooks.update', webhookId, { status: 'enabled' });
    await suite.data('contacts.create', { email: `enabled-${email}` });
    const since = await receiver.until('/events', (deliveries) => deliveries.length > before);
    assert.deepEqual(since.slice(before).map((delivery) => delivery.event.data.email), [`enabled-${email}`]);
  });
  await suite.data('webhooks.remove', webhookId);
  for (const address of [`disabled-${email}`, `enabled-${email}`]) await suite.data('contacts.remove', { email: address });
}

/** Checks an endpoint that responds with an error, and one that does not respond. */
async function failures(suite, receiver) {
  receiver.respond('/broken', 500, 'out of order');
  const closed = await Receiver.start();
  const nowhere = closed.url('/nowhere');
  closed.close();
  for (const [endpoint, status, response] of [[receiver.url('/broken'), 500, /^out of order$/], [nowhere, 0, /./]]) {
    await suite.check('webhooks.events.attempts.list', `a response of ${status} is shown and retried`, async () => {
      const { id: webhookId } = await suite.data('webhooks.create', { endpoint, events: ['suppression.added'] });
      const email = `node-webhooks-${status}@suppressed.example.net`;
      await suite.data('suppressions.add', { email });
      const { data } = await until(() => suite.data('webhooks.events.list', { webhookId }), (page) => page.data.length > 0);
      const event = { webhookId, eventId: data[0].id };
      const attempts = await until(() => suite.data('webhooks.events.attempts.list', event), (page) => page.data.length > 0);
      const oldest = attempts.data.at(-1);
      assert.equal(oldest.http_status_code, status);
      assert.match(oldest.response, response);
      const read = await suite.data('webhooks.events.get', event);
      assert.ok(['pending', 'attempting'].includes(read.status), read.status);
      if (read.status === 'pending') assert.match(read.next_attempt_at, TIMESTAMP);
      await suite.data('webhooks.remove', webhookId);
      await suite.data('suppressions.remove', email);
    });
  }
}
