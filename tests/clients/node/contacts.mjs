import { TIMESTAMP, UNKNOWN_ID, UUID, assert } from './check.mjs';

const at = (name) => `node-${name}@customer.example.net`;

export async function contacts(suite) {
  if (suite.isOlder) {
    // Version 5 has contacts only below an audience.
    const audience = await suite.data('audiences.create', { name: 'Node contacts' });
    await inAudience(suite, audience.id);
    await suite.data('audiences.remove', audience.id);
    return;
  }
  const properties = [];
  for (const property of [{ key: 'node_city', type: 'string' }, { key: 'node_age', type: 'number' }]) {
    properties.push(await suite.data('contactProperties.create', property));
  }
  const segment = await suite.data('segments.create', { name: 'Node contacts' });
  const topic = await suite.data('topics.create', { name: 'Node contacts', defaultSubscription: 'opt_out' });
  try {
    await creating(suite, segment.id, topic.id);
    await reading(suite);
    await updating(suite);
    await removing(suite);
    await inAudience(suite, segment.id);
    await mustFail(suite);
  } finally {
    await suite.data('segments.remove', segment.id);
    await suite.data('topics.remove', topic.id);
    for (const { id } of properties) await suite.data('contactProperties.remove', id);
  }
}

async function creating(suite, segmentId, topicId) {
  await suite.check('contacts.create', 'only the email, then every field', async () => {
    const bare = await suite.data('contacts.create', { email: at('bare') });
    assert.equal(bare.object, 'contact');
    assert.match(bare.id, UUID);
    await suite.data('contacts.remove', bare.id);
    const { id } = await suite.data('contacts.create', {
      email: at('full'), firstName: 'Ada', lastName: 'Lovelace', unsubscribed: false,
      properties: { node_city: 'London', node_age: 36 },
      segments: [{ id: segmentId }], topics: [{ id: topicId, subscription: 'opt_in' }],
    });
    const read = await suite.data('contacts.get', id);
    assert.deepEqual(fields(read), ['contact', id, at('full'), 'Ada', 'Lovelace', false]);
    assert.match(read.created_at, TIMESTAMP);
    assert.deepEqual(read.properties, { node_city: { type: 'string', value: 'London' }, node_age: { type: 'number', value: 36 } });
    assert.deepEqual((await suite.data('contacts.segments.list', { contactId: id })).data.map((row) => row.id), [segmentId]);
    const choice = (await suite.data('contacts.topics.list', { id })).data.find((row) => row.id === topicId);
    assert.deepEqual([choice.subscription, choice.explicit], ['opt_in', true]);
    await suite.data('contacts.remove', id);
  });
  await suite.check('contacts.create', 'an email that exists updates that contact and returns its id', async () => {
    const first = await suite.data('contacts.create', { email: at('twice'), firstName: 'Ada', lastName: 'Lovelace' });
    const again = await suite.data('contacts.create', { email: at('twice').toUpperCase(), firstName: 'Grace' });
    assert.equal(again.id, first.id);
    const read = await suite.data('contacts.get', first.id);
    assert.deepEqual([read.email, read.first_name, read.last_name], [at('twice'), 'Grace', 'Lovelace']);
    await suite.data('contacts.remove', first.id);
  });
  await suite.check('contacts.create', 'no email and bad fields are 422, foreign ids 404', async () => {
    const missing = await suite.refused(422, 'missing_required_field', 'contacts.create', { firstName: 'Ada' });
    assert.equal(missing.message, 'Missing `email` field.');
    await suite.refused(422, 'validation_error', 'contacts.create', { email: 'not an address' });
    await suite.refused(422, 'validation_error', 'contacts.create', { email: `Ada <${at('named')}>` });
    await suite.refused(422, 'validation_error', 'contacts.create', { email: at('bad'), properties: { node_age: 'old' } });
    await suite.refused(422, 'validation_error', 'contacts.create', { email: at('bad'), properties: { node_city: { name: 'London' } } });
    await suite.refused(404, 'not_found', 'contacts.create', { email: at('bad'), segments: [{ id: UNKNOWN_ID }] });
    await suite.refused(404, 'not_found', 'contacts.create', { email: at('bad'), topics: [{ id: UNKNOWN_ID, subscription: 'opt_in' }] });
    await suite.refused(404, 'not_found', 'contacts.get', { email: at('bad') });
  });
}

async function reading(suite) {
  const ids = [];
  await suite.check('contacts.get', 'by id and by email, in every form of the SDK; an unknown one is 404', async () => {
    for (const name of ['first', 'second', 'third']) ids.push((await suite.data('contacts.create', { email: at(name) })).id);
    for (const key of [ids[0], at('first'), { id: ids[0] }, { email: at('first') }, { email: 'NODE-First@customer.example.net' }]) {
      assert.deepEqual(fields(await suite.data('contacts.get', key)), ['contact', ids[0], at('first'), null, null, false]);
    }
    assert.deepEqual((await suite.data('contacts.get', ids[0])).properties, {});
    assert.equal((await suite.refused(404, 'not_found', 'contacts.get', UNKNOWN_ID)).message, 'Contact not found');
    assert.equal((await suite.refused(404, 'not_found', 'contacts.get', { email: at('nobody') })).message, 'Contact not found');
    await suite.refused(422, 'validation_error', 'contacts.get', 'not-an-id');
  });
  await suite.check('contacts.get', 'a plus sign in the email is a plus sign', async () => {
    const { id } = await suite.data('contacts.create', { email: at('plus+tag') });
    assert.equal((await suite.data('contacts.get', { email: at('plus+tag') })).id, id);
    await suite.data('contacts.remove', { email: at('plus+tag') });
  });
  await suite.check('contacts.list', 'newest first, limit and cursors, the basic shape', async () => {
    const page = await suite.data('contacts.list', { limit: 2 });
    assert.deepEqual([page.object, page.has_more, page.data.map((row) => row.id)], ['list', true, [ids[2], ids[1]]]);
    for (const row of page.data) {
      assert.match(row.created_at, TIMESTAMP);
      assert.deepEqual([row.first_name, row.last_name, row.unsubscribed, row.properties, row.topics], [null, null, false, undefined, undefined]);
    }
    assert.equal((await suite.data('contacts.list', { limit: 1, after: ids[1] })).data[0].id, ids[0]);
    assert.equal((await suite.data('contacts.list', { limit: 1, before: ids[1] })).data[0].id, ids[2]);
    assert.equal((await suite.data('contacts.list')).data[0].id, ids[2]);
    for (const bad of [{ limit: 101 }, { after: UNKNOWN_ID }, { after: ids[0], before: ids[1] }]) {
      await suite.refused(422, 'validation_error', 'contacts.list', bad);
    }
  });
  for (const id of ids) await suite.data('contacts.remove', id);
}

async function updating(suite) {
  const email = at('changing');
  const { id } = await suite.data('contacts.create', {
    email, firstName: 'Ada', lastName: 'Lovelace', properties: { node_city: 'London', node_age: 36 },
  });
  await suite.check('contacts.update', 'by id and by email; other fields stay unchanged', async () => {
    const response = await suite.data('contacts.update', { id, firstName: 'Grace' });
    assert.deepEqual([response.object, response.id, response.first_name, response.last_name], ['contact', id, 'Grace', 'Lovelace']);
    await suite.data('contacts.update', { email, lastName: 'Hopper' });
    const read = await suite.data('contacts.get', id);
    assert.deepEqual(fields(read), ['contact', id, email, 'Grace', 'Hopper', false]);
    await suite.refused(404, 'not_found', 'contacts.update', { id: UNKNOWN_ID, firstName: 'Ada' });
    await suite.refused(404, 'not_found', 'contacts.update', { email: at('nobody'), firstName: 'Ada' });
  });
  await suite.check('contacts.update', 'properties merge key by key; null clears a name and a property', async () => {
    await suite.data('contacts.update', { id, properties: { node_age: 37.5, node_free: 'text' } });
    const merged = (await suite.data('contacts.get', id)).properties;
    assert.deepEqual(merged, {
      node_city: { type: 'string', value: 'London' }, node_age: { type: 'number', value: 37.5 }, node_free: { type: 'string', value: 'text' },
    });
    await suite.data('contacts.update', { id, firstName: null, lastName: null, properties: { node_city: null, node_age: null } });
    const read = await suite.data('contacts.get', id);
    assert.deepEqual([read.first_name, read.last_name, Object.keys(read.properties)], [null, null, ['node_free']]);
    await suite.refused(422, 'validation_error', 'contacts.update', { id, properties: { node_age: 'old' } });
  });
  await suite.check('contacts.update', 'unsubscribed, then subscribed again', async () => {
    for (const unsubscribed of [true, false]) {
      await suite.data('contacts.update', { email, unsubscribed });
      assert.equal((await suite.data('contacts.get', { email })).unsubscribed, unsubscribed);
    }
  });
  await suite.data('contacts.remove', id);
}

async function removing(suite) {
  await suite.check('contacts.remove', 'by id and by email, in every form of the SDK; then 404', async () => {
    const spellings = [(id) => id, () => at('removed'), (id) => ({ id }), () => ({ email: at('removed') })];
    for (const spelled of spellings) {
      const { id } = await suite.data('contacts.create', { email: at('removed') });
      const response = await suite.data('contacts.remove', spelled(id));
      assert.deepEqual([response.object, response.contact, response.deleted], ['contact', id, true]);
      await suite.refused(404, 'not_found', 'contacts.get', id);
      await suite.refused(404, 'not_found', 'contacts.remove', spelled(id));
    }
  });
}

/** Checks the paths below `/audiences/{id}/contacts`. The SDK uses them if `audienceId` is given. */
async function inAudience(suite, audienceId) {
  const email = at('audience');
  const members = suite.isOlder ? { audienceId } : { segmentId: audienceId };
  const read = (id) => suite.data('contacts.get', suite.isOlder ? { audienceId, id } : id);
  await suite.check('contacts.create', 'into an audience, read, changed and removed there', async () => {
    const { id } = await suite.data('contacts.create', { audienceId, email, firstName: 'Ada' });
    assert.deepEqual((await suite.data('contacts.list', members)).data.map((row) => row.id), [id]);
    for (const key of [{ id }, { email }]) {
      assert.equal((await suite.data('contacts.get', { audienceId, ...key })).id, id);
      await suite.data('contacts.update', { audienceId, ...key, lastName: `by ${Object.keys(key)[0]}` });
      assert.equal((await read(id)).last_name, `by ${Object.keys(key)[0]}`);
    }
    await suite.data('contacts.update', { audienceId, id, unsubscribed: true, lastName: null });
    assert.deepEqual(fields(await read(id)), ['contact', id, email, 'Ada', null, true]);
    await suite.refused(404, 'not_found', 'contacts.get', { audienceId: UNKNOWN_ID, id });
    await suite.refused(404, 'not_found', 'contacts.create', { audienceId: UNKNOWN_ID, email: at('lost') });
    for (let time = 0; time < 2; time += 1) {
      const response = await suite.data('contacts.remove', { audienceId, email });
      assert.deepEqual([response.object, response.deleted], ['contact', true]);
    }
    await suite.refused(404, 'not_found', 'contacts.get', suite.isOlder ? { audienceId, id } : id);
  });
}

async function mustFail(suite) {
  const file = new Blob(['email\none@example.net\n'], { type: 'text/csv' });
  for (const row of [
    [404, 'not_found', 'no CSV import', 'contacts.imports.create', { file, columnMap: { email: 'email' }, onConflict: 'skip' }],
    [404, 'not_found', 'no CSV import', 'contacts.imports.list'],
    [404, 'not_found', 'no CSV import', 'contacts.imports.list', { status: 'completed', limit: 1 }],
    [404, 'not_found', 'no CSV import', 'contacts.imports.get', UNKNOWN_ID],
  ]) {
    await suite.mustFail(...row);
  }
}

const fields = ({ object, id, email, first_name, last_name, unsubscribed }) => [object, id, email, first_name, last_name, unsubscribed];
