import { TIMESTAMP, UNKNOWN_ID, UUID, assert } from './check.mjs';

export async function contactProperties(suite) {
  let text;
  let number;
  await suite.check('contactProperties.create', 'a string and a number, with and without a fallback', async () => {
    text = await suite.data('contactProperties.create', { key: 'node_plan', type: 'string', fallbackValue: 'free' });
    assert.deepEqual(fields(text), ['contact_property', 'node_plan', 'string', 'free']);
    assert.match(text.id, UUID);
    assert.match(text.created_at, TIMESTAMP);
    number = await suite.data('contactProperties.create', { key: 'node_seats', type: 'number', fallbackValue: 5 });
    assert.deepEqual(fields(number), ['contact_property', 'node_seats', 'number', '5']);
    for (const [key, fallback] of [['node_none', {}], ['node_null', { fallbackValue: null }]]) {
      const made = await suite.data('contactProperties.create', { key, type: 'string', ...fallback });
      assert.equal(made.fallback_value, null);
      await suite.data('contactProperties.remove', made.id);
    }
  });
  if (!text || !number) return;

  await suite.check('contactProperties.create', 'a key that exists is 409; no type and a bad value are 422', async () => {
    await suite.refused(409, 'validation_error', 'contactProperties.create', { key: 'node_plan', type: 'string' });
    const missing = await suite.refused(422, 'missing_required_field', 'contactProperties.create', { key: 'node_kind' });
    assert.equal(missing.message, 'Missing `type` field.');
    await suite.refused(422, 'validation_error', 'contactProperties.create', { key: 'node_kind', type: 'date' });
    await suite.refused(422, 'validation_error', 'contactProperties.create', { key: 'node kind', type: 'string' });
    await suite.refused(422, 'validation_error', 'contactProperties.create', { key: 'node_kind', type: 'number', fallbackValue: 'many' });
  });
  await suite.check('contactProperties.list', 'newest first, limit and cursors', async () => {
    const page = await suite.data('contactProperties.list', { limit: 2 });
    assert.equal(page.object, 'list');
    assert.deepEqual(
      page.data.map((row) => [row.id, row.key, row.type, row.fallbackValue]),
      [[number.id, 'node_seats', 'number', '5'], [text.id, 'node_plan', 'string', 'free']],
    );
    assert.match(page.data[0].createdAt, TIMESTAMP);
    assert.equal((await suite.data('contactProperties.list', { limit: 1, after: number.id })).data[0].id, text.id);
    assert.equal((await suite.data('contactProperties.list', { limit: 1, before: text.id })).data[0].id, number.id);
    assert.ok((await suite.data('contactProperties.list')).data.length >= 2);
    await suite.refused(422, 'validation_error', 'contactProperties.list', { after: UNKNOWN_ID });
  });
  await suite.check('contactProperties.get', 'every field; an unknown id is 404, a malformed one 422', async () => {
    const { createdAt, ...read } = await suite.data('contactProperties.get', text.id);
    assert.match(createdAt, TIMESTAMP);
    assert.deepEqual(read, { object: 'contact_property', id: text.id, key: 'node_plan', type: 'string', fallbackValue: 'free' });
    assert.equal((await suite.refused(404, 'not_found', 'contactProperties.get', UNKNOWN_ID)).message, 'Contact property not found');
    await suite.refused(422, 'validation_error', 'contactProperties.get', 'not-an-id');
  });
  await suite.check('contactProperties.update', 'another fallback, then none; null clears it', async () => {
    const response = await suite.data('contactProperties.update', { id: number.id, fallbackValue: 7.5 });
    assert.deepEqual([response.object, response.id], ['contact_property', number.id]);
    assert.equal((await suite.data('contactProperties.get', number.id)).fallbackValue, '7.5');
    await suite.data('contactProperties.update', { id: number.id, fallbackValue: null });
    assert.equal((await suite.data('contactProperties.get', number.id)).fallbackValue, null);
    await suite.refused(422, 'validation_error', 'contactProperties.update', { id: number.id, fallbackValue: 'many' });
    await suite.refused(404, 'not_found', 'contactProperties.update', { id: UNKNOWN_ID, fallbackValue: 'x' });
  });
  await suite.check('contactProperties.remove', 'removed, then 404', async () => {
    for (const { id } of [text, number]) {
      assert.deepEqual(await suite.data('contactProperties.remove', id), { object: 'contact_property', id, deleted: true });
      await suite.refused(404, 'not_found', 'contactProperties.get', id);
      await suite.refused(404, 'not_found', 'contactProperties.remove', id);
    }
  });
}

const fields = ({ object, key, type, fallback_value }) => [object, key, type, fallback_value];
