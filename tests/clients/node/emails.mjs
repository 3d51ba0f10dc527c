import { UNKNOWN_ID, UUID, TIMESTAMP, assert, inHours, until } from './check.mjs';

const FROM = 'Example Sender <sender@example.com>';
const text = 'hello from the node suite';

export async function emails(suite) {
  const sent = await sending(suite);
  await reading(suite, sent);
  await attachments(suite);
  await scheduling(suite);
  await outcomes(suite);
  await refusals(suite);
  await mustFail(suite, sent);
}

async function sending(suite) {
  const forms = {
    'text, one recipient as a string': { to: 'one@example.net', text },
    'html, one recipient in an array': { to: ['one@example.net'], html: '<p>hello</p>' },
    'html and text, several recipients': { to: ['one@example.net', 'Two <two@example.net>'], html: '<p>hello</p>', text },
    'cc, bcc and reply_to as strings': { to: 'one@example.net', cc: 'cc@example.net', bcc: 'bcc@example.net', replyTo: 'reply@example.com', text },
    'cc, bcc and reply_to as arrays': { to: 'one@example.net', cc: ['a@example.net', 'b@example.net'], bcc: ['c@example.net'], replyTo: ['r@example.com', 's@example.com'], text },
    'headers': { to: 'one@example.net', text, headers: { 'X-Entity-Ref-ID': 'node-1', 'In-Reply-To': '<1@example.com>' } },
    'tags': { to: 'one@example.net', text, tags: [{ name: 'suite', value: 'node' }, { name: 'kind', value: 'check' }] },
    'null and empty optional fields': { to: 'one@example.net', text, html: null, cc: [], bcc: [], tags: [], attachments: [], headers: {} },
    '50 recipients': { to: many('to', 20), cc: many('cc', 20), bcc: many('bcc', 10), text },
  };
  for (const [note, form] of Object.entries(forms)) {
    for (const method of ['emails.send', 'emails.create']) {
      await suite.check(method, note, async () => {
        const { id } = await suite.data(method, { from: FROM, subject: note, ...form });
        assert.match(id, UUID);
      });
    }
  }

  const key = `node-${crypto.randomUUID()}`;
  const message = { from: FROM, to: 'one@example.net', subject: 'idempotency', text };
  let sent;
  await suite.check('emails.send', 'the same idempotency key and payload return the same id', async () => {
    sent = await suite.data('emails.send', message, { idempotencyKey: key });
    const again = await suite.data('emails.send', message, { idempotencyKey: key });
    assert.equal(again.id, sent.id);
    const other = await suite.data('emails.send', message, { idempotencyKey: `${key}-2` });
    assert.notEqual(other.id, sent.id);
  });
  await suite.check('emails.send', 'the same idempotency key with another payload is 409', async () => {
    await suite.refused(409, 'invalid_idempotent_request', 'emails.send', { ...message, text: 'changed' }, { idempotencyKey: key });
  });
  await suite.check('emails.send', 'an idempotency key of 257 characters is 400', async () => {
    await suite.refused(400, 'invalid_idempotency_key', 'emails.send', message, { idempotencyKey: 'k'.repeat(257) });
  });
  return sent;
}

async function reading(suite, sent) {
  await suite.check('emails.get', 'every field, and last_event reaches delivered', async () => {
    const { id } = await suite.data('emails.send', {
      from: FROM, to: ['one@example.net', 'Two <two@example.net>'], cc: 'cc@example.net', replyTo: ['reply@example.com'],
      subject: 'fields', html: '<p>hello</p>', text, tags: [{ name: 'suite', value: 'node' }],
    });
    const email = await until(() => suite.data('emails.get', id), (read) => read.last_event === 'delivered');
    assert.match(email.created_at, TIMESTAMP);
    const { object, from, to, cc, bcc, reply_to, subject, html, scheduled_at, tags } = email;
    assert.deepEqual(
      { object, id: email.id, from, to, cc, bcc, reply_to, subject, html, text: email.text, scheduled_at, tags },
      {
        object: 'email', id, from: FROM, to: ['one@example.net', 'Two <two@example.net>'], cc: ['cc@example.net'], bcc: null,
        reply_to: ['reply@example.com'], subject: 'fields', html: '<p>hello</p>', text, scheduled_at: null,
        tags: [{ name: 'suite', value: 'node' }],
      },
    );
  });
  await suite.check('emails.get', 'an unknown id is 404, a malformed one 422', async () => {
    const unknown = await suite.refused(404, 'not_found', 'emails.get', UNKNOWN_ID);
    assert.equal(unknown.message, 'Email not found');
    const malformed = await suite.refused(422, 'validation_error', 'emails.get', 'not-an-id');
    assert.equal(malformed.message, 'The `id` must be a valid UUID.');
  });

  await suite.check('emails.list', 'newest first, limit, after and before', async () => {
    const ids = [];
    for (const subject of ['first', 'second', 'third']) {
      ids.unshift((await suite.data('emails.send', { from: FROM, to: 'one@example.net', subject, text })).id);
    }
    const page = await suite.data('emails.list', { limit: 2 });
    assert.deepEqual([page.object, page.has_more, page.data.map((row) => row.id)], ['list', true, ids.slice(0, 2)]);
    assert.deepEqual(Object.keys(page.data[0]).filter((key) => ['html', 'text', 'tags'].includes(key)), []);
    assert.equal(page.data[0].subject, 'third');
    const older = await suite.data('emails.list', { limit: 1, after: ids[1] });
    assert.deepEqual(older.data.map((row) => row.id), [ids[2]]);
    const newer = await suite.data('emails.list', { limit: 1, before: ids[1] });
    assert.deepEqual(newer.data.map((row) => row.id), [ids[0]]);
  });
  await suite.check('emails.list', 'a base URL that ends in a slash, which the SDK doubles', async () => {
    const page = await suite.withBaseUrl(`${suite.client.baseUrl}/`).data('emails.list', { limit: 1 });
    assert.equal(page.data.length, 1);
  });
  await suite.check('emails.list', '20 rows when no limit is given', async () => {
    const page = await suite.data('emails.list');
    assert.deepEqual([page.data.length, page.has_more], [20, true]);
  });
  await suite.check('emails.list', 'a limit of 0 or 101 and an unknown cursor are 422', async () => {
    await suite.refused(422, 'validation_error', 'emails.list', { limit: 0 });
    await suite.refused(422, 'validation_error', 'emails.list', { limit: 101 });
    await suite.refused(422, 'validation_error', 'emails.list', { after: UNKNOWN_ID });
    await suite.refused(422, 'validation_error', 'emails.list', { after: sent.id, before: sent.id });
  });
}

async function attachments(suite) {
  const bytes = Buffer.from([0, 1, 2, 253, 254, 255]);
  const forms = {
    'base64 text': bytes.toString('base64'),
    'a Buffer': bytes,
    ...(suite.isOlder ? {} : { 'a Uint8Array': new Uint8Array(bytes) }), // Version 5 does not encode it.
    // Releases up to 6.22 leave a Buffer to JSON.stringify.
    'a Buffer as JSON writes it': bytes.toJSON(),
  };
  for (const [note, content] of Object.entries(forms)) {
    const attached = {
      from: FROM, to: 'one@example.net', subject: 'attachment', text,
      attachments: [{ filename: 'bytes.bin', content, contentType: 'application/octet-stream' }],
    };
    await suite.check('emails.send', `an attachment as ${note}`, async () => {
      const { id } = await suite.data('emails.send', attached);
      const [{ filename, size, content_type }] = (await suite.data('emails.get', id)).attachments;
      assert.deepEqual([filename, size, content_type], ['bytes.bin', 6, 'application/octet-stream']);
    });
    await suite.check('emails.attachments.get', `content sent as ${note}`, async () => {
      const { id } = await suite.data('emails.send', attached);
      const [row] = (await suite.data('emails.attachments.list', { emailId: id })).data;
      const one = await suite.data('emails.attachments.get', { emailId: id, id: row.id });
      assert.deepEqual([one.object, one.id, one.content], ['attachment', row.id, bytes.toString('base64')]);
    });
  }
  await suite.check('emails.attachments.list', 'rows, pages, and the metadata emails.get shows', async () => {
    const { id } = await suite.data('emails.send', {
      from: FROM, to: 'one@example.net', subject: 'attachments', text,
      attachments: ['one.txt', 'two.txt'].map((filename) => ({ filename, content: Buffer.from(filename) })),
    });
    const page = await suite.data('emails.attachments.list', { emailId: id });
    assert.deepEqual([page.object, page.has_more, page.data.length], ['list', false, 2]);
    for (const row of page.data) {
      assert.match(row.id, UUID);
      assert.equal(row.content_type.split(';')[0], 'text/plain');
      const { size, content_disposition, download_url, expires_at } = row;
      assert.deepEqual({ size, content_disposition, download_url, expires_at }, { size: 7, content_disposition: 'attachment', download_url: null, expires_at: null });
    }
    assert.deepEqual(page.data.map((row) => row.filename).sort(), ['one.txt', 'two.txt']);
    const first = await suite.data('emails.attachments.list', { emailId: id, limit: 1 });
    assert.deepEqual([first.has_more, first.data[0].id], [true, page.data[0].id]);
    const email = await suite.data('emails.get', id);
    assert.deepEqual(email.attachments.map((row) => row.id).sort(), page.data.map((row) => row.id).sort());
  });
  await suite.check('emails.attachments.get', 'an unknown attachment is 404', async () => {
    const { id } = await suite.data('emails.send', { from: FROM, to: 'one@example.net', subject: 'none', text });
    await suite.refused(404, 'not_found', 'emails.attachments.get', { emailId: id, id: UNKNOWN_ID });
    assert.deepEqual((await suite.data('emails.attachments.list', { emailId: id })).data, []);
  });
}

async function scheduling(suite) {
  const schedule = async (scheduledAt) =>
    (await suite.data('emails.send', { from: FROM, to: 'one@example.net', subject: 'later', text, scheduledAt })).id;

  await suite.check('emails.update', 'scheduled by ISO 8601, then rescheduled', async () => {
    const [first, second] = [inHours(1), inHours(2)];
    const id = await schedule(first);
    const before = await suite.data('emails.get', id);
    assert.deepEqual([before.last_event, Date.parse(before.scheduled_at)], ['scheduled', Date.parse(first)]);
    assert.deepEqual(await suite.data('emails.update', { id, scheduledAt: second }), { object: 'email', id });
    const after = await suite.data('emails.get', id);
    assert.deepEqual([after.last_event, Date.parse(after.scheduled_at)], ['scheduled', Date.parse(second)]);
  });
  await suite.check('emails.cancel', 'scheduled in English, then canceled once', async () => {
    const id = await schedule('in 1 hour');
    const { scheduled_at } = await suite.data('emails.get', id);
    assert.ok(Math.abs(Date.parse(scheduled_at) - Date.now() - 3_600_000) < 60_000, scheduled_at);
    assert.deepEqual(await suite.data('emails.cancel', id), { object: 'email', id });
    assert.equal((await suite.data('emails.get', id)).last_event, 'canceled');
    await suite.refused(422, 'validation_error', 'emails.cancel', id);
    await suite.refused(422, 'validation_error', 'emails.update', { id, scheduledAt: inHours(1) });
  });
  await suite.check('emails.cancel', 'an unknown id is 404', async () => {
    await suite.refused(404, 'not_found', 'emails.cancel', UNKNOWN_ID);
    await suite.refused(404, 'not_found', 'emails.update', { id: UNKNOWN_ID, scheduledAt: inHours(1) });
  });
  await suite.check('emails.send', 'nonsense, the past and 31 days ahead are refused as scheduled_at', async () => {
    for (const scheduledAt of ['soonish', inHours(-1), inHours(31 * 24)]) {
      await suite.refused(422, 'validation_error', 'emails.send', { from: FROM, to: 'one@example.net', subject: 'later', text, scheduledAt });
    }
  });
}

async function outcomes(suite) {
  for (const [to, event] of [
    ['delivered@resend.dev', 'delivered'],
    ['bounced+label@resend.dev', 'bounced'],
    ['complained@resend.dev', 'complained'],
    ['delayed@resend.dev', 'delivery_delayed'],
  ]) {
    await suite.check('emails.send', `${to} becomes ${event}`, async () => {
      const { id } = await suite.data('emails.send', { from: FROM, to, subject: event, text });
      await until(() => suite.data('emails.get', id), (email) => email.last_event === event);
    });
  }
  if (!suite.isOlder) await suite.check('emails.metrics', 'the outcomes of this day are counted', async () => {
    const { object, totals, data } = await suite.data('emails.metrics', { dimensions: ['period'], metrics: ['sent', 'delivered', 'delivery_rate'] });
    assert.equal(object, 'metrics');
    assert.ok(totals.sent >= 4 && totals.delivered >= 2 && totals.delivery_rate > 0);
    assert.equal(data.reduce((sum, row) => sum + row.sent, 0), totals.sent);
  });
  await suite.check('emails.send', 'suppressed@resend.dev as the only recipient is refused', async () => {
    const error = await suite.refused(422, 'all_recipients_suppressed', 'emails.send', { from: FROM, to: 'suppressed@resend.dev', subject: 'suppressed', text });
    assert.equal(error.message, 'All recipients are suppressed');
  });
}

async function refusals(suite) {
  const message = { from: FROM, to: 'one@example.net', subject: 'refused', text };
  const without = (field) => ({ ...message, [field]: undefined });
  for (const [note, status, name, pattern, body] of [
    ['from is not an address', 422, 'validation_error', /`from`/, { ...message, from: 'not an address' }],
    ['to is not an address', 422, 'validation_error', /`to`/, { ...message, to: 'not an address' }],
    ['an unverified domain', 403, 'validation_error', /The example\.org domain is not verified\./, { ...message, from: 'sender@example.org' }],
    ['51 recipients', 422, 'validation_error', /50/, { ...message, to: many('to', 30), cc: many('cc', 21) }],
    ['no from', 422, 'missing_required_field', /^Missing `from` field\.$/, without('from')],
    ['no to', 422, 'missing_required_field', /^Missing `to` field\.$/, without('to')],
    ['no subject', 422, 'missing_required_field', /^Missing `subject` field\.$/, without('subject')],
    ['a header outside the allowlist', 422, 'validation_error', /Message-ID/i, { ...message, headers: { 'Message-ID': '<1@example.com>' } }],
    ['a header that smuggles a line', 422, 'validation_error', /./, { ...message, headers: { 'X-Note': 'a\r\nBcc: b@example.net' } }],
    ['an attachment that is not base64', 422, 'validation_error', /content/, { ...message, attachments: [{ filename: 'a', content: '%%%' }] }],
    ['a tag with a space', 422, 'validation_error', /tag/, { ...message, tags: [{ name: 'a b', value: 'c' }] }],
  ]) {
    await suite.check('emails.send', `${note} is ${status} ${name}`, async () => {
      const error = await suite.refused(status, name, 'emails.send', body);
      assert.match(error.message, pattern);
    });
  }
  await suite.check('emails.send', 'neither html nor text is 422', async () => {
    const { error } = await suite.call('emails.send', without('text'));
    assert.deepEqual([error?.statusCode, error?.message], [422, 'Missing `html` or `text` field.']);
  });
}

async function mustFail(suite, sent) {
  const message = { from: FROM, to: 'one@example.net', subject: 'must fail', text };
  const cases = [
    [404, 'not_found', 'no shared links', 'emails.share', sent.id, { expiresIn: '10m' }],
    [404, 'not_found', 'no inbound mail', 'emails.receiving.list'],
    [404, 'not_found', 'no inbound mail', 'emails.receiving.get', UNKNOWN_ID],
    [404, 'not_found', 'no inbound mail', 'emails.receiving.forward', { emailId: UNKNOWN_ID, to: 'one@example.net', from: FROM }],
    [404, 'not_found', 'no inbound mail', 'emails.receiving.attachments.list', { emailId: UNKNOWN_ID }],
    [404, 'not_found', 'no inbound mail', 'emails.receiving.attachments.get', { emailId: UNKNOWN_ID, id: UNKNOWN_ID }],
    [422, 'validation_error', 'a remote attachment is never fetched', 'emails.send', { ...message, attachments: [{ filename: 'a.txt', path: 'https://example.com/a.txt' }] }],
    [422, 'validation_error', 'inline images', 'emails.send', { ...message, attachments: [{ filename: 'a.png', content: 'AAAA', [suite.isOlder ? 'inlineContentId' : 'contentId']: 'logo' }] }],
  ];
  for (const row of cases) await suite.mustFail(...row);
}

const many = (name, count) => Array.from({ length: count }, (_, index) => `${name}${index}@example.net`);
