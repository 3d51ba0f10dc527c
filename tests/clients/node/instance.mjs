// The request log, without secrets, and the usage.
import { UUID, assert, until } from './check.mjs';

export async function redaction(suite) {
  await suite.check('logs.get', 'neither content nor tokens are stored', async () => {
    const content = `content-${crypto.randomUUID()}`;
    await suite.data('emails.send', { from: 'sender@example.com', to: 'one@example.net', subject: 'logs', text: content, html: content });
    const key = await suite.data('apiKeys.create', { name: 'Node logged' });
    for (const [endpoint, secret] of [['/emails', content], ['/api-keys', key.token]]) {
      const isIt = (log) => log.method === 'POST' && log.endpoint === endpoint;
      const page = await until(() => suite.data('logs.list'), ({ data }) => data.some(isIt));
      const log = await suite.data('logs.get', page.data.find(isIt).id);
      assert.equal(JSON.stringify(log).includes(secret), false);
    }
    await suite.data('apiKeys.remove', key.id);
  });
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
      // The counts start at 0 if midnight is between the two responses.
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
