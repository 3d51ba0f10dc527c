import { UUID, assert, until } from './check.mjs';

const FROM = 'Example Sender <sender@example.com>';

const message = (subject) => ({ from: FROM, to: ['one@example.net'], subject, text: 'hello from the node suite' });

export async function batch(suite) {
  for (const method of ['batch.send', 'batch.create']) {
    await suite.check(method, 'two emails, ids in order, both delivered', async () => {
      const { data, errors } = await suite.data(method, [message('batch one'), message('batch two')]);
      assert.equal(data.length, 2);
      assert.deepEqual(errors, []);
      for (const [index, { id }] of data.entries()) {
        assert.match(id, UUID);
        const email = await until(() => suite.data('emails.get', id), (read) => read.last_event === 'delivered');
        assert.equal(email.subject, ['batch one', 'batch two'][index]);
      }
    });
  }
  await suite.check('batch.send', '100 emails', async () => {
    const { data } = await suite.data('batch.send', Array.from({ length: 100 }, (_, index) => message(`batch ${index}`)));
    assert.equal(new Set(data.map((row) => row.id)).size, 100);
  });
  await suite.check('batch.send', 'the same idempotency key returns the same ids, another payload is 409', async () => {
    const idempotencyKey = `node-${crypto.randomUUID()}`;
    const emails = [message('once'), message('once more')];
    const first = await suite.data('batch.send', emails, { idempotencyKey });
    assert.deepEqual(await suite.data('batch.send', emails, { idempotencyKey }), first);
    await suite.refused(409, 'invalid_idempotent_request', 'batch.send', [message('changed')], { idempotencyKey });
  });
  await suite.check('batch.send', 'strict: one bad item refuses the batch and names it', async () => {
    const marker = `strict-${crypto.randomUUID()}`;
    const bad = { ...message(marker), to: ['not an address'] };
    const error = await suite.refused(422, 'validation_error', 'batch.send', [message(marker), bad]);
    assert.match(error.message, /^emails\.1: /);
    const unverified = { ...message(marker), from: 'sender@example.org' };
    const forbidden = await suite.refused(403, 'validation_error', 'batch.send', [unverified, message(marker)]);
    assert.match(forbidden.message, /^emails\.0: The example\.org domain is not verified\./);
    if (suite.isOlder) return;
    const { data } = await suite.data('emails.list', { limit: 5 });
    assert.equal(data.some((row) => row.subject === marker), false, 'an item of a refused batch was stored');
  });
  // Version 5 does not send `batchValidation`.
  if (!suite.isOlder) await suite.check('batch.send', 'permissive: valid items are accepted, others are listed', async () => {
    const { subject, ...bad } = message('left out');
    const response = await suite.data('batch.send', [message('kept'), bad, message('kept too')], { batchValidation: 'permissive' });
    assert.equal(response.data.length, 2);
    assert.deepEqual(response.errors.map((row) => row.index), [1]);
    assert.match(response.errors[0].message, /Missing `subject` field\./);
  });
  await suite.check('batch.send', 'no emails and 101 emails are 422', async () => {
    await suite.refused(422, 'validation_error', 'batch.send', []);
    await suite.refused(422, 'validation_error', 'batch.send', Array.from({ length: 101 }, () => message('too many')));
  });
}
