import { TIMESTAMP, UNKNOWN_ID, UUID, assert, inHours } from './check.mjs';

const message = { from: 'sender@example.com', to: 'one@example.net', subject: 'keys', text: 'hello from the node suite' };

export async function apiKeys(suite) {
  await fullAccess(suite);
  await sendingOnly(suite);
  await refusals(suite);
}

async function fullAccess(suite) {
  let created;
  await suite.check('apiKeys.create', 'a full-access key works', async () => {
    created = await suite.data('apiKeys.create', { name: 'node full' });
    assert.match(created.id, UUID);
    assert.match(created.token, /^rm_[A-Za-z0-9_-]{32}$/);
    await suite.withKey(created.token).data('domains.list');
  });
  if (!created) return;

  await suite.check('apiKeys.list', 'newest first, no token, limit and cursors', async () => {
    const other = await suite.data('apiKeys.create', { name: 'node other', permission: 'full_access' });
    const page = await suite.data('apiKeys.list');
    assert.equal(page.object, 'list');
    assert.deepEqual(page.data.slice(0, 2).map((row) => row.name), ['node other', 'node full']);
    for (const row of page.data) {
      assert.match(row.created_at, TIMESTAMP);
      assert.equal(Object.hasOwn(row, 'last_used_at'), true);
      assert.equal(row.token, undefined);
    }
    assert.equal(page.data[0].last_used_at, null);
    if (!suite.isOlder) { // Version 5 sends no query.
      const newest = await suite.data('apiKeys.list', { limit: 1 });
      assert.deepEqual([newest.has_more, newest.data[0].id], [true, other.id]);
      assert.equal((await suite.data('apiKeys.list', { limit: 1, after: other.id })).data[0].id, created.id);
      assert.equal((await suite.data('apiKeys.list', { limit: 1, before: created.id })).data[0].id, other.id);
    }
    await suite.data('apiKeys.remove', other.id);
  });
  await suite.check('apiKeys.update', 'renamed', async () => {
    assert.deepEqual(await suite.data('apiKeys.update', created.id, { name: 'node renamed' }), { object: 'api_key', id: created.id });
    const { data } = await suite.data('apiKeys.list');
    assert.equal(data.find((row) => row.id === created.id).name, 'node renamed');
  });
  await suite.check('apiKeys.remove', 'the key stops working', async () => {
    assert.deepEqual(await suite.data('apiKeys.remove', created.id), { object: 'api_key', id: created.id, deleted: true });
    await suite.withKey(created.token).refused(403, 'invalid_api_key', 'domains.list');
    const gone = await suite.refused(404, 'not_found', 'apiKeys.remove', created.id);
    assert.equal(gone.message, 'API key not found');
  });
}

async function sendingOnly(suite) {
  await suite.check('apiKeys.create', 'a sending-only key sends, reschedules and cancels, but cannot read', async () => {
    const { id, token } = await suite.data('apiKeys.create', { name: 'node sending', permission: 'sending_access' });
    const limited = suite.withKey(token);
    const sent = await limited.data('emails.send', message);
    await limited.data('batch.send', [message]);
    const later = await limited.data('emails.send', { ...message, scheduledAt: inHours(1) });
    await limited.data('emails.update', { id: later.id, scheduledAt: inHours(2) });
    await limited.data('emails.cancel', later.id);
    for (const [method, ...args] of [
      ['emails.list'],
      ['emails.get', sent.id],
      ['emails.attachments.list', { emailId: sent.id }],
      ['emails.attachments.get', { emailId: sent.id, id: UNKNOWN_ID }],
      ['domains.list'],
      ['apiKeys.list'],
      ['apiKeys.create', { name: 'escalated' }],
    ]) {
      if (suite.has(method)) await limited.refused(403, 'restricted_api_key', method, ...args);
    }
    await suite.data('apiKeys.remove', id);
  });
  await suite.check('apiKeys.create', 'a key of one domain sends from that domain only', async () => {
    const { data } = await suite.data('domains.list');
    const home = data.find((row) => row.name === 'example.com');
    const away = await suite.data('domains.create', { name: 'node-keys.example.org' });
    const here = await suite.data('apiKeys.create', { name: 'node here', permission: 'sending_access', domain_id: home.id });
    const there = await suite.data('apiKeys.create', { name: 'node there', permission: 'sending_access', domain_id: away.id });
    await suite.withKey(here.token).data('emails.send', message);
    await suite.withKey(there.token).refused(403, 'restricted_api_key', 'emails.send', message);
    for (const { id } of [here, there]) await suite.data('apiKeys.remove', id);
    await suite.data('domains.remove', away.id);
  });
}

async function refusals(suite) {
  await suite.check('apiKeys.create', 'no name, an unknown permission and an unknown domain are refused', async () => {
    assert.equal((await suite.refused(422, 'missing_required_field', 'apiKeys.create', {})).message, 'Missing `name` field.');
    await suite.refused(422, 'validation_error', 'apiKeys.create', { name: 'node', permission: 'everything' });
    await suite.refused(404, 'not_found', 'apiKeys.create', { name: 'node', permission: 'sending_access', domain_id: UNKNOWN_ID });
  });
  await suite.check('emails.send', 'an unknown key is 403 invalid_api_key', async () => {
    await suite.withKey(`rm_${'A'.repeat(32)}`).refused(403, 'invalid_api_key', 'emails.send', message);
    await suite.withKey('re_123456789').refused(403, 'invalid_api_key', 'emails.send', message);
  });
}
