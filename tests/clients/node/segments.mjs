import { TIMESTAMP, UNKNOWN_ID, UUID, assert } from './check.mjs';

const member = (name) => `node-${name}@members.example.net`;

/**
 * Checks segments under both names of the SDK. `audiences` is the older name, for which version 5 has its own paths, with
 * an object type of their own.
 */
export async function segments(suite) {
  const object = suite.isOlder ? 'audience' : 'segment';
  for (const resource of suite.isOlder ? ['audiences'] : ['segments', 'audiences']) {
    let created;
    await suite.check(`${resource}.create`, 'a segment without a filter', async () => {
      created = await suite.data(`${resource}.create`, { name: `Node ${resource}` });
      assert.deepEqual([created.object, created.name], [object, `Node ${resource}`]);
      assert.match(created.id, UUID);
      assert.match(created.created_at, TIMESTAMP);
      const missing = await suite.refused(422, 'missing_required_field', `${resource}.create`, {});
      assert.equal(missing.message, 'Missing `name` field.');
    });
    if (!created) continue;

    await lists(suite, resource, created);
    if (!suite.isOlder) await members(suite, resource, created.id);
    await suite.check(`${resource}.remove`, 'removed, then 404; a second removal returns the same', async () => {
      const { id } = created;
      for (let time = 0; time < 2; time += 1) {
        assert.deepEqual(await suite.data(`${resource}.remove`, id), { object, id, deleted: true });
      }
      await suite.refused(404, 'not_found', `${resource}.get`, id);
      await suite.refused(404, 'not_found', 'contacts.list', suite.isOlder ? { audienceId: id } : { segmentId: id });
    });
  }
  if (!suite.isOlder) await filtered(suite);
}

async function lists(suite, resource, created) {
  const { id, name } = created;
  await suite.check(`${resource}.list`, 'newest first, limit and cursors', async () => {
    const other = await suite.data(`${resource}.create`, { name: 'Node other' });
    const page = await suite.data(`${resource}.list`);
    assert.equal(page.object, 'list');
    assert.deepEqual(page.data.slice(0, 2).map((row) => [row.id, row.name]), [[other.id, 'Node other'], [id, name]]);
    assert.match(page.data[0].created_at, TIMESTAMP);
    if (!suite.isOlder) { // Version 5 sends no query.
      const newest = await suite.data(`${resource}.list`, { limit: 1 });
      assert.deepEqual([newest.has_more, newest.data[0].id], [true, other.id]);
      assert.equal((await suite.data(`${resource}.list`, { limit: 1, after: other.id })).data[0].id, id);
      assert.equal((await suite.data(`${resource}.list`, { limit: 1, before: id })).data[0].id, other.id);
    }
    await suite.data(`${resource}.remove`, other.id);
  });
  await suite.check(`${resource}.get`, 'with its count; an unknown id is 404', async () => {
    const read = await suite.data(`${resource}.get`, id);
    assert.deepEqual([read.object, read.id, read.name, read.contact_count], [created.object, id, name, 0]);
    await suite.refused(404, 'not_found', `${resource}.get`, UNKNOWN_ID);
    await suite.refused(422, 'validation_error', `${resource}.get`, 'not-an-id');
  });
  await suite.check(`${resource}.update`, 'renamed', async () => {
    const response = await suite.data(`${resource}.update`, id, { name: 'Node renamed' });
    assert.deepEqual([response.object, response.id], ['segment', id]);
    assert.equal((await suite.data(`${resource}.get`, id)).name, 'Node renamed');
    await suite.refused(404, 'not_found', `${resource}.update`, UNKNOWN_ID, { name: 'Node' });
  });
}

/** Checks explicit membership with each form of the calls. */
async function members(suite, resource, segmentId) {
  const [first, second] = [member(`${resource}-first`), member(`${resource}-second`)];
  const emails = async (options) => (await suite.data('contacts.list', options)).data.map((row) => row.email);
  let id;
  await suite.check('contacts.segments.add', 'by id and by email; a repeat has no effect', async () => {
    ({ id } = await suite.data('contacts.create', { email: first }));
    const { id: otherId } = await suite.data('contacts.create', { email: second });
    const added = await suite.data('contacts.segments.add', { contactId: id, segmentId });
    assert.equal(added.id, segmentId);
    await suite.data('contacts.segments.add', { email: second, segmentId });
    await suite.data('contacts.segments.add', { contactId: otherId, segmentId });
    assert.equal((await suite.data(`${resource}.get`, segmentId)).contact_count, 2);
    await suite.refused(404, 'not_found', 'contacts.segments.add', { contactId: UNKNOWN_ID, segmentId });
    await suite.refused(404, 'not_found', 'contacts.segments.add', { contactId: id, segmentId: UNKNOWN_ID });
  });
  await suite.check('contacts.list', 'the members of a segment, newest first, limit and cursors', async () => {
    for (const segment of [{ segmentId }, { audienceId: segmentId }]) {
      assert.deepEqual(await emails(segment), [second, first]);
      const page = await suite.data('contacts.list', { ...segment, limit: 1 });
      assert.deepEqual([page.object, page.has_more, page.data[0].email], ['list', true, second]);
      assert.deepEqual(await emails({ ...segment, limit: 1, after: page.data[0].id }), [first]);
      assert.deepEqual(await emails({ ...segment, limit: 1, before: id }), [second]);
    }
    await suite.refused(404, 'not_found', 'contacts.list', { segmentId: UNKNOWN_ID });
  });
  await suite.check('contacts.segments.list', 'the segments of a contact, by id and by email', async () => {
    for (const options of [{ contactId: id }, { email: first }, { email: first, limit: 1 }]) {
      const page = await suite.data('contacts.segments.list', options);
      assert.deepEqual([page.object, page.has_more, page.data.map((row) => [row.id, row.name])], ['list', false, [[segmentId, 'Node renamed']]]);
      assert.match(page.data[0].created_at, TIMESTAMP);
    }
    await suite.refused(404, 'not_found', 'contacts.segments.list', { contactId: UNKNOWN_ID });
  });
  await suite.check('contacts.segments.remove', 'by id and by email; the contact stays', async () => {
    const removed = await suite.data('contacts.segments.remove', { contactId: id, segmentId });
    assert.deepEqual([removed.id, removed.deleted], [segmentId, true]);
    await suite.data('contacts.segments.remove', { email: second, segmentId });
    assert.deepEqual(await emails({ segmentId }), []);
    assert.equal((await suite.data('contacts.get', id)).email, first);
    await suite.refused(404, 'not_found', 'contacts.segments.remove', { contactId: id, segmentId: UNKNOWN_ID });
  });
  for (const email of [first, second]) await suite.data('contacts.remove', email);
}

/** Checks a filter. The SDK sends the fields of a segment unchanged, also those that it does not know. */
async function filtered(suite) {
  await suite.check('segments.create', 'with a filter that selects the contacts', async () => {
    const filter = { match: 'all', conditions: [{ field: 'email', op: 'ends_with', value: '@filtered.example.net' }] };
    const { id } = await suite.data('segments.create', { name: 'Node filtered', filter });
    const email = 'node@filtered.example.net';
    await suite.data('contacts.create', { email });
    const read = await suite.data('segments.get', id);
    assert.deepEqual([read.filter, read.contact_count], [filter, 1]);
    assert.deepEqual((await suite.data('contacts.list', { segmentId: id })).data.map((row) => row.email), [email]);
    await suite.data('contacts.remove', email);
    await suite.data('segments.remove', id);
    const unknown = { match: 'all', conditions: [{ field: 'shoe_size', op: 'equals', value: '44' }] };
    await suite.refused(422, 'validation_error', 'segments.create', { name: 'Node filtered', filter: unknown });
  });
}
