import { TIMESTAMP, UNKNOWN_ID, assert } from './check.mjs';

export async function logs(suite) {
  const topic = await suite.data('topics.create', { name: 'Node logged', defaultSubscription: 'opt_in' });
  let entry;
  await suite.check('logs.list', 'newest first, every field, limit and cursors', async () => {
    const page = await suite.data('logs.list', { limit: 1 });
    assert.deepEqual([page.object, page.has_more], ['list', true]);
    [entry] = page.data;
    assert.deepEqual([entry.method, entry.endpoint, entry.response_status], ['POST', '/topics', 201]);
    assert.match(entry.created_at, TIMESTAMP);
    assert.match(entry.user_agent, /^resend-node:/);
    const older = await suite.data('logs.list', { limit: 1, after: entry.id });
    assert.notEqual(older.data[0].id, entry.id);
    const newer = await suite.data('logs.list', { limit: 1, before: older.data[0].id });
    assert.equal(newer.data[0].id, entry.id);
  });
  await suite.check('logs.get', 'with both bodies; an unknown id is 404', async () => {
    const read = await suite.data('logs.get', entry.id);
    assert.deepEqual([read.object, read.endpoint], ['log', '/topics']);
    assert.deepEqual([read.request_body.name, read.response_body.id], ['Node logged', topic.id]);
    assert.equal((await suite.refused(404, 'not_found', 'logs.get', UNKNOWN_ID)).message, 'Log not found');
  });
  await suite.data('topics.remove', topic.id);
}
