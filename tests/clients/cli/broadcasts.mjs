// Every subcommand of `resend broadcasts` and `resend templates`.
import { UNKNOWN_ID, UUID, assert, inHours, until } from '../node/check.mjs';

const FROM = 'Example Sender <sender@example.com>';
const ONLY_WAITING = 'Only queued or scheduled broadcasts can be canceled';
const HTML = '<p>Hello {{{FIRST_NAME|there}}}, <a href="{{{UNSUBSCRIBE_URL}}}">unsubscribe</a></p>';
const ALIAS = 'cli-welcome';
const TEMPLATE = '<p>Hello {{{NAME}}}, you have {{{COUNT|no}}} letters</p>';

export async function broadcasts(suite, file) {
  const segment = suite.data('segments create', '--name', 'Cli broadcasts').id;
  for (const name of ['ada', 'bob']) {
    suite.data('contacts create', '--email', `cli-${name}@broadcast.example.net`, '--segment-id', segment);
  }
  const draft = ['--from', FROM, '--subject', 'News for {{{FIRST_NAME|you}}}', '--segment-id', segment, '--name', 'Cli news'];
  let id;
  await suite.check('broadcasts create', 'a draft with its html from a file', () => {
    id = suite.data(
      'broadcasts create', ...draft, '--html-file', file('broadcast.html', HTML), '--preview-text', 'Preview', '--reply-to', 'reply@example.com',
    ).id;
    assert.match(id, UUID);
    suite.refused(404, 'not_found', 'broadcasts create', ...draft, '--segment-id', UNKNOWN_ID, '--text', 'Hello');
  });
  if (!id) return;

  await suite.check('broadcasts get', 'every field; an unknown id is 404', () => {
    const read = suite.data('broadcasts get', id);
    assert.deepEqual(
      [read.object, read.id, read.name, read.segment_id, read.from, read.status, read.reply_to, read.preview_text, read.html, read.text],
      ['broadcast', id, 'Cli news', segment, FROM, 'draft', ['reply@example.com'], 'Preview', HTML, null],
    );
    assert.equal(suite.refused(404, 'not_found', 'broadcasts get', UNKNOWN_ID), 'Broadcast not found');
  });
  await suite.check('broadcasts update', 'changed; absent fields stay', () => {
    suite.data('broadcasts update', id, '--name', 'Cli letters', '--text', 'Hello');
    const { name, text, html } = suite.data('broadcasts get', id);
    assert.deepEqual([name, text, html], ['Cli letters', 'Hello', HTML]);
  });
  let copy;
  await suite.check('broadcasts duplicate', 'a draft with another name', () => {
    copy = suite.data('broadcasts duplicate', id).id;
    const { name, status, html } = suite.data('broadcasts get', copy);
    assert.deepEqual([name, status, html], ['Cli letters (copy)', 'draft', HTML]);
  });
  await suite.check('broadcasts list', 'newest first, limit and cursors', () => {
    const ids = (...args) => suite.data('broadcasts list', ...args).data.map((row) => row.id);
    assert.deepEqual(ids('--limit', '2'), [copy, id]);
    assert.deepEqual(ids('--limit', '1', '--after', copy), [id]);
    assert.deepEqual(ids('--limit', '1', '--before', id), [copy]);
  });
  await suite.check('broadcasts delete', 'a draft, then 404', () => {
    assert.equal(suite.data('broadcasts delete', copy, '--yes').deleted, true);
    suite.refused(404, 'not_found', 'broadcasts get', copy);
  });
  await suite.check('broadcasts send', 'to the members of the segment; only once', async () => {
    assert.equal(suite.data('broadcasts send', id).id, id);
    const read = await until(() => suite.data('broadcasts get', id), ({ status }) => status === 'sent');
    assert.equal(read.sent_count, 2);
    suite.refused(403, 'validation_error', 'broadcasts send', id);
    suite.refused(403, 'validation_error', 'broadcasts update', id, '--name', 'Cli');
    suite.refused(403, 'validation_error', 'broadcasts delete', id, '--yes');
  });
  await suite.check('broadcasts recipients', 'each type, an address and a limit', async () => {
    const list = (type, ...args) => suite.data('broadcasts recipients', id, '--type', type, ...args);
    const { data } = await until(() => list('delivered'), (page) => page.data.length === 2);
    assert.deepEqual(data.map((row) => row.email).sort(), ['cli-ada@broadcast.example.net', 'cli-bob@broadcast.example.net']);
    assert.deepEqual(list('delivered', '--limit', '1', '--after', data[0].id).data.map((row) => row.id), [data[1].id]);
    assert.equal(list('sent', '--email', '-ada@').data.length, 1);
    assert.equal(list('bounced', '--bounce-type', 'permanent').data.length, 0);
    assert.equal(list('clicked').data.length, 0);
  });
  await suite.check('broadcasts clicked-links', 'empty without tracking', () => {
    const { object, has_more, data } = suite.data('broadcasts clicked-links', id, '--limit', '5');
    assert.deepEqual([object, has_more, data], ['list', false, []]);
  });
  await suite.check('broadcasts cancel', 'a scheduled one; a sent one is refused', () => {
    const later = suite.data('broadcasts create', ...draft, '--text', 'Hello', '--send', '--scheduled-at', inHours(2)).id;
    assert.equal(suite.data('broadcasts get', later).status, 'scheduled');
    const canceled = suite.data('broadcasts cancel', later);
    assert.deepEqual([canceled.object, canceled.id, canceled.canceled_remaining], ['broadcast', later, 2]);
    assert.equal(suite.data('broadcasts get', later).status, 'canceled');
    assert.equal(suite.refused(403, 'validation_error', 'broadcasts cancel', id), ONLY_WAITING);
  });
}

export async function templates(suite, file) {
  const source = ['--name', 'Cli welcome', '--subject', 'Welcome {{{NAME}}}', '--text', 'Hello {{{NAME}}}'];
  let id;
  await suite.check('templates create', 'a draft with its html from a file; an alias that is taken is 409', () => {
    const created = suite.data('templates create', ...source, '--html-file', file('template.html', TEMPLATE), '--alias', ALIAS);
    assert.equal(created.object, 'template');
    ({ id } = created);
    suite.refused(409, 'validation_error', 'templates create', ...source, '--html', TEMPLATE, '--alias', ALIAS);
  });
  if (!id) return;
  for (const [field, args] of Object.entries({
    from: ['--from', FROM], reply_to: ['--reply-to', 'reply@example.com'], variables: ['--var', 'NAME:string:you'],
  })) {
    suite.mustFail(422, 'validation_error', `a template does not store ${field}`, 'templates create', ...source, '--html', TEMPLATE, ...args);
  }
  await suite.check('templates get', 'by id and by alias; an unknown one is 404', () => {
    for (const key of [id, ALIAS]) {
      const read = suite.data('templates get', key);
      assert.deepEqual([read.id, read.alias, read.name, read.status, read.html], [id, ALIAS, 'Cli welcome', 'draft', TEMPLATE]);
    }
    assert.equal(suite.refused(404, 'not_found', 'templates get', UNKNOWN_ID), 'Template not found');
  });
  let copy;
  await suite.check('templates duplicate', 'a draft without the alias', () => {
    copy = suite.data('templates duplicate', ALIAS).id;
    const { alias, status, html } = suite.data('templates get', copy);
    assert.deepEqual([alias, status, html], [null, 'draft', TEMPLATE]);
  });
  await suite.check('templates list', 'newest first, limit and cursors', () => {
    const ids = (...args) => suite.data('templates list', ...args).data.map((row) => row.id);
    assert.deepEqual(ids('--limit', '2'), [copy, id]);
    assert.deepEqual(ids('--limit', '1', '--after', copy), [id]);
    assert.deepEqual(ids('--limit', '1', '--before', id), [copy]);
  });
  const send = (...args) => ['--from', FROM, '--to', 'one@example.net', '--template', ALIAS, ...args];
  await suite.check('templates publish', 'by alias, and before that a send is 422', () => {
    suite.refused(422, 'validation_error', 'emails send', ...send('--var', 'NAME=Ada'));
    assert.deepEqual(suite.data('templates publish', ALIAS), { object: 'template', id });
    assert.equal(suite.data('templates get', id).status, 'published');
  });
  await suite.check('emails send', 'a template with variables; a missing one is named', () => {
    const sent = suite.data('emails send', ...send('--var', 'NAME=Ada & Co', 'COUNT=3'));
    const { subject, html } = suite.data('emails get', sent.id);
    assert.equal(subject, 'Welcome Ada & Co');
    assert.ok(html.includes('Hello Ada &amp; Co, you have 3 letters'), html);
    assert.match(suite.refused(422, 'validation_error', 'emails send', ...send()), /NAME/);
  });
  await suite.check('emails batch', 'templates in a batch', () => {
    const emails = ['Ada', 'Bob'].map((NAME) => ({ from: FROM, to: ['one@example.net'], subject: 'cli', template: { id: ALIAS, variables: { NAME } } }));
    const rows = suite.data('emails batch', '--file', file('templates.json', JSON.stringify(emails)));
    const sent = rows.data ?? rows;
    assert.match(suite.data('emails get', sent[1].id).html, /Hello Bob/);
  });
  await suite.check('templates update', 'the published version keeps sending', () => {
    suite.data('templates update', ALIAS, '--name', 'Cli letter', '--html', '<p>Dear {{{NAME}}}</p>');
    const { id: sent } = suite.data('emails send', ...send('--var', 'NAME=Ada'));
    assert.match(suite.data('emails get', sent).html, /Hello Ada/);
    const { name, html, has_unpublished_versions } = suite.data('templates get', id);
    assert.deepEqual([name, html, has_unpublished_versions], ['Cli letter', '<p>Dear {{{NAME}}}</p>', true]);
  });
  await suite.check('templates delete', 'by id and by alias, then 404', () => {
    for (const key of [copy, ALIAS]) assert.equal(suite.data('templates delete', key, '--yes').deleted, true);
    suite.refused(404, 'not_found', 'templates get', id);
  });
}
