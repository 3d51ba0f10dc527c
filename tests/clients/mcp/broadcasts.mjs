// Tools of broadcasts and templates.
import { UNKNOWN_ID, UUID, assert, inHours, until } from '../node/check.mjs';
import { lineOf, linesOf } from './lines.mjs';

const ONLY_WAITING = 'Only queued or scheduled broadcasts can be canceled';
const HTML = '<p>Hello {{{FIRST_NAME|there}}}, <a href="{{{UNSUBSCRIBE_URL}}}">unsubscribe</a></p>';
const TEMPLATE = '<p>Hello {{{NAME}}}</p>';

export async function broadcasts(suite) {
  const segmentId = await suite.line('ID', 'create-segment', { name: 'Mcp broadcasts' });
  for (const name of ['ada', 'bob']) {
    await suite.text('create-contact', { email: `mcp-${name}@broadcast.example.net`, segmentIds: [segmentId] });
  }
  const draft = { name: 'Mcp news', segmentId, subject: 'News', html: HTML };
  let broadcastId;
  await suite.check('create-broadcast', 'a draft; an unknown segment is 404', async () => {
    broadcastId = await suite.line('ID', 'create-broadcast', { ...draft, previewText: 'Preview', replyTo: ['reply@example.com'] });
    assert.match(broadcastId, UUID);
    await suite.refused(404, 'not_found', 'create-broadcast', { ...draft, segmentId: UNKNOWN_ID });
  });
  if (!broadcastId) return;

  await suite.check('get-broadcast', 'every field; an unknown id is 404', async () => {
    const read = await suite.text('get-broadcast', { broadcastId });
    assert.deepEqual(
      ['ID', 'Name', 'Segment ID', 'From', 'Subject', 'Reply-to', 'Preview text', 'Status'].map((name) => lineOf(name, read)),
      [broadcastId, 'Mcp news', segmentId, 'Example Sender <sender@example.com>', 'News', 'reply@example.com', 'Preview', 'draft'],
    );
    assert.ok(read.includes(HTML), read);
    assert.doesNotMatch(read, /^(Scheduled|Sent) at:/m);
    assert.equal(await suite.refused(404, 'not_found', 'get-broadcast', { broadcastId: UNKNOWN_ID }), 'Broadcast not found');
  });
  await suite.check('update-broadcast', 'changed; absent fields stay', async () => {
    await suite.text('update-broadcast', { broadcastId, name: 'Mcp letters', text: 'Hello' });
    const read = await suite.text('get-broadcast', { broadcastId });
    assert.deepEqual([lineOf('Name', read), lineOf('Preview text', read)], ['Mcp letters', 'Preview']);
    assert.match(read, /--- Plain Text Content ---\nHello\n/);
  });
  let copy;
  await suite.check('duplicate-broadcast', 'a draft with another name', async () => {
    copy = await suite.line('New broadcast ID', 'duplicate-broadcast', { broadcastId });
    const read = await suite.text('get-broadcast', { broadcastId: copy });
    assert.deepEqual([lineOf('Name', read), lineOf('Status', read)], ['Mcp letters (copy)', 'draft']);
  });
  await suite.check('list-broadcasts', 'newest first', async () => {
    const page = await suite.text('list-broadcasts');
    assert.deepEqual(linesOf('ID', page).slice(0, 2), [copy, broadcastId]);
    assert.equal(lineOf('Segment ID', page), segmentId);
  });
  await suite.check('remove-broadcast', 'a draft, then 404', async () => {
    assert.equal(await suite.line('ID', 'remove-broadcast', { broadcastId: copy }), copy);
    await suite.refused(404, 'not_found', 'get-broadcast', { broadcastId: copy });
  });
  await suite.check('send-broadcast', 'to the members of the segment; only once', async () => {
    assert.equal(await suite.line('ID', 'send-broadcast', { broadcastId }), broadcastId);
    await until(() => suite.text('get-broadcast', { broadcastId }), (read) => lineOf('Status', read) === 'sent');
    await suite.refused(403, 'validation_error', 'send-broadcast', { broadcastId });
    await suite.refused(403, 'validation_error', 'remove-broadcast', { broadcastId });
  });
  await suite.check('list-broadcast-recipients', 'each type, an address and a limit', async () => {
    const list = (args) => suite.text('list-broadcast-recipients', { broadcastId, ...args });
    const delivered = await until(() => list({ type: 'delivered' }), (text) => text.startsWith('Found 2 recipients'));
    assert.deepEqual(linesOf('Email', delivered).sort(), ['mcp-ada@broadcast.example.net', 'mcp-bob@broadcast.example.net']);
    assert.match(lineOf('Contact ID', delivered), UUID);
    const [one, two] = linesOf('ID', delivered);
    assert.deepEqual(linesOf('ID', await list({ type: 'delivered', limit: 1, after: one })), [two]);
    assert.deepEqual(linesOf('Email', await list({ type: 'sent', email: '-ada@' })), ['mcp-ada@broadcast.example.net']);
    assert.equal(await list({ type: 'bounced', bounceType: 'permanent' }), 'No recipients found.');
  });
  await suite.check('list-broadcast-clicked-links', 'empty without tracking', async () => {
    assert.match(await suite.text('list-broadcast-clicked-links', { broadcastId, limit: 5 }), /^No clicked links found/);
  });
  await suite.check('cancel-broadcast', 'a scheduled one; a sent one is refused', async () => {
    const later = await suite.line('ID', 'create-broadcast', draft);
    await suite.text('send-broadcast', { broadcastId: later, scheduledAt: inHours(2) });
    assert.match(await suite.text('get-broadcast', { broadcastId: later }), /^Status: scheduled\n[^]*^Scheduled at: /m);
    assert.equal(await suite.line('ID', 'cancel-broadcast', { broadcastId: later }), later);
    assert.equal(await suite.line('Status', 'get-broadcast', { broadcastId: later }), 'canceled');
    assert.equal(await suite.refused(403, 'validation_error', 'cancel-broadcast', { broadcastId }), ONLY_WAITING);
  });
}

export async function templates(suite) {
  const alias = 'mcp-welcome';
  const source = { name: 'Mcp welcome', html: TEMPLATE, subject: 'Welcome', text: 'Hello {{{NAME}}}' };
  let id;
  await suite.check('create-template', 'a draft; an alias that is taken is 409', async () => {
    id = await suite.line('ID', 'create-template', { ...source, alias });
    assert.match(id, UUID);
    await suite.refused(409, 'validation_error', 'create-template', { ...source, alias });
  });
  if (!id) return;
  for (const [field, value] of Object.entries({
    from: 'sender@example.com', replyTo: 'reply@example.com', variables: [{ key: 'NAME', type: 'string', fallbackValue: 'you' }],
  })) {
    await suite.mustFail(422, 'validation_error', `a template does not store ${field}`, 'create-template', { ...source, [field]: value });
  }
  await suite.check('get-template', 'by id and by alias; an unknown one is 404', async () => {
    for (const key of [id, alias]) {
      const read = await suite.text('get-template', { id: key });
      assert.deepEqual(
        ['Name', 'ID', 'Status', 'Alias', 'Subject', 'From', 'Reply-to', 'Published at'].map((name) => lineOf(name, read)),
        ['Mcp welcome', id, 'draft', alias, 'Welcome', 'none', 'none', 'never'],
      );
      assert.ok(read.includes(`HTML:\n${TEMPLATE}`) && read.includes('Variables:\nnone'), read);
    }
    assert.equal(await suite.refused(404, 'not_found', 'get-template', { id: UNKNOWN_ID }), 'Template not found');
  });
  let copy;
  await suite.check('duplicate-template', 'a draft without the alias', async () => {
    copy = await suite.line('New template ID', 'duplicate-template', { id: alias });
    const read = await suite.text('get-template', { id: copy });
    assert.deepEqual([lineOf('Status', read), lineOf('Alias', read)], ['draft', 'none']);
  });
  await suite.check('list-templates', 'newest first, limit and cursors', async () => {
    const ids = async (args) => linesOf('ID', await suite.text('list-templates', args));
    assert.deepEqual(await ids({ limit: 2 }), [copy, id]);
    assert.deepEqual(await ids({ limit: 1, after: copy }), [id]);
    assert.deepEqual(await ids({ limit: 1, before: id }), [copy]);
  });
  await suite.check('publish-template', 'by alias', async () => {
    assert.equal(await suite.line('ID', 'publish-template', { id: alias }), id);
    assert.equal(await suite.line('Status', 'get-template', { id }), 'published');
  });
  await suite.check('update-template', 'by alias; absent fields stay', async () => {
    await suite.text('update-template', { id: alias, name: 'Mcp letter' });
    const read = await suite.text('get-template', { id });
    assert.deepEqual([lineOf('Name', read), lineOf('Subject', read)], ['Mcp letter', 'Welcome']);
  });
  await suite.check('remove-template', 'by id and by alias, then 404', async () => {
    assert.equal(await suite.line('ID', 'remove-template', { id: copy }), copy);
    assert.equal(await suite.line('ID', 'remove-template', { id: alias }), id);
    await suite.refused(404, 'not_found', 'get-template', { id });
  });
}
