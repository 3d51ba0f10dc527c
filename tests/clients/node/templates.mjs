// Templates: drafts and published versions, and the emails that are rendered from them.
import { TIMESTAMP, UNKNOWN_ID, UUID, assert } from './check.mjs';

const FROM = 'Example Sender <sender@example.com>';
const ALIAS = 'node-welcome';
const SOURCE = {
  name: 'Node welcome', alias: ALIAS, subject: 'Welcome {{{NAME}}}',
  html: '<p>Hello {{{NAME}}}, you have {{{COUNT|no}}} letters</p>', text: 'Hello {{{NAME}}}, you have {{{COUNT|no}}} letters',
};

export async function templates(suite) {
  const id = await drafts(suite);
  if (!id) return;
  await refusals(suite);
  await publishing(suite, id);
  await sends(suite);
  await suite.check('templates.remove', 'by alias and by id, then 404', async () => {
    assert.deepEqual(await suite.data('templates.remove', ALIAS), { object: 'template', id, deleted: true });
    await suite.refused(404, 'not_found', 'templates.remove', id);
    await suite.refused(404, 'not_found', 'templates.get', ALIAS);
  });
}

async function drafts(suite) {
  let id;
  await suite.check('templates.create', 'a draft', async () => {
    const created = await suite.data('templates.create', SOURCE);
    assert.equal(created.object, 'template');
    assert.match(created.id, UUID);
    ({ id } = created);
  });
  await suite.check('templates.get', 'every field, by id and by alias; an unknown one is 404', async () => {
    for (const key of [id, ALIAS]) {
      const { created_at, updated_at, current_version_id, has_unpublished_versions, ...read } = await suite.data('templates.get', key);
      assert.match(created_at, TIMESTAMP);
      assert.match(updated_at, TIMESTAMP);
      assert.match(current_version_id, UUID);
      assert.equal(typeof has_unpublished_versions, 'boolean');
      assert.deepEqual(read, {
        object: 'template', id, name: 'Node welcome', alias: ALIAS, status: 'draft', published_at: null, subject: SOURCE.subject,
        html: SOURCE.html, text: SOURCE.text, from: null, reply_to: null, variables: [],
      });
    }
    assert.equal((await suite.refused(404, 'not_found', 'templates.get', UNKNOWN_ID)).message, 'Template not found');
    await suite.refused(404, 'not_found', 'templates.get', 'node-unknown');
  });
  await suite.check('templates.update', 'by alias and by id; a new alias; absent fields stay', async () => {
    assert.deepEqual(await suite.data('templates.update', ALIAS, { name: 'Node letter', alias: 'node-letter' }), { object: 'template', id });
    await suite.refused(404, 'not_found', 'templates.get', ALIAS);
    await suite.data('templates.update', id, { name: SOURCE.name, alias: ALIAS });
    const read = await suite.data('templates.get', ALIAS);
    assert.deepEqual([read.name, read.html, read.subject], [SOURCE.name, SOURCE.html, SOURCE.subject]);
  });
  await suite.check('templates.list', 'newest first, limit and cursors', async () => {
    const other = (await suite.data('templates.create', { name: 'Node other', html: '<p>Other</p>' })).id;
    const page = await suite.data('templates.list');
    assert.equal(page.object, 'list');
    assert.deepEqual(page.data.slice(0, 2).map((row) => [row.id, row.name, row.alias, row.status, row.published_at]), [
      [other, 'Node other', null, 'draft', null],
      [id, SOURCE.name, ALIAS, 'draft', null],
    ]);
    assert.match(page.data[0].created_at, TIMESTAMP);
    assert.match(page.data[0].updated_at, TIMESTAMP);
    const newest = await suite.data('templates.list', { limit: 1 });
    assert.deepEqual([newest.has_more, newest.data[0].id], [true, other]);
    assert.equal((await suite.data('templates.list', { limit: 1, after: other })).data[0].id, id);
    assert.equal((await suite.data('templates.list', { limit: 1, before: id })).data[0].id, other);
    await suite.data('templates.remove', other);
  });
  return id;
}

async function refusals(suite) {
  const { alias, ...plain } = SOURCE;
  await suite.check('templates.create', 'an alias that is taken is 409', async () => {
    await suite.refused(409, 'validation_error', 'templates.create', SOURCE);
    const other = (await suite.data('templates.create', plain)).id;
    await suite.refused(409, 'validation_error', 'templates.update', other, { alias });
    await suite.data('templates.remove', other);
  });
  await suite.check('templates.create', 'no name and no html are 422', async () => {
    const unnamed = await suite.refused(422, 'missing_required_field', 'templates.create', { html: '<p>a</p>' });
    assert.equal(unnamed.message, 'Missing `name` field.');
    const empty = await suite.refused(422, 'missing_required_field', 'templates.create', { name: 'Node' });
    assert.equal(empty.message, 'Missing `html` field.');
  });
  await suite.check('templates.create', 'null and empty `from`, `replyTo` and `variables`', async () => {
    const { id } = await suite.data('templates.create', { ...plain, from: null, replyTo: null, variables: [] });
    await suite.data('templates.remove', id);
  });
  const variables = [{ key: 'NAME', type: 'string', fallbackValue: 'you' }];
  for (const [field, value] of Object.entries({ from: FROM, replyTo: ['reply@example.com'], variables })) {
    await suite.mustFail(422, 'validation_error', `a template does not store ${field}`, 'templates.create', { ...plain, [field]: value });
    await suite.mustFail(422, 'validation_error', `a template does not store ${field}`, 'templates.update', ALIAS, { [field]: value });
  }
}

async function publishing(suite, id) {
  const html = async (variables = { NAME: 'Ada' }) => (await rendered(suite, { template: { id: ALIAS, variables } })).html;
  await suite.check('emails.send', 'a template that is not published is 422', async () => {
    const message = { from: FROM, to: 'one@example.net', template: { id: ALIAS, variables: { NAME: 'Ada' } } };
    await suite.refused(422, 'validation_error', 'emails.send', message);
  });
  await suite.check('templates.publish', 'by alias and by id; a change needs another one', async () => {
    assert.deepEqual(await suite.data('templates.publish', ALIAS), { object: 'template', id });
    const published = await suite.data('templates.get', id);
    assert.match(published.published_at, TIMESTAMP);
    assert.deepEqual([published.status, published.has_unpublished_versions], ['published', false]);
    await suite.data('templates.update', id, { html: '<p>Dear {{{NAME}}}</p>' });
    const edited = await suite.data('templates.get', id);
    assert.deepEqual([edited.status, edited.has_unpublished_versions], ['published', true]);
    assert.match(await html(), /Hello Ada, you have no letters/);
    await suite.data('templates.publish', id);
    assert.match(await html(), /Dear Ada/);
    await suite.data('templates.update', id, { html: SOURCE.html });
    await suite.data('templates.publish', id);
    await suite.refused(404, 'not_found', 'templates.publish', UNKNOWN_ID);
  });
  await suite.check('templates.duplicate', 'a draft without the alias, published in a chain', async () => {
    const copy = await suite.data('templates.duplicate', ALIAS);
    assert.equal(copy.object, 'template');
    const read = await suite.data('templates.get', copy.id);
    assert.deepEqual([read.alias, read.status, read.html, read.text, read.subject], [null, 'draft', SOURCE.html, SOURCE.text, SOURCE.subject]);
    const chained = await suite.client.templates.duplicate(id).publish();
    assert.equal(chained.error, null);
    assert.equal((await suite.data('templates.get', chained.data.id)).status, 'published');
    for (const one of [copy.id, chained.data.id]) await suite.data('templates.remove', one);
    await suite.refused(404, 'not_found', 'templates.duplicate', UNKNOWN_ID);
  });
  await suite.check('templates.create', 'published in a chain', async () => {
    const { data, error } = await suite.client.templates.create({ name: 'Node chain', html: '<p>a</p>' }).publish();
    assert.equal(error, null);
    assert.equal((await suite.data('templates.get', data.id)).status, 'published');
    await suite.data('templates.remove', data.id);
  });
}

/** Sends an email, and returns it. */
async function rendered(suite, fields) {
  const { id } = await suite.data('emails.send', { from: FROM, to: 'one@example.net', ...fields });
  return suite.data('emails.get', id);
}

async function sends(suite) {
  const name = '<b>Ada & Co</b>';
  await suite.check('emails.send', 'a template: escaped in html, raw in text, on one line in the subject', async () => {
    const email = await rendered(suite, { template: { id: ALIAS, variables: { NAME: name, COUNT: 3 } } });
    assert.match(email.html, /Hello &lt;b&gt;Ada &amp; Co&lt;\/b&gt;, you have 3 letters/);
    assert.match(email.text, /Hello <b>Ada & Co<\/b>, you have 3 letters/);
    assert.equal(email.subject, `Welcome ${name}`);
    const broken = await rendered(suite, { template: { id: ALIAS, variables: { NAME: 'Ada\r\nBcc: b@example.net' } } });
    assert.doesNotMatch(broken.subject, /[\r\n]/);
  });
  await suite.check('emails.send', 'a value is not searched for fields', async () => {
    const email = await rendered(suite, { template: { id: ALIAS, variables: { NAME: '{{{COUNT}}}', COUNT: 3 } } });
    assert.ok(email.text.includes('Hello {{{COUNT}}}, you have 3 letters'), email.text);
  });
  await suite.check('emails.send', 'the subject of the email replaces that of the template', async () => {
    const email = await rendered(suite, { subject: 'Own subject', template: { id: ALIAS, variables: { NAME: 'Ada' } } });
    assert.equal(email.subject, 'Own subject');
  });
  const message = { from: FROM, to: 'one@example.net' };
  for (const [note, status, errorName, body, pattern] of [
    ['a field without a value or fallback', 422, 'validation_error', { ...message, template: { id: ALIAS } }, /NAME/],
    ['html beside a template', 422, 'validation_error', { ...message, html: '<p>a</p>', template: { id: ALIAS, variables: { NAME: 'a' } } }, /template/],
    ['text beside a template', 422, 'validation_error', { ...message, text: 'a', template: { id: ALIAS, variables: { NAME: 'a' } } }, /template/],
    ['a value that is an object', 422, 'validation_error', { ...message, template: { id: ALIAS, variables: { NAME: {} } } }, /variables/],
    ['an unknown template', 404, 'not_found', { ...message, template: { id: UNKNOWN_ID } }, /^Template not found$/],
    ['an unknown alias', 404, 'not_found', { ...message, template: { id: 'node-unknown' } }, /^Template not found$/],
  ]) {
    await suite.check('emails.send', `${note} is ${status} ${errorName}`, async () => {
      assert.match((await suite.refused(status, errorName, 'emails.send', body)).message, pattern);
    });
  }
  await suite.check('batch.send', 'templates with different values; a missing one names the item', async () => {
    const item = (NAME) => ({ ...message, template: { id: ALIAS, variables: { NAME } } });
    const { data } = await suite.data('batch.send', [item('Ada'), item('Bob')]);
    const texts = [];
    for (const { id } of data) texts.push((await suite.data('emails.get', id)).text);
    assert.deepEqual(texts.map((text) => text.match(/Hello (\w+)/)[1]), ['Ada', 'Bob']);
    const refused = await suite.refused(422, 'validation_error', 'batch.send', [item('Ada'), { ...message, template: { id: ALIAS } }]);
    assert.match(refused.message, /^emails\.1: .*NAME/);
  });
  await suite.check('emails.send', 'the unsubscribe placeholders need no value', async () => {
    const alias = 'node-unsubscribe';
    const html = '<p><a href="{{{UNSUBSCRIBE_URL}}}">a</a> <a href="{{{RESEND_UNSUBSCRIBE_URL}}}">b</a></p>';
    const { data } = await suite.client.templates.create({ name: 'Node unsubscribe', alias, subject: 'Links', html }).publish();
    await rendered(suite, { template: { id: alias } });
    await suite.data('templates.remove', data.id);
  });
}
