// Every subcommand of `resend contacts`, `contact-properties`, `segments`, `topics` and `suppressions`.
import { UNKNOWN_ID, UUID, assert } from '../node/check.mjs';

const at = (name) => `cli-${name}@customer.example.net`;

export async function contactProperties(suite) {
  let text;
  let number;
  await suite.check('contact-properties create', 'a string and a number, with a fallback', () => {
    text = suite.data('contact-properties create', '--key', 'cli_plan', '--type', 'string', '--fallback-value', 'free');
    number = suite.data('contact-properties create', '--key', 'cli_seats', '--type', 'number', '--fallback-value', '5');
    for (const { object, id } of [text, number]) {
      assert.equal(object, 'contact_property');
      assert.match(id, UUID);
    }
    suite.refused(409, 'validation_error', 'contact-properties create', '--key', 'cli_plan', '--type', 'string');
  });
  if (!number) return;
  await suite.check('contact-properties list', 'newest first, limit and cursors', () => {
    const ids = (...args) => suite.data('contact-properties list', ...args).data.map((row) => row.id);
    assert.deepEqual(ids('--limit', '2'), [number.id, text.id]);
    assert.deepEqual(ids('--limit', '1', '--after', number.id), [text.id]);
    assert.deepEqual(ids('--limit', '1', '--before', text.id), [number.id]);
  });
  await suite.check('contact-properties get', 'every field; an unknown id is 404', () => {
    const { key, type, fallbackValue } = suite.data('contact-properties get', number.id);
    assert.deepEqual([key, type, fallbackValue], ['cli_seats', 'number', '5']);
    assert.equal(suite.refused(404, 'not_found', 'contact-properties get', UNKNOWN_ID), 'Contact property not found');
  });
  await suite.check('contact-properties update', 'another fallback, then none', () => {
    suite.data('contact-properties update', text.id, '--fallback-value', 'paid');
    assert.equal(suite.data('contact-properties get', text.id).fallbackValue, 'paid');
    suite.data('contact-properties update', text.id, '--clear-fallback-value');
    assert.equal(suite.data('contact-properties get', text.id).fallbackValue, null);
  });
  await suite.check('contact-properties delete', 'deleted, then 404', () => {
    for (const { id } of [text, number]) {
      assert.equal(suite.data('contact-properties delete', id, '--yes').deleted, true);
      suite.refused(404, 'not_found', 'contact-properties get', id);
    }
  });
}

export async function topics(suite) {
  let topic;
  await suite.check('topics create', 'with a description', () => {
    topic = suite.data('topics create', '--name', 'Cli news', '--description', 'What is new', '--default-subscription', 'opt_out');
    assert.match(topic.id, UUID);
  });
  if (!topic) return;
  const { id } = topic;
  await suite.check('topics list', 'newest first', () => assert.equal(suite.data('topics list').data[0].id, id));
  await suite.check('topics update', 'name and description; the default stays', () => {
    suite.data('topics update', id, '--name', 'Cli letters', '--description', 'Once a month');
    const { name, description, default_subscription } = suite.data('topics get', id);
    assert.deepEqual([name, description, default_subscription], ['Cli letters', 'Once a month', 'opt_out']);
  });
  await suite.check('topics get', 'an unknown id is 404', () => {
    assert.equal(suite.refused(404, 'not_found', 'topics get', UNKNOWN_ID), 'Topic not found');
  });
  const contact = suite.data('contacts create', '--email', at('topics'));
  const choice = () => suite.data('contacts topics', contact.id).data.find((row) => row.id === id).subscription;
  await suite.check('contacts topics', 'the default without a choice; by id, by email', () => {
    assert.equal(choice(), 'opt_out');
    assert.equal(suite.data('contacts topics', at('topics')).object, 'list');
  });
  await suite.check('contacts update-topics', 'opted in, by id and by email', () => {
    suite.data('contacts update-topics', contact.id, '--topics', JSON.stringify([{ id, subscription: 'opt_in' }]));
    assert.equal(choice(), 'opt_in');
    suite.data('contacts update-topics', at('topics'), '--topics', JSON.stringify([{ id, subscription: 'opt_out' }]));
    assert.equal(choice(), 'opt_out');
  });
  suite.data('contacts delete', contact.id, '--yes');
  await suite.check('topics delete', 'deleted, then 404', () => {
    assert.equal(suite.data('topics delete', id, '--yes').deleted, true);
    suite.refused(404, 'not_found', 'topics get', id);
  });
}

export async function segments(suite) {
  let segment;
  await suite.check('segments create', 'a segment without a filter', () => {
    segment = suite.data('segments create', '--name', 'Cli segment');
    assert.deepEqual([segment.object, segment.name], ['segment', 'Cli segment']);
  });
  if (!segment) return;
  const { id } = segment;
  await suite.check('segments list', 'newest first, limit and cursors', () => {
    const other = suite.data('segments create', '--name', 'Cli other').id;
    const ids = (...args) => suite.data('segments list', ...args).data.map((row) => row.id);
    assert.deepEqual(ids('--limit', '2'), [other, id]);
    assert.deepEqual(ids('--limit', '1', '--after', other), [id]);
    assert.deepEqual(ids('--limit', '1', '--before', id), [other]);
    suite.data('segments delete', other, '--yes');
  });
  await suite.check('segments update', 'renamed', () => {
    suite.data('segments update', id, '--name', 'Cli renamed');
    assert.equal(suite.data('segments get', id).name, 'Cli renamed');
  });
  await suite.check('segments get', 'an unknown id is 404', () => {
    suite.refused(404, 'not_found', 'segments get', UNKNOWN_ID);
  });
  const contact = suite.data('contacts create', '--email', at('member'));
  await suite.check('contacts add-segment', 'by id and by email', () => {
    suite.data('contacts add-segment', contact.id, '--segment-id', id);
    suite.data('contacts add-segment', at('member'), '--segment-id', id);
  });
  await suite.check('segments contacts', 'the members', () => {
    assert.deepEqual(suite.data('segments contacts', id).data.map((row) => row.email), [at('member')]);
    assert.deepEqual(suite.data('segments contacts', id, '--limit', '1', '--after', contact.id).data, []);
    suite.refused(404, 'not_found', 'segments contacts', UNKNOWN_ID);
  });
  await suite.check('contacts segments', 'by id and by email', () => {
    for (const key of [contact.id, at('member')]) {
      assert.deepEqual(suite.data('contacts segments', key).data.map((row) => row.id), [id]);
    }
  });
  await suite.check('contacts remove-segment', 'removed; the contact stays', () => {
    suite.data('contacts remove-segment', at('member'), id);
    assert.deepEqual(suite.data('contacts segments', contact.id).data, []);
  });
  suite.data('contacts delete', contact.id, '--yes');
  await suite.check('segments delete', 'deleted, then 404', () => {
    assert.equal(suite.data('segments delete', id, '--yes').deleted, true);
    suite.refused(404, 'not_found', 'segments get', id);
  });
}

export async function contacts(suite, file) {
  const property = suite.data('contact-properties create', '--key', 'cli_age', '--type', 'number');
  const segment = suite.data('segments create', '--name', 'Cli contacts');
  let created;
  await suite.check('contacts create', 'every field', () => {
    created = suite.data(
      'contacts create', '--email', at('created'), '--first-name', 'Ada', '--last-name', 'Lovelace', '--unsubscribed',
      '--properties', '{"cli_age":36,"cli_city":"London"}', '--segment-id', segment.id,
    );
    assert.equal(created.object, 'contact');
    assert.match(created.id, UUID);
    suite.refused(422, 'validation_error', 'contacts create', '--email', 'not an address');
    suite.refused(404, 'not_found', 'contacts create', '--email', at('lost'), '--segment-id', UNKNOWN_ID);
  });
  if (!created) return;
  const { id } = created;
  await suite.check('contacts get', 'by id and by email; an unknown one is 404', () => {
    for (const key of [id, at('created')]) {
      const { email, first_name, last_name, unsubscribed, properties } = suite.data('contacts get', key);
      assert.deepEqual([email, first_name, last_name, unsubscribed], [at('created'), 'Ada', 'Lovelace', true]);
      assert.deepEqual(properties, { cli_age: { type: 'number', value: 36 }, cli_city: { type: 'string', value: 'London' } });
    }
    assert.equal(suite.refused(404, 'not_found', 'contacts get', UNKNOWN_ID), 'Contact not found');
  });
  await suite.check('contacts list', 'newest first, limit and cursors', () => {
    const other = suite.data('contacts create', '--email', at('other')).id;
    const ids = (...args) => suite.data('contacts list', ...args).data.map((row) => row.id);
    assert.deepEqual(ids('--limit', '2'), [other, id]);
    assert.deepEqual(ids('--limit', '1', '--after', other), [id]);
    assert.deepEqual(ids('--limit', '1', '--before', id), [other]);
    suite.data('contacts delete', other, '--yes');
  });
  await suite.check('contacts update', 'subscribed again; properties merge and null removes one', () => {
    suite.data('contacts update', id, '--no-unsubscribed');
    suite.data('contacts update', at('created'), '--properties', '{"cli_age":37,"cli_city":null}');
    const { unsubscribed, properties } = suite.data('contacts get', id);
    assert.deepEqual([unsubscribed, properties], [false, { cli_age: { type: 'number', value: 37 } }]);
    suite.data('contacts update', id, '--unsubscribed');
    assert.equal(suite.data('contacts get', id).unsubscribed, true);
    suite.data('contacts update', id, '--no-unsubscribed');
  });
  await suite.check('contacts delete', 'by email, then 404', () => {
    assert.equal(suite.data('contacts delete', at('created'), '--yes').deleted, true);
    suite.refused(404, 'not_found', 'contacts delete', id, '--yes');
  });
  const csv = file('contacts.csv', 'email\none@example.net\n');
  for (const row of [
    [404, 'not_found', 'no CSV import', 'contacts imports create', '--file', csv],
    [404, 'not_found', 'no CSV import', 'contacts imports list'],
    [404, 'not_found', 'no CSV import', 'contacts imports get', UNKNOWN_ID],
  ]) {
    suite.mustFail(...row);
  }
  suite.data('segments delete', segment.id, '--yes');
  suite.data('contact-properties delete', property.id, '--yes');
}

export async function suppressions(suite, file) {
  let added;
  await suite.check('suppressions add', 'an address; a repeat returns the same id', () => {
    added = suite.data('suppressions add', at('one'));
    assert.equal(suite.data('suppressions add', at('one')).id, added.id);
  });
  if (!added) return;
  const { id } = added;
  await suite.check('suppressions get', 'by id and by email; an unknown one is 404', () => {
    for (const key of [id, at('one')]) {
      const { email, origin } = suite.data('suppressions get', key);
      assert.deepEqual([email, origin], [at('one'), 'manual']);
    }
    assert.equal(suite.refused(404, 'not_found', 'suppressions get', UNKNOWN_ID), 'Suppression not found');
  });
  await suite.check('suppressions list', 'newest first, limit, cursors and origin', () => {
    const other = suite.data('suppressions add', at('two')).id;
    const ids = (...args) => suite.data('suppressions list', ...args).data.map((row) => row.id);
    assert.deepEqual(ids('--limit', '2'), [other, id]);
    assert.deepEqual(ids('--limit', '1', '--after', other), [id]);
    assert.deepEqual(ids('--limit', '1', '--before', id), [other]);
    assert.deepEqual(ids('--limit', '1', '--origin', 'manual'), [other]);
  });
  await suite.check('suppressions delete', 'by id and by email, then 404', () => {
    for (const key of [id, at('two')]) {
      assert.equal(suite.data('suppressions delete', key, '--yes').deleted, true);
      suite.refused(404, 'not_found', 'suppressions get', key);
    }
  });
  await suite.check('suppressions batch add', 'ids in the order of the file', () => {
    const response = suite.data('suppressions batch add', '--file', file('add.json', JSON.stringify([at('a'), at('b')])));
    assert.deepEqual(response.data.map((row) => row.id), [at('a'), at('b')].map((email) => suite.data('suppressions get', email).id));
  });
  await suite.check('suppressions batch remove', 'by emails, then by ids', () => {
    const { id: last } = suite.data('suppressions get', at('b'));
    const byEmail = suite.data('suppressions batch remove', '--file', file('emails.json', JSON.stringify([at('a')])));
    assert.deepEqual(byEmail.data.map((row) => row.deleted), [true]);
    const byId = suite.data('suppressions batch remove', '--ids', '--file', file('ids.json', JSON.stringify([last])));
    assert.deepEqual(byId.data.map((row) => row.id), [last]);
  });
}
