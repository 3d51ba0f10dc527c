// Broadcasts: drafts, sends to the members of a segment, and their recipients.
import { TIMESTAMP, UNKNOWN_ID, UUID, assert, inHours, until } from './check.mjs';
import { Receiver } from './receiver.mjs';

const FROM = 'Example Sender <sender@example.com>';
const ONLY_WAITING = 'Only queued or scheduled broadcasts can be canceled';
const HTML = '<p>Hello {{{FIRST_NAME|there}}}, <a href="{{{UNSUBSCRIBE_URL}}}">unsubscribe</a></p>';

export async function broadcasts(suite) {
  const segment = await audience(suite);
  const target = suite.isOlder ? { audienceId: segment } : { segmentId: segment };
  const draft = { name: 'Node news', from: FROM, subject: 'News for {{{FIRST_NAME|you}}}', html: HTML, ...target };
  await drafts(suite, draft, segment);
  await refusals(suite, draft);
  await sending(suite, draft);
  await canceling(suite, draft);
  if (suite.isOlder) return;
  await message(suite, draft);
  await events(suite, draft);
  await references(suite, draft);
  await keys(suite, draft);
}

/** Creates a segment with three contacts who receive a broadcast, and one who does not. Returns its id. */
async function audience(suite) {
  const people = [
    { email: `${suite.name}-ada@broadcast.example.net`, firstName: 'Ada <3' },
    { email: `${suite.name}-bob@broadcast.example.net` },
    { email: `bounced+${suite.name}@ringmail.test`, firstName: 'Bounce' },
    { email: `${suite.name}-gone@broadcast.example.net`, unsubscribed: true },
  ];
  const { id } = await suite.data(`${suite.isOlder ? 'audiences' : 'segments'}.create`, { name: 'Node broadcasts' });
  for (const person of people) {
    await suite.data('contacts.create', suite.isOlder ? { ...person, audienceId: id } : { ...person, segments: [{ id }] });
  }
  return id;
}

async function drafts(suite, draft, segment) {
  let id;
  await suite.check('broadcasts.create', 'a draft, without an estimate', async () => {
    const created = await suite.data('broadcasts.create', { ...draft, replyTo: ['reply@example.com'], previewText: 'Preview' });
    ({ id } = created);
    assert.match(id, UUID);
    assert.deepEqual([created.object, created.finishes_at, created.estimated, created.warning], ['broadcast', null, true, undefined]);
  });
  if (!id) return;

  await suite.check('broadcasts.get', 'every field; an unknown id is 404', async () => {
    const { created_at, ...read } = await suite.data('broadcasts.get', id);
    assert.match(created_at, TIMESTAMP);
    assert.deepEqual(read, {
      object: 'broadcast', id, name: 'Node news', segment_id: segment, audience_id: segment, topic_id: null, status: 'draft',
      scheduled_at: null, sent_at: null, sent_count: 0, finishes_at: null, from: FROM, subject: draft.subject,
      reply_to: ['reply@example.com'], preview_text: 'Preview', html: HTML, text: null,
    });
    assert.equal((await suite.refused(404, 'not_found', 'broadcasts.get', UNKNOWN_ID)).message, 'Broadcast not found');
    await suite.refused(422, 'validation_error', 'broadcasts.get', 'not-an-id');
  });
  await suite.check('broadcasts.update', 'every field; absent fields stay', async () => {
    const changes = { name: 'Node letters', subject: 'Letters', from: 'sender@example.com', text: 'Hello', replyTo: ['other@example.com'] };
    assert.equal((await suite.data('broadcasts.update', id, changes)).id, id);
    const read = await suite.data('broadcasts.get', id);
    assert.deepEqual(
      [read.name, read.subject, read.from, read.text, read.html, read.reply_to, read.preview_text, read.segment_id],
      ['Node letters', 'Letters', 'sender@example.com', 'Hello', HTML, ['other@example.com'], 'Preview', segment],
    );
    await suite.refused(404, 'not_found', 'broadcasts.update', UNKNOWN_ID, { name: 'Node' });
  });
  await suite.check('broadcasts.list', 'newest first, limit and cursors', async () => {
    const other = (await suite.data('broadcasts.create', draft)).id;
    const page = await suite.data('broadcasts.list');
    assert.equal(page.object, 'list');
    assert.deepEqual(page.data.slice(0, 2).map((row) => [row.id, row.name, row.status]), [
      [other, 'Node news', 'draft'],
      [id, 'Node letters', 'draft'],
    ]);
    const { created_at, ...row } = page.data[0];
    assert.match(created_at, TIMESTAMP);
    for (const [field, value] of Object.entries({ audience_id: segment, segment_id: segment, scheduled_at: null, sent_at: null, topic_id: null })) {
      assert.deepEqual(row[field], value, field);
    }
    if (!suite.isOlder) { // Version 5 sends no query.
      const newest = await suite.data('broadcasts.list', { limit: 1 });
      assert.deepEqual([newest.has_more, newest.data[0].id], [true, other]);
      assert.equal((await suite.data('broadcasts.list', { limit: 1, after: other })).data[0].id, id);
      assert.equal((await suite.data('broadcasts.list', { limit: 1, before: id })).data[0].id, other);
    }
    assert.equal((await suite.data('broadcasts.remove', other)).deleted, true);
  });
  await suite.check('broadcasts.duplicate', 'a draft with the same content and another name', async () => {
    const copy = await suite.data('broadcasts.duplicate', id);
    assert.equal(copy.object, 'broadcast');
    assert.notEqual(copy.id, id);
    const [source, read] = [await suite.data('broadcasts.get', id), await suite.data('broadcasts.get', copy.id)];
    const same = ({ from, subject, reply_to, preview_text, html, text, segment_id, topic_id, status }) =>
      ({ from, subject, reply_to, preview_text, html, text, segment_id, topic_id, status });
    assert.deepEqual(same(read), same(source));
    assert.equal(read.name, 'Node letters (copy)');
    await suite.data('broadcasts.remove', copy.id);
    await suite.refused(404, 'not_found', 'broadcasts.duplicate', UNKNOWN_ID);
  });
  await suite.check('broadcasts.remove', 'a draft, then 404', async () => {
    assert.deepEqual(await suite.data('broadcasts.remove', id), { object: 'broadcast', id, deleted: true });
    await suite.refused(404, 'not_found', 'broadcasts.get', id);
  });
}

async function refusals(suite, draft) {
  const { from, subject, ...rest } = draft;
  for (const [note, status, name, body, message] of [
    ['no sender', 422, 'missing_required_field', { subject, ...rest }, 'Missing `from` field.'],
    ['no subject', 422, 'missing_required_field', { from, ...rest }, 'Missing `subject` field.'],
    ['an unknown segment', 404, 'not_found', { ...draft, [suite.isOlder ? 'audienceId' : 'segmentId']: UNKNOWN_ID }],
    // Version 5 sends neither of these fields.
    ...suite.isOlder ? [] : [
      ['an unknown topic', 404, 'not_found', { ...draft, topicId: UNKNOWN_ID }],
      ['a schedule without `send`', 422, 'validation_error', { ...draft, scheduledAt: inHours(1) }],
    ],
  ]) {
    await suite.check('broadcasts.create', `${note} is ${status} ${name}`, async () => {
      const error = await suite.refused(status, name, 'broadcasts.create', body);
      if (message) assert.equal(error.message, message);
    });
  }
  await suite.check('broadcasts.send', 'a draft without content is 422', async () => {
    const { html, ...empty } = draft;
    const { id } = await suite.data('broadcasts.create', empty);
    await suite.refused(422, 'validation_error', 'broadcasts.send', id);
    assert.equal((await suite.data('broadcasts.get', id)).status, 'draft');
    await suite.data('broadcasts.remove', id);
    await suite.refused(404, 'not_found', 'broadcasts.send', UNKNOWN_ID);
  });
  await suite.check('broadcasts.send', 'an unverified sender is 403, and the draft stays', async () => {
    const { id } = await suite.data('broadcasts.create', { ...draft, from: 'sender@unverified.example' });
    await suite.refused(403, 'validation_error', 'broadcasts.send', id);
    assert.equal((await suite.data('broadcasts.get', id)).status, 'draft');
    await suite.data('broadcasts.remove', id);
  });
}

async function sending(suite, draft) {
  const used = async () => suite.isOlder ? 0 : (await suite.data('usage.get')).broadcasts.used;
  const before = await used();
  const { id } = await suite.data('broadcasts.create', { ...draft, text: 'Hello {{{FIRST_NAME|there}}} {{{RESEND_UNSUBSCRIBE_URL}}}' });
  let read;
  await suite.check('broadcasts.send', 'to the members who are subscribed', async () => {
    const sent = await suite.data('broadcasts.send', id);
    assert.deepEqual([sent.id, sent.estimated, sent.warning], [id, true, undefined]);
    assert.match(sent.finishes_at, TIMESTAMP);
    read = await until(() => suite.data('broadcasts.get', id), ({ status }) => status === 'sent');
    assert.equal(read.sent_count, 3);
    assert.match(read.sent_at, TIMESTAMP);
    if (!suite.isOlder) assert.equal(await used(), before + 1);
  });
  await suite.check('broadcasts.send', 'each recipient has an email with its merge fields', async () => {
    const rows = await until(() => emailsOf(suite, id), (data) => data.length === 3 && data.every((row) => row.last_event !== 'queued'));
    const ada = rows.find((row) => row.to[0] === `${suite.name}-ada@broadcast.example.net`);
    assert.equal(ada.subject, 'News for Ada <3');
    const { data: email } = await suite.client.get(`/emails/${ada.id}`);
    // The link works without a sign-in, so that only the recipient gets it.
    assert.match(email.html, /Hello Ada &lt;3, <a href="\{\{\{UNSUBSCRIBE_URL\}\}\}">/);
    assert.match(email.text, /Hello Ada <3 \{\{\{\w*UNSUBSCRIBE_URL\}\}\}/);
    const { data: list } = await suite.client.get('/emails?limit=100');
    assert.equal(list.data.some((row) => row.id === ada.id), false, 'the list of emails has a recipient of a broadcast');
  });
  await suite.check('broadcasts.send', 'only a draft can be sent, changed and removed', async () => {
    await suite.refused(403, 'validation_error', 'broadcasts.send', id);
    await suite.refused(403, 'validation_error', 'broadcasts.update', id, { name: 'Node' });
    await suite.refused(403, 'validation_error', 'broadcasts.remove', id);
  });
  await recipients(suite, id);
}

const emailsOf = async (suite, id) => (await suite.client.get(`/emails?broadcast_id=${id}`)).data.data;

async function recipients(suite, id) {
  const list = (options) => suite.data('broadcasts.recipients', id, options);
  await suite.check('broadcasts.recipients', 'each type, an address, limit and cursors', async () => {
    const sent = await list({ type: 'sent' });
    assert.deepEqual([sent.object, sent.has_more, sent.data.length], ['list', false, 3]);
    for (const row of sent.data) assert.match(row.contact_id, UUID);
    const bounced = await until(() => list({ type: 'bounced', bounceType: 'permanent' }), ({ data }) => data.length === 1);
    assert.deepEqual([bounced.data[0].email, bounced.data[0].bounce_type], [`bounced+${suite.name}@ringmail.test`, 'permanent']);
    const delivered = await until(() => list({ type: 'delivered' }), ({ data }) => data.length === 2);
    const found = await list({ type: 'delivered', email: '-ada@' });
    assert.deepEqual(found.data.map((row) => row.email), [`${suite.name}-ada@broadcast.example.net`]);
    const first = await list({ type: 'delivered', limit: 1 });
    assert.deepEqual([first.has_more, first.data[0].id], [true, delivered.data[0].id]);
    const [one, two] = delivered.data.map((row) => row.id);
    assert.deepEqual((await list({ type: 'delivered', after: one })).data.map((row) => row.id), [two]);
    assert.deepEqual((await list({ type: 'delivered', before: two })).data.map((row) => row.id), [one]);
    assert.equal((await list({ type: 'bounced', bounceType: 'transient' })).data.length, 0);
    for (const type of ['opened', 'clicked', 'complained', 'unsubscribed', 'suppressed']) {
      assert.deepEqual((await list({ type })).data, [], type);
    }
    await suite.refused(422, 'validation_error', 'broadcasts.recipients', id, { type: 'read' });
    await suite.refused(404, 'not_found', 'broadcasts.recipients', UNKNOWN_ID, { type: 'sent' });
  });
  await suite.check('broadcasts.clickedLinks', 'empty without tracking; an unknown id is 404', async () => {
    for (const options of [undefined, { limit: 1 }]) {
      assert.deepEqual(await suite.data('broadcasts.clickedLinks', id, options), { object: 'list', has_more: false, data: [] });
    }
    await suite.refused(404, 'not_found', 'broadcasts.clickedLinks', UNKNOWN_ID);
  });
}

async function canceling(suite, draft) {
  let scheduled;
  await suite.check('broadcasts.send', 'later, at a time and in words', async () => {
    for (const scheduledAt of [inHours(2), 'in 2 hours']) {
      const { id } = await suite.data('broadcasts.create', draft);
      const sent = await suite.data('broadcasts.send', id, { scheduledAt });
      assert.ok(sent.finishes_at > inHours(1.9), sent.finishes_at);
      const read = await suite.data('broadcasts.get', id);
      assert.deepEqual([read.status, read.sent_at, read.sent_count], ['scheduled', null, 0]);
      assert.ok(read.scheduled_at > inHours(1.9) && read.scheduled_at < inHours(2.1), read.scheduled_at);
      scheduled = id;
    }
  });
  await suite.check('broadcasts.cancel', 'a scheduled one, with the number of emails that are not sent', async () => {
    const canceled = await suite.data('broadcasts.cancel', scheduled);
    assert.deepEqual(canceled, { object: 'broadcast', id: scheduled, canceled_remaining: 3 });
    assert.equal((await suite.data('broadcasts.get', scheduled)).status, 'canceled');
    const again = await suite.refused(403, 'validation_error', 'broadcasts.cancel', scheduled);
    assert.equal(again.message, ONLY_WAITING);
    const { id } = await suite.data('broadcasts.create', draft);
    assert.equal((await suite.refused(403, 'validation_error', 'broadcasts.cancel', id)).message, ONLY_WAITING);
    await suite.data('broadcasts.remove', id);
    await suite.refused(404, 'not_found', 'broadcasts.cancel', UNKNOWN_ID);
  });
  if (suite.isOlder) return; // Version 5 sends no `send`.
  await suite.check('broadcasts.create', 'sent at once, and sent later', async () => {
    const now = await suite.data('broadcasts.create', { ...draft, send: true });
    assert.match(now.finishes_at, TIMESTAMP);
    await until(() => suite.data('broadcasts.get', now.id), ({ status }) => status === 'sent');
    const later = await suite.data('broadcasts.create', { ...draft, send: true, scheduledAt: 'in 3 hours' });
    assert.equal((await suite.data('broadcasts.get', later.id)).status, 'scheduled');
    assert.equal((await suite.data('broadcasts.cancel', later.id)).id, later.id);
  });
}

/** Checks the composed message of one recipient. */
async function message(suite, draft) {
  await suite.check('broadcasts.create', 'the message has the headers of a list, its link and its preview text', async () => {
    const { id } = await suite.data('broadcasts.create', { ...draft, subject: 'Headers', previewText: 'Hi {{{FIRST_NAME}}}', text: 'Leave: {{{RESEND_UNSUBSCRIBE_URL}}}', send: true });
    const email = `${suite.name}-ada@broadcast.example.net`;
    const found = await suite.client.get(`/captured?to=${encodeURIComponent(email)}&subject=Headers&wait=60s`);
    const { data: captured } = await suite.client.get(`/captured/${found.data.data[0].id}`);
    const header = (name) => captured.headers.find((row) => row.name.toLowerCase() === name)?.value ?? '';
    const [link, path] = header('list-unsubscribe').match(/^<(http:\/\/127\.0\.0\.1:\d+(\/unsubscribe\/[\w-]+))>$/)?.slice(1) ?? [];
    assert.ok(link && captured.html.includes(link) && captured.text.includes(`Leave: ${link}`), header('list-unsubscribe'));
    assert.equal(link, `${process.env.RESEND_BASE_URL}${path}`);
    assert.equal(header('list-unsubscribe-post'), 'List-Unsubscribe=One-Click');
    assert.equal(header('list-id'), `<${id}.example.com>`);
    assert.equal(header('precedence'), 'bulk');
    assert.equal(header('auto-submitted'), 'auto-generated');
    assert.equal(header('feedback-id'), `${id}:${(await suite.data('usage.get')).team.id}:broadcast:ringmail`);
    assert.match(captured.html, /Hi Ada &lt;3[^]*Hello Ada &lt;3/);
    assert.doesNotMatch(captured.html + captured.text, /\{\{\{/);
  });
}

/** Checks that the events of the recipients name the broadcast. */
async function events(suite, draft) {
  const receiver = await Receiver.start();
  const types = ['email.sent', 'email.delivered', 'email.bounced'];
  try {
    const webhook = await suite.data('webhooks.create', { endpoint: receiver.url('/broadcast'), events: types });
    await suite.check('broadcasts.create', 'the events of each recipient name the broadcast', async () => {
      const { id } = await suite.data('broadcasts.create', { ...draft, send: true });
      // The events of an earlier broadcast can still arrive.
      const ofIt = (deliveries) => deliveries.filter(({ event }) => event.data.broadcast_id === id);
      const all = ofIt(await receiver.until('/broadcast', (deliveries) => ofIt(deliveries).length >= 6));
      assert.deepEqual(all.map(({ event }) => event.type).sort(), ['email.bounced', ...Array(2).fill('email.delivered'), ...Array(3).fill('email.sent')]);
      assert.equal(new Set(all.map(({ event }) => event.data.email_id)).size, 3);
    });
    await suite.data('webhooks.remove', webhook.id);
  } finally {
    receiver.close();
  }
}

/** Checks the segment and the topic of a draft. */
async function references(suite, draft) {
  await suite.check('broadcasts.update', 'a segment and a topic that a draft uses stay', async () => {
    const topic = await suite.data('topics.create', { name: 'Node broadcasts', defaultSubscription: 'opt_in' });
    const segment = await suite.data('segments.create', { name: 'Node referenced' });
    const { id } = await suite.data('broadcasts.create', { ...draft, segmentId: segment.id, topicId: topic.id });
    assert.equal((await suite.data('broadcasts.get', id)).topic_id, topic.id);
    await suite.refused(409, 'validation_error', 'segments.remove', segment.id);
    await suite.refused(409, 'validation_error', 'topics.remove', topic.id);
    await suite.data('broadcasts.update', id, { topicId: null });
    assert.equal((await suite.data('broadcasts.get', id)).topic_id, null);
    await suite.data('topics.remove', topic.id);
    await suite.data('broadcasts.remove', id);
    await suite.data('segments.remove', segment.id);
  });
  await suite.check('broadcasts.create', 'to every contact: the segment is null, the audience is the team', async () => {
    const { segmentId, ...everyone } = draft;
    const { id } = await suite.data('broadcasts.create', everyone);
    const read = await suite.data('broadcasts.get', id);
    assert.deepEqual([read.segment_id, read.audience_id], [null, (await suite.data('usage.get')).team.id]);
    await suite.data('broadcasts.remove', id);
  });
}

async function keys(suite, draft) {
  await suite.check('broadcasts.create', 'a key for sending alone is refused', async () => {
    const key = await suite.data('apiKeys.create', { name: 'Node sending', permission: 'sending_access' });
    const limited = suite.withKey(key.token);
    await limited.refused(403, 'restricted_api_key', 'broadcasts.create', draft);
    await limited.refused(403, 'restricted_api_key', 'broadcasts.list');
    await suite.data('apiKeys.remove', key.id);
  });
}
