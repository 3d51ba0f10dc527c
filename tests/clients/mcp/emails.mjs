import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UNKNOWN_ID, UUID, assert, inHours, until } from '../node/check.mjs';
import { lineOf } from './lines.mjs';

const MESSAGE = { to: ['one@example.net'], subject: 'mcp', text: 'hello from the mcp suite' };

/** Sends an email, and returns its id. */
async function send(suite, changes) {
  const text = await suite.text('send-email', { ...MESSAGE, ...changes });
  return JSON.parse(text.slice(text.indexOf('{'))).id;
}

export async function sending(suite) {
  for (const [note, changes] of Object.entries({
    'text': {},
    'html and text, several recipients': { html: '<p>hello</p>', to: ['one@example.net', 'two@example.net'] },
    'cc, bcc, and reply-to': { cc: ['cc@example.net'], bcc: ['bcc@example.net'], replyTo: ['reply@example.com'] },
    'headers and tags': { headers: { 'X-Entity-Ref-ID': 'mcp-1' }, tags: [{ name: 'suite', value: 'mcp' }] },
  })) {
    await suite.check('send-email', note, async () => assert.match(await send(suite, changes), UUID));
  }
  await suite.check('send-email', 'the same idempotency key returns the same id', async () => {
    const idempotencyKey = `mcp-${crypto.randomUUID()}`;
    const first = await send(suite, { idempotencyKey });
    assert.equal(await send(suite, { idempotencyKey }), first);
    await suite.refused(409, 'invalid_idempotent_request', 'send-email', { ...MESSAGE, text: 'changed', idempotencyKey });
  });
}

export async function reading(suite) {
  await suite.check('get-email', 'every field, and the status reaches delivered', async () => {
    const id = await send(suite, { html: '<p>hello</p>', cc: ['cc@example.net'], bcc: ['bcc@example.net'], replyTo: ['reply@example.com'] });
    const text = await until(() => suite.text('get-email', { id }), (read) => lineOf('Status', read) === 'delivered');
    const names = ['ID', 'From', 'To', 'CC', 'BCC', 'Reply-To', 'Subject'];
    assert.deepEqual(
      names.map((name) => lineOf(name, text)),
      [id, 'Example Sender <sender@example.com>', 'one@example.net', 'cc@example.net', 'bcc@example.net', 'reply@example.com', 'mcp'],
    );
    assert.match(lineOf('Message ID', text), /^<.+@.+>$/);
    for (const content of ['hello from the mcp suite', '<p>hello</p>']) assert.ok(text.includes(`---\n${content}\n`), text);
    assert.equal(await suite.refused(404, 'not_found', 'get-email', { id: UNKNOWN_ID }), 'Email not found');
  });
  await suite.check('get-email-metrics', 'the outcomes are counted by domain', async () => {
    const text = await suite.text('get-email-metrics', { metrics: ['sent', 'delivered'], dimensions: ['domain'] });
    assert.match(text, /^- sent: [1-9]/m);
    assert.match(text, /example\.com/);
  });
  await suite.check('list-emails', 'newest first, limit, after and before', async () => {
    const ids = [];
    for (const subject of ['first', 'second', 'third']) ids.unshift(await send(suite, { subject }));
    const page = await suite.text('list-emails', { limit: 2 });
    assert.match(page, /^Found 2 email\(s\) \(more available\)/);
    assert.deepEqual([...page.matchAll(/ \| ID: (.+)$/gm)].map((row) => row[1]), ids.slice(0, 2));
    assert.match(await suite.text('list-emails', { limit: 1, after: ids[1] }), new RegExp(`"first".* ID: ${ids[2]}$`, 'm'));
    assert.match(await suite.text('list-emails', { limit: 1, before: ids[1] }), new RegExp(`"third".* ID: ${ids[0]}$`, 'm'));
  });
}

export async function attachments(suite) {
  const folder = mkdtempSync(join(tmpdir(), 'ringmail-mcp-'));
  const filePath = join(folder, 'note.txt');
  writeFileSync(filePath, 'note');
  try {
    await suite.check('list-sent-email-attachments', 'a file and base64', async () => {
      const emailId = await send(suite, {
        attachments: [{ filename: 'note.txt', filePath }, { filename: 'bytes.bin', content: 'AAEC', contentType: 'application/octet-stream' }],
      });
      const rows = await suite.text('list-sent-email-attachments', { emailId });
      const ids = new Map([...rows.matchAll(/^- (\S+) \| .* ID: (.+)$/gm)].map((row) => [row[1], row[2]]));
      assert.deepEqual([...ids.keys()].sort(), ['bytes.bin', 'note.txt']);
      assert.match(await suite.text('list-sent-email-attachments', { emailId, limit: 1 }), /^Found 1 attachment\(s\) \(more available\)/);
      const one = await suite.text('get-sent-email-attachment', { emailId, id: ids.get('bytes.bin') });
      // The server has no download URL, and the tool does not show the content.
      assert.deepEqual(
        ['Filename', 'Content Type', 'Size', 'Download URL'].map((name) => lineOf(name, one)),
        ['bytes.bin', 'application/octet-stream', '3 bytes', 'null'],
      );
      await suite.refused(404, 'not_found', 'get-sent-email-attachment', { emailId, id: UNKNOWN_ID });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function scheduling(suite) {
  await suite.check('update-email', 'scheduled in English, then by ISO 8601', async () => {
    const id = await send(suite, { scheduledAt: 'tomorrow at 9am' });
    assert.equal(await suite.line('Status', 'get-email', { id }), 'scheduled');
    const scheduledAt = inHours(2);
    await suite.text('update-email', { id, scheduledAt });
    assert.equal(Date.parse(await suite.line('Scheduled', 'get-email', { id })), Date.parse(scheduledAt));
  });
  await suite.check('cancel-email', 'canceled once', async () => {
    const id = await send(suite, { scheduledAt: 'in 1 hour' });
    await suite.text('cancel-email', { id });
    assert.equal(await suite.line('Status', 'get-email', { id }), 'canceled');
    await suite.refused(422, 'validation_error', 'cancel-email', { id });
  });
}

export async function batches(suite) {
  await suite.check('send-batch-emails', 'two emails, and the same ids again under one idempotency key', async () => {
    const batch = { emails: [MESSAGE, { ...MESSAGE, html: '<p>hello</p>' }], idempotencyKey: `mcp-${crypto.randomUUID()}` };
    const first = await suite.text('send-batch-emails', batch);
    assert.equal(lineOf('IDs', first).split(', ').length, 2);
    assert.equal(await suite.text('send-batch-emails', batch), first);
  });
  await suite.check('send-batch-emails', 'one bad item refuses the batch and names it', async () => {
    const emails = [MESSAGE, { ...MESSAGE, from: 'sender@example.org' }];
    assert.match(await suite.refused(403, 'validation_error', 'send-batch-emails', { emails }), /^emails\.1: /);
  });
}

export async function refusals(suite) {
  await suite.check('send-email', 'only suppressed recipients is 422 all_recipients_suppressed', async () => {
    await suite.refused(422, 'all_recipients_suppressed', 'send-email', { ...MESSAGE, to: ['suppressed@resend.dev'] });
  });
  const remote = [{ filename: 'a.txt', url: 'https://example.com/a.txt' }];
  const inline = [{ filename: 'a.png', content: 'AAAA', contentId: 'logo' }];
  for (const row of [
    [422, 'validation_error', 'a remote attachment is never fetched', 'send-email', { ...MESSAGE, attachments: remote }],
    [422, 'validation_error', 'inline images', 'send-email', { ...MESSAGE, attachments: inline }],
    [404, 'not_found', 'no shared links', 'share-email', { id: UNKNOWN_ID }],
    [404, 'not_found', 'no inbound mail', 'list-received-emails', {}],
    [404, 'not_found', 'no inbound mail', 'get-received-email', { id: UNKNOWN_ID }],
    [404, 'not_found', 'no inbound mail', 'list-received-email-attachments', { emailId: UNKNOWN_ID }],
    [404, 'not_found', 'no inbound mail', 'get-received-email-attachment', { emailId: UNKNOWN_ID, id: UNKNOWN_ID }],
  ]) {
    await suite.mustFail(...row);
  }
}
