import { UNKNOWN_ID, UUID, assert } from '../node/check.mjs';
import { lineOf, linesOf } from './lines.mjs';

const at = (name) => `mcp-${name}@customer.example.net`;

export async function contactProperties(suite) {
  await suite.check('create-contact-property', 'created, read, changed, listed and removed', async () => {
    const id = await suite.line('ID', 'create-contact-property', { key: 'mcp_city', type: 'string', fallbackValue: 'nowhere' });
    const contactPropertyId = id;
    assert.match(id, UUID);
    const read = await suite.text('get-contact-property', { contactPropertyId });
    assert.deepEqual(['Key', 'Type', 'Fallback value'].map((name) => lineOf(name, read)), ['mcp_city', 'string', 'nowhere']);
    await suite.text('update-contact-property', { contactPropertyId, fallbackValue: null });
    const page = await suite.text('list-contact-properties', { limit: 1 });
    assert.deepEqual([lineOf('ID', page), lineOf('Fallback value', page)], [id, 'none']);
    assert.equal(await suite.line('ID', 'remove-contact-property', { contactPropertyId }), id);
    await suite.refused(404, 'not_found', 'get-contact-property', { contactPropertyId });
  });
}

export async function topics(suite) {
  await suite.check('create-topic', 'created, read, changed, listed and removed', async () => {
    const id = await suite.line('ID', 'create-topic', { name: 'Mcp news', defaultSubscription: 'opt_in', description: 'News' });
    const read = await suite.text('get-topic', { id });
    assert.deepEqual(['Name', 'Description', 'Default subscription'].map((name) => lineOf(name, read)), ['Mcp news', 'News', 'opt_in']);
    await suite.text('update-topic', { id, name: 'Mcp letters' });
    assert.deepEqual(linesOf('Name', await suite.text('list-topics')), ['Mcp letters']);
    assert.equal(await suite.line('ID', 'remove-topic', { id }), id);
    await suite.refused(404, 'not_found', 'get-topic', { id });
  });
}

export async function segments(suite) {
  await suite.check('create-segment', 'created, read, renamed, listed and removed', async () => {
    const id = await suite.line('ID', 'create-segment', { name: 'Mcp segment' });
    assert.equal(await suite.line('Name', 'get-segment', { id }), 'Mcp segment');
    await suite.text('update-segment', { id, name: 'Mcp renamed' });
    assert.deepEqual(linesOf('Name', await suite.text('list-segments', { limit: 1 })), ['Mcp renamed']);
    assert.equal(await suite.line('ID', 'remove-segment', { id }), id);
    await suite.refused(404, 'not_found', 'get-segment', { id });
  });
}

export async function contacts(suite) {
  const segmentId = await suite.line('ID', 'create-segment', { name: 'Mcp contacts' });
  const topicId = await suite.line('ID', 'create-topic', { name: 'Mcp contacts', defaultSubscription: 'opt_out' });
  const email = at('contact');
  await suite.check('create-contact', 'every field; read by id and by email', async () => {
    const id = await suite.line('ID', 'create-contact', {
      email, firstName: 'Ada', lastName: 'Lovelace', unsubscribed: false, properties: { mcp_age: 36, mcp_city: 'London' },
      segmentIds: [segmentId], topics: [{ id: topicId, subscription: 'opt_in' }],
    });
    for (const key of [{ id }, { email }]) {
      const read = await suite.text('get-contact', key);
      assert.deepEqual(
        ['ID', 'Email', 'First name', 'Last name', 'Unsubscribed'].map((name) => lineOf(name, read)),
        [id, email, 'Ada', 'Lovelace', 'false'],
      );
      const properties = JSON.parse(lineOf('Properties', read));
      assert.deepEqual(properties, { mcp_age: { type: 'number', value: 36 }, mcp_city: { type: 'string', value: 'London' } });
    }
    await suite.refused(404, 'not_found', 'get-contact', { id: UNKNOWN_ID });
  });
  await suite.check('update-contact', 'by email; null clears a name and a property', async () => {
    const properties = { mcp_age: null, mcp_city: 'Paris' };
    await suite.text('update-contact', { email, firstName: null, unsubscribed: true, properties });
    const read = await suite.text('get-contact', { email });
    assert.doesNotMatch(read, /^First name/m);
    assert.deepEqual([lineOf('Last name', read), lineOf('Unsubscribed', read)], ['Lovelace', 'true']);
    assert.deepEqual(JSON.parse(lineOf('Properties', read)), { mcp_city: { type: 'string', value: 'Paris' } });
  });
  await suite.check('list-contacts', 'the members of a segment, and all', async () => {
    assert.deepEqual(linesOf('Email', await suite.text('list-contacts', { segmentId })), [email]);
    await suite.text('create-contact', { email: at('other') });
    const page = await suite.text('list-contacts', { limit: 1 });
    assert.deepEqual(linesOf('Email', page), [at('other')]);
    assert.match(page, /There are more contacts available/);
    assert.deepEqual(linesOf('Email', await suite.text('list-contacts', { limit: 1, after: lineOf('ID', page) })), [email]);
    await suite.text('remove-contact', { email: at('other') });
  });
  await suite.check('add-contact-to-segment', 'removed from the segment, and added again', async () => {
    const key = { email, segmentId };
    assert.equal(await suite.line('Segment ID', 'remove-contact-from-segment', key), segmentId);
    assert.match(await suite.text('list-contact-segments', { email }), /^Contact is not in any segments/);
    assert.equal(await suite.line('Segment ID', 'add-contact-to-segment', key), segmentId);
    assert.deepEqual(linesOf('ID', await suite.text('list-contact-segments', { email })), [segmentId]);
    await suite.refused(404, 'not_found', 'add-contact-to-segment', { email, segmentId: UNKNOWN_ID });
  });
  await suite.check('update-contact-topics', 'opted out and in again', async () => {
    for (const subscription of ['opt_out', 'opt_in']) {
      await suite.text('update-contact-topics', { email, topics: [{ id: topicId, subscription }] });
      const choices = await suite.text('list-contact-topics', { email });
      assert.deepEqual([lineOf('ID', choices), lineOf('Subscription', choices)], [topicId, subscription]);
    }
  });
  await suite.check('remove-contact', 'by id, then 404', async () => {
    const id = await suite.line('ID', 'get-contact', { email });
    assert.equal(await suite.line('Contact', 'remove-contact', { id }), id);
    await suite.refused(404, 'not_found', 'remove-contact', { email });
  });
  await suite.text('remove-segment', { id: segmentId });
  await suite.text('remove-topic', { id: topicId });
  for (const [tool, args] of [
    ['create-contact-import', { filePath: process.argv[1], columnMap: { email: 'email' } }],
    ['get-contact-import', { id: UNKNOWN_ID }],
    ['list-contact-imports', {}],
  ]) {
    await suite.mustFail(404, 'not_found', 'no CSV import', tool, args);
  }
}

export async function suppressions(suite) {
  const email = at('suppressed');
  await suite.check('add-suppression', 'added, read by id and by email, listed and removed', async () => {
    const id = await suite.line('ID', 'add-suppression', { email });
    for (const idOrEmail of [id, email]) {
      const read = await suite.text('get-suppression', { idOrEmail });
      assert.deepEqual([lineOf('Email', read), lineOf('Origin', read)], [email, 'manual']);
    }
    assert.deepEqual(linesOf('ID', await suite.text('list-suppressions', { limit: 1, origin: 'manual' })), [id]);
    assert.equal(await suite.line('ID', 'remove-suppression', { idOrEmail: email }), id);
    await suite.refused(404, 'not_found', 'get-suppression', { idOrEmail: id });
  });
  await suite.check('batch-add-suppressions', 'added, then removed by emails and by ids', async () => {
    const emails = [at('one'), at('two')];
    const ids = linesOf('ID', await suite.text('batch-add-suppressions', { emails }));
    assert.equal(ids.length, 2);
    assert.deepEqual(linesOf('ID', await suite.text('batch-remove-suppressions', { emails: emails.slice(0, 1) })), ids.slice(0, 1));
    assert.deepEqual(linesOf('ID', await suite.text('batch-remove-suppressions', { ids: ids.slice(1) })), ids.slice(1));
    assert.match(await suite.text('list-suppressions', { origin: 'manual' }), /^No suppressions found/);
  });
}
