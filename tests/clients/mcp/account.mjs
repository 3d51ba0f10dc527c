import { UNKNOWN_ID, assert, until } from '../node/check.mjs';
import { Receiver } from '../node/receiver.mjs';
import { lineOf } from './lines.mjs';

export async function domains(suite) {
  const name = 'mcp-client.example.org';
  let id;
  await suite.check('create-domain', 'a new domain with its records', async () => {
    const created = await suite.text('create-domain', { name, region: 'us-east-1', customReturnPath: 'bounce', tls: 'opportunistic' });
    id = lineOf('ID', created);
    assert.match(created, /^SPF \(MX\):\n {2}Name: bounce/m);
    assert.match(created, /^DKIM \(TXT\):/m);
    assert.match(await suite.refused(403, 'validation_error', 'create-domain', { name }), /has been registered already/);
  });
  if (!id) return;
  await suite.check('get-domain', 'every field; an unknown id is 404', async () => {
    const read = await suite.text('get-domain', { id });
    assert.deepEqual(
      ['Name', 'Status', 'Region', 'Sending', 'Receiving'].map((field) => lineOf(field, read)),
      [name, 'not_started', 'us-east-1', 'enabled', 'disabled'],
    );
    assert.equal(await suite.refused(404, 'not_found', 'get-domain', { id: UNKNOWN_ID }), 'Domain not found');
  });
  await suite.check('list-domains', 'newest first, limit', async () => {
    assert.match(await suite.text('list-domains'), /^Name: example\.com\nID: .*\nStatus: verified$/m);
    const page = await suite.text('list-domains', { limit: 1 });
    assert.equal(lineOf('ID', page), id);
    assert.match(page, /There are more domains available/);
  });
  await suite.check('update-domain', 'tracking on', async () => {
    await suite.text('update-domain', { id, openTracking: true, clickTracking: true, trackingSubdomain: 'links' });
    const read = await suite.text('get-domain', { id });
    assert.deepEqual(['Open Tracking', 'Click Tracking'].map((field) => lineOf(field, read)), ['true', 'true']);
  });
  await suite.check('verify-domain', 'starts a check', async () => {
    assert.equal(await suite.line('ID', 'verify-domain', { id }), id);
  });
  for (const row of [
    [422, 'validation_error', 'the TLS mode is not set per domain', 'update-domain', { id, tls: 'enforced' }],
    [422, 'validation_error', 'no inbound mail', 'update-domain', { id, capabilities: { receiving: 'enabled' } }],
    [404, 'not_found', 'no domain claims', 'create-domain-claim', { name: 'claim.example.org' }],
    [404, 'not_found', 'no domain claims', 'get-domain-claim', { id }],
    [404, 'not_found', 'no domain claims', 'verify-domain-claim', { id }],
  ]) {
    await suite.mustFail(...row);
  }
  await suite.check('remove-domain', 'removed, then 404', async () => {
    assert.equal(await suite.line('ID', 'remove-domain', { id }), id);
    await suite.refused(404, 'not_found', 'get-domain', { id });
  });
}

export async function apiKeys(suite) {
  await suite.check('create-api-key', 'created, renamed, listed and removed', async () => {
    const created = await suite.text('create-api-key', { name: 'mcp key', permission: 'sending_access' });
    const id = lineOf('ID', created);
    assert.match(lineOf('Token', created), /^rm_[A-Za-z0-9_-]{32}$/);
    await suite.text('update-api-key', { id, name: 'mcp renamed' });
    const page = await suite.text('list-api-keys', { limit: 1 });
    assert.deepEqual([lineOf('ID', page), lineOf('Name', page)], [id, 'mcp renamed']);
    await suite.text('remove-api-key', { id });
    assert.equal(await suite.refused(404, 'not_found', 'remove-api-key', { id }), 'API key not found');
  });
}

export async function webhooks(suite) {
  const receiver = await Receiver.start();
  try {
    await lifeOfAnEndpoint(suite);
    await deliveries(suite, receiver);
  } finally {
    receiver.close();
  }
}

async function lifeOfAnEndpoint(suite) {
  await suite.check('create-webhook', 'created, read, changed, listed, rotated and removed', async () => {
    const created = await suite.text('create-webhook', { endpoint: 'https://hooks.example.com/mcp', events: ['email.opened'] });
    const webhookId = lineOf('ID', created);
    const secret = lineOf('Signing Secret', created);
    assert.equal(await suite.line('Signing Secret', 'get-webhook', { webhookId }), secret);
    await suite.text('update-webhook', { webhookId, events: ['email.clicked'], status: 'disabled' });
    const page = await suite.text('list-webhooks');
    assert.deepEqual(['ID', 'Status', 'Events'].map((name) => lineOf(name, page)), [webhookId, 'disabled', 'email.clicked']);
    assert.notEqual(await suite.line('Signing Secret', 'rotate-webhook-signing-secret', { webhookId }), secret);
    assert.equal(await suite.line('ID', 'remove-webhook', { webhookId }), webhookId);
    await suite.refused(404, 'not_found', 'get-webhook', { webhookId });
  });
  await suite.mustFail(422, 'validation_error', 'types that the server does not emit', 'create-webhook', {
    endpoint: 'https://hooks.example.com/mcp', events: ['email.received', 'domain.created'],
  });
}

async function deliveries(suite, receiver) {
  const webhookId = await suite.line('ID', 'create-webhook', { endpoint: receiver.url('/mcp'), events: ['suppression.added'] });
  const email = 'mcp@suppressed.example.net';
  await suite.text('add-suppression', { email });
  await suite.check('list-webhook-events', 'the delivery with its payload and its attempts, then a replay', async () => {
    const listed = await until(() => suite.text('list-webhook-events', { webhookId }), (text) => /^Status: success$/m.test(text));
    const event = { webhookId, eventId: lineOf('ID', listed) };
    const read = await suite.text('get-webhook-event', event);
    assert.deepEqual([lineOf('Type', read), lineOf('Next attempt at', read)], ['suppression.added', 'none scheduled']);
    const { data } = JSON.parse(read.slice(read.indexOf('Payload:\n') + 'Payload:\n'.length));
    assert.equal(data.email, email);
    assert.equal(await suite.line('ID', 'replay-webhook-event', event), event.eventId);
    const attempts = await until(() => suite.text('list-webhook-event-attempts', event), (text) => text.startsWith('Found 2'));
    assert.deepEqual([lineOf('HTTP status', attempts), lineOf('Response', attempts)], ['200', 'received']);
  });
  await suite.text('remove-webhook', { webhookId });
  await suite.text('remove-suppression', { idOrEmail: email });
}

export async function logs(suite) {
  await suite.check('list-logs', 'newest first; one log with its bodies', async () => {
    await suite.text('send-email', { to: ['one@example.net'], subject: 'logged', text: 'hello' });
    const page = await until(() => suite.text('list-logs', { limit: 10 }), (text) => text.includes('Endpoint: POST /emails\n'));
    const [, logId] = page.match(/ID: (.*)\nEndpoint: POST \/emails\n/);
    const log = await suite.text('get-log', { logId });
    assert.deepEqual([lineOf('ID', log), lineOf('Status', log)], [logId, '200']);
    assert.match(lineOf('User Agent', log), /^resend-mcp:/);
    assert.match(log, /"subject": "logged"/);
    await suite.refused(404, 'not_found', 'get-log', { logId: UNKNOWN_ID });
  });
}
