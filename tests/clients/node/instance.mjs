// What the instance tells about itself: the log of requests, and usage.
import { TIMESTAMP, UNKNOWN_ID, UUID, assert, until } from './check.mjs';

export async function logs(suite) {
  const name = 'Node logs';
  const topic = await suite.data('topics.create', { name, defaultSubscription: 'opt_in' });
  await suite.refused(422, 'validation_error', 'topics.create', { name, defaultSubscription: 'maybe' });
  /** Waits for the row of a request, which is written after its answer. */
  const row = async (method, endpoint, status) => {
    const found = (page) => page.data.find((log) => log.method === method && log.endpoint === endpoint && log.response_status === status);
    return found(await until(() => suite.data('logs.list', { limit: 100 }), found));
  };
  let log;
  await suite.check('logs.list', 'newest first without bodies, limit and cursors', async () => {
    log = await row('POST', '/topics', 201);
    assert.match(log.id, UUID);
    assert.match(log.created_at, TIMESTAMP);
    assert.match(log.user_agent, /^resend-node:/);
    assert.deepEqual(Object.keys(log).sort(), ['created_at', 'endpoint', 'id', 'method', 'response_status', 'user_agent']);
    await row('POST', '/topics', 422);
    const page = await suite.data('logs.list', { limit: 3 });
    assert.deepEqual([page.object, page.has_more, page.data.length], ['list', true, 3]);
    const [first, second] = page.data;
    assert.equal((await suite.data('logs.list', { limit: 1, after: first.id })).data[0].id, second.id);
    assert.equal((await suite.data('logs.list', { limit: 100, before: second.id })).data.at(-1).id, first.id);
  });
  if (!log) return;
  await suite.check('logs.get', 'with what was asked and answered; an unknown id is 404', async () => {
    const { request_body, response_body, ...read } = await suite.data('logs.get', log.id);
    assert.deepEqual(read, { object: 'log', ...log });
    assert.equal(request_body.name, name);
    assert.equal(response_body.id, topic.id);
    await suite.refused(404, 'not_found', 'logs.get', UNKNOWN_ID);
  });
  await suite.check('logs.get', 'neither content nor tokens are kept', async () => {
    const content = `content-${crypto.randomUUID()}`;
    await suite.data('emails.send', { from: 'sender@example.com', to: 'one@example.net', subject: 'logs', text: content, html: content });
    const key = await suite.data('apiKeys.create', { name });
    for (const [endpoint, status, secret] of [['/emails', 200, content], ['/api-keys', 201, key.token]]) {
      const { id } = await row('POST', endpoint, status);
      assert.equal(JSON.stringify(await suite.data('logs.get', id)).includes(secret), false);
    }
    await suite.data('apiKeys.remove', key.id);
  });
  await suite.data('topics.remove', topic.id);
}

export async function usage(suite) {
  await suite.check('usage.get', 'both shapes in one object; an email counts when it is accepted', async () => {
    const before = await suite.data('usage.get');
    await suite.data('emails.send', { from: 'sender@example.com', to: 'one@example.net', subject: 'usage', text: 'hello' });
    const after = await suite.data('usage.get');
    assert.deepEqual([after.object, after.cloud, after.plan, after.limits, after.period], ['usage', false, null, null, null]);
    assert.match(after.team.id, UUID);
    assert.match(after.today.resets_at, /T00:00:00\.000Z$/);
    for (const span of ['daily', 'monthly']) {
      const { used, limit, sent, received, resets_at } = after.emails[span];
      assert.deepEqual([limit, received, sent], [null, 0, used]);
      assert.match(resets_at, /T00:00:00\.000Z$/);
      // A midnight between the two answers begins anew.
      assert.ok(sent === before.emails[span].sent + 1 || before.emails[span].resets_at !== resets_at, `${span} ${sent}`);
    }
    assert.equal(after.today.emails_sent, after.emails.daily.sent);
    for (const name of ['contacts', 'segments', 'broadcasts', 'ai_credits', 'automation_runs', 'domains']) {
      assert.ok(Number.isInteger(after[name].used), name);
    }
    assert.ok(after.domains.used >= 1);
    assert.equal(after.rate_limit.duration, '1000ms');
  });
}
