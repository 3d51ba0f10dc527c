import { TIMESTAMP, UNKNOWN_ID, UUID, assert } from './check.mjs';

export async function topics(suite) {
  let news;
  let offers;
  await suite.check('topics.create', 'opt in and public, opt out and private', async () => {
    news = await suite.data('topics.create', {
      name: 'Node news', defaultSubscription: 'opt_in', description: 'What is new', visibility: 'public',
    });
    assert.match(news.id, UUID);
    offers = await suite.data('topics.create', { name: 'Node offers', defaultSubscription: 'opt_out' });
    assert.match(offers.id, UUID);
  });
  if (!news || !offers) return;

  await suite.check('topics.create', 'no name, no default and an unknown default are 422', async () => {
    const unnamed = await suite.refused(422, 'missing_required_field', 'topics.create', { defaultSubscription: 'opt_in' });
    assert.equal(unnamed.message, 'Missing `name` field.');
    const undecided = await suite.refused(422, 'missing_required_field', 'topics.create', { name: 'Node' });
    assert.equal(undecided.message, 'Missing `default_subscription` field.');
    await suite.refused(422, 'validation_error', 'topics.create', { name: 'Node', defaultSubscription: 'maybe' });
    await suite.refused(422, 'validation_error', 'topics.create', { name: 'Node', defaultSubscription: 'opt_in', visibility: 'secret' });
  });
  await suite.check('topics.list', 'newest first, every field', async () => {
    const page = await suite.data('topics.list');
    assert.equal(page.object, 'list');
    assert.equal(typeof page.has_more, 'boolean');
    assert.deepEqual(page.data.slice(0, 2).map(fields), [
      [offers.id, 'Node offers', null, 'opt_out', 'private'],
      [news.id, 'Node news', 'What is new', 'opt_in', 'public'],
    ]);
    assert.match(page.data[0].created_at, TIMESTAMP);
  });
  await suite.check('topics.get', 'every field; an unknown id is 404', async () => {
    const read = await suite.data('topics.get', news.id);
    assert.deepEqual(fields(read), [news.id, 'Node news', 'What is new', 'opt_in', 'public']);
    assert.equal((await suite.refused(404, 'not_found', 'topics.get', UNKNOWN_ID)).message, 'Topic not found');
  });
  await suite.check('topics.update', 'name, description and visibility; the default stays', async () => {
    const response = await suite.data('topics.update', { id: news.id, name: 'Node letters', description: 'Once a month', visibility: 'private' });
    assert.equal(response.id, news.id);
    const read = await suite.data('topics.get', news.id);
    assert.deepEqual(fields(read), [news.id, 'Node letters', 'Once a month', 'opt_in', 'private']);
    await suite.refused(422, 'validation_error', 'topics.update', { id: news.id, default_subscription: 'opt_out' });
    await suite.refused(404, 'not_found', 'topics.update', { id: UNKNOWN_ID, name: 'Node' });
  });

  await choices(suite, news.id, offers.id);

  await suite.check('topics.remove', 'removed, then 404', async () => {
    for (const { id } of [news, offers]) {
      assert.deepEqual(await suite.data('topics.remove', id), { object: 'topic', id, deleted: true });
      await suite.refused(404, 'not_found', 'topics.get', id);
      await suite.refused(404, 'not_found', 'topics.remove', id);
    }
  });
}

/** Checks the topic choices of one contact by its id and by its email. */
async function choices(suite, news, offers) {
  const email = 'node-topics@customer.example.net';
  let id;
  const rows = async (options) => {
    const page = await suite.data('contacts.topics.list', options);
    assert.deepEqual([page.object, page.has_more], ['list', false]);
    return Object.fromEntries(page.data.map((row) => [row.id, [row.name, row.subscription, row.explicit]]));
  };
  await suite.check('contacts.create', 'with a topic choice', async () => {
    ({ id } = await suite.data('contacts.create', { email, topics: [{ id: offers, subscription: 'opt_in' }] }));
  });
  if (!id) return;

  await suite.check('contacts.topics.list', 'the default without a choice, by id and by email', async () => {
    for (const options of [{ id }, { email }, { id: UNKNOWN_ID, email: email.toUpperCase() }]) {
      const seen = await rows(options);
      assert.deepEqual(seen[news], ['Node letters', 'opt_in', false]);
      assert.deepEqual(seen[offers], ['Node offers', 'opt_in', true]);
    }
    assert.equal((await suite.refused(404, 'not_found', 'contacts.topics.list', { id: UNKNOWN_ID })).message, 'Contact not found');
  });
  await suite.check('contacts.topics.update', 'by id and by email; other topics stay', async () => {
    const response = await suite.data('contacts.topics.update', { id, topics: [{ id: news, subscription: 'opt_out' }] });
    assert.equal(response.id, id);
    const first = await rows({ id });
    assert.deepEqual([first[news], first[offers]], [['Node letters', 'opt_out', true], ['Node offers', 'opt_in', true]]);
    await suite.data('contacts.topics.update', { email, topics: [{ id: news, subscription: 'opt_in' }, { id: offers, subscription: 'opt_out' }] });
    const second = await rows({ email });
    assert.deepEqual([second[news], second[offers]], [['Node letters', 'opt_in', true], ['Node offers', 'opt_out', true]]);
  });
  await suite.check('contacts.topics.update', 'an unknown topic or contact is 404, an unknown choice 422', async () => {
    await suite.refused(404, 'not_found', 'contacts.topics.update', { id, topics: [{ id: UNKNOWN_ID, subscription: 'opt_in' }] });
    await suite.refused(404, 'not_found', 'contacts.topics.update', { id: UNKNOWN_ID, topics: [{ id: news, subscription: 'opt_in' }] });
    await suite.refused(422, 'validation_error', 'contacts.topics.update', { id, topics: [{ id: news, subscription: 'maybe' }] });
  });
  await suite.data('contacts.remove', id);
}

const fields = ({ id, name, description, default_subscription, visibility }) => [id, name, description, default_subscription, visibility];
