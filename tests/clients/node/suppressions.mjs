import { TIMESTAMP, UNKNOWN_ID, UUID, assert } from './check.mjs';

const at = (name) => `node-${name}@suppressed.example.net`;

export async function suppressions(suite) {
  let added;
  await suite.check('suppressions.add', 'an address; a repeat returns the same id', async () => {
    added = await suite.data('suppressions.add', { email: at('one') });
    assert.equal(added.object, 'suppression');
    assert.match(added.id, UUID);
    const again = await suite.data('suppressions.add', { email: at('one').toUpperCase() });
    assert.equal(again.id, added.id);
    const missing = await suite.refused(422, 'missing_required_field', 'suppressions.add', {});
    assert.equal(missing.message, 'Missing `email` field.');
    await suite.refused(422, 'validation_error', 'suppressions.add', { email: 'not an address' });
  });
  if (!added) return;
  const { id } = added;

  await suite.check('suppressions.get', 'by id and by email; an unknown one is 404', async () => {
    for (const key of [id, at('one'), 'NODE-One@suppressed.example.net']) {
      const read = await suite.data('suppressions.get', key);
      assert.deepEqual([read.object, read.id, read.email, read.origin, read.source_id], ['suppression', id, at('one'), 'manual', null]);
      assert.match(read.created_at, TIMESTAMP);
    }
    assert.equal((await suite.refused(404, 'not_found', 'suppressions.get', UNKNOWN_ID)).message, 'Suppression not found');
    await suite.refused(404, 'not_found', 'suppressions.get', at('nobody'));
    await suite.refused(422, 'validation_error', 'suppressions.get', 'not-an-id');
  });
  await suite.check('suppressions.list', 'newest first, limit, cursors and origin', async () => {
    const other = await suite.data('suppressions.add', { email: at('two') });
    const page = await suite.data('suppressions.list', { limit: 2 });
    assert.equal(page.object, 'list');
    assert.deepEqual(page.data.map((row) => [row.id, row.email, row.origin]), [[other.id, at('two'), 'manual'], [id, at('one'), 'manual']]);
    assert.equal((await suite.data('suppressions.list', { limit: 1, after: other.id })).data[0].id, id);
    assert.equal((await suite.data('suppressions.list', { limit: 1, before: id })).data[0].id, other.id);
    assert.equal((await suite.data('suppressions.list', { origin: 'manual', limit: 1 })).data[0].id, other.id);
    const bounced = await suite.data('suppressions.list', { origin: 'bounce' });
    assert.ok(bounced.data.every((row) => row.origin === 'bounce'));
    await suite.refused(422, 'validation_error', 'suppressions.list', { origin: 'whim' });
  });
  await suite.check('emails.send', 'a suppressed recipient is left out; as the only recipient it is refused', async () => {
    const message = { from: 'sender@example.com', subject: 'suppressed', text: 'hello from the node suite' };
    await suite.refused(422, 'all_recipients_suppressed', 'emails.send', { ...message, to: at('one') });
    const sent = await suite.data('emails.send', { ...message, to: [at('one'), 'one@example.net'] });
    assert.deepEqual((await suite.data('emails.get', sent.id)).to, ['one@example.net']);
  });
  await suite.check('suppressions.remove', 'by id and by email, then 404', async () => {
    for (const [key, email] of [[id, at('one')], [at('two'), at('two')]]) {
      const entry = await suite.data('suppressions.get', email);
      assert.deepEqual(await suite.data('suppressions.remove', key), { object: 'suppression', id: entry.id, deleted: true });
      await suite.refused(404, 'not_found', 'suppressions.get', email);
      await suite.refused(404, 'not_found', 'suppressions.remove', key);
    }
  });
  await suite.check('suppressions.list', 'the opt-out of a deleted contact has the origin unsubscribe', async () => {
    await suite.data('contacts.create', { email: at('gone'), unsubscribed: true });
    await suite.data('contacts.remove', { email: at('gone') });
    const { data } = await suite.data('suppressions.list', { origin: 'unsubscribe', limit: 1 });
    assert.deepEqual([data[0].email, data[0].origin], [at('gone'), 'unsubscribe']);
    await suite.data('suppressions.remove', at('gone'));
  });

  await batches(suite);
}

async function batches(suite) {
  const emails = ['a', 'b', 'c'].map(at);
  let ids;
  await suite.check('suppressions.batch.add', 'ids in the order of the request; a repeated address is one row', async () => {
    const response = await suite.data('suppressions.batch.add', { emails: [...emails, emails[0].toUpperCase()] });
    assert.ok(response.data.every((row) => row.object === 'suppression'));
    ids = [...new Set(response.data.map((row) => row.id))];
    assert.equal(ids.length, 3);
    for (const [index, email] of emails.entries()) assert.equal((await suite.data('suppressions.get', email)).id, ids[index]);
    await suite.refused(422, 'validation_error', 'suppressions.batch.add', { emails: [] });
    await suite.refused(422, 'validation_error', 'suppressions.batch.add', { emails: ['not an address'] });
    const missing = await suite.refused(422, 'missing_required_field', 'suppressions.batch.add', {});
    assert.equal(missing.message, 'Missing `emails` field.');
  });
  await suite.check('suppressions.batch.remove', 'by emails or by ids, not both; unknown ones are left out', async () => {
    const byEmail = await suite.data('suppressions.batch.remove', { emails: [emails[0], at('nobody')] });
    assert.deepEqual(byEmail.data, [{ object: 'suppression', id: ids[0], deleted: true }]);
    await suite.refused(422, 'validation_error', 'suppressions.batch.remove', { emails: [emails[1]], ids: [ids[1]] });
    await suite.refused(422, 'validation_error', 'suppressions.batch.remove', { ids: ['not-an-id'] });
    const byId = await suite.data('suppressions.batch.remove', { ids: [ids[1], ids[2], UNKNOWN_ID] });
    assert.deepEqual(byId.data.map((row) => row.id), [ids[1], ids[2]]);
    for (const email of emails) await suite.refused(404, 'not_found', 'suppressions.get', email);
  });
}
