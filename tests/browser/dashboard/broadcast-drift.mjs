// Compares the invented answers about broadcasts and templates with those of the real server, as `drift.mjs` does.
import { assert, until } from '../check.mjs';
import { uuid } from '../fake/lists.mjs';
import { Program } from '../program.mjs';
import { compare } from './drift.mjs';
import { ask } from './world.mjs';

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
/** An address that always bounces. */
const BOUNCED = 'bounced@resend.dev';
const SOURCE = '# Hi {{{FIRST_NAME}}}\n\n![](https://acme.com/a.png) [Views](http://127.0.0.1:9/views)\n';
const TEMPLATE = { name: 'Order', alias: 'order', subject: 'Your order {{{ORDER}}}', html: '<p>{{{ORDER}}} <b>{{{NAME|there}}}</b></p>', text: 'Your order {{{ORDER}}}' };

/** Creates a topic, and a segment with two contacts that receive emails and one that does not. */
async function anAudience(program) {
  const { data: [domain] } = await program.call('GET', '/domains');
  await program.call('PATCH', `/domains/${domain.id}`, { open_tracking: true, click_tracking: true });
  const segment = await program.call('POST', '/segments', { name: 'Readers' }), topic = await program.call('POST', '/topics', { name: 'News', default_subscription: 'opt_in' });
  for (const email of ['ada@example.net', 'olle@example.org', BOUNCED]) await program.call('POST', '/contacts', { email, first_name: 'Ada', segments: [{ id: segment.id }] });
  return { segment_id: segment.id, topic_id: topic.id };
}

/** Sends a broadcast, and follows a link of it as a person does. Returns its id. */
async function aSentBroadcast(program, fields) {
  const { id } = await program.call('POST', '/broadcasts', { ...fields, html: '<p><a href="https://acme.com/views">Views</a> {{{UNSUBSCRIBE_URL}}}</p>' });
  await program.call('POST', `/broadcasts/${id}/send`, {});
  await until('the sent broadcast', async () => (await program.call('GET', `/broadcasts/${id}`)).status === 'sent');
  const message = await until('a captured message', async () => (await program.call('GET', '/captured')).data[0]);
  const [, url] = /href="([^"]+\/t\/c\/[^"]+)"/.exec((await program.call('GET', `/captured/${message.id}`)).html);
  assert.equal((await fetch(url, { redirect: 'manual', headers: { 'user-agent': BROWSER } })).status, 302);
  await until('the click', async () => (await program.call('GET', `/broadcasts/${id}/clicked-links`)).data.length > 0);
  return id;
}

async function theAnswersAboutBroadcastsAreThoseOfTheServer(world) {
  // Each click is one of a person, however soon it comes.
  const program = await Program.dev(() => ['--prefetch-window-s', '0']), { origin } = program;
  const context = await world.newContext();
  try {
    const page = await context.newPage();
    await page.goto(await program.link());
    const fields = { from: 'Acme <news@example.com>', subject: 'Hello', name: 'News', preview_text: 'In short', reply_to: ['hello@example.com'], ...(await anAudience(program)) };
    const sent = `/broadcasts/${await aSentBroadcast(program, fields)}`;
    const { id } = await program.call('POST', '/broadcasts', fields), draft = `/broadcasts/${id}`;
    await ask(context.request, origin, `${draft}/content`, 'PUT', { source: SOURCE });
    const later = `/broadcasts/${(await program.call('POST', `${sent}/duplicate`)).id}`;
    await program.call('POST', `${later}/send`, { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() });
    const template = `/templates/${(await program.call('POST', '/templates', TEMPLATE)).id}`;
    await program.call('POST', `${template}/publish`);
    const [fakeDraft, , fakeLater, fakeSent] = [0, 1, 2, 3].map((n) => `/broadcasts/${uuid('b0ad', n)}`), fakeTemplate = `/templates/${uuid('7e41', 0)}`;
    await compare(context.request, origin, [
      ['/broadcasts'], [fakeDraft, draft], [fakeLater, later], [fakeSent, sent], [`${fakeDraft}/content`, `${draft}/content`], [`${fakeDraft}/rendered`, `${draft}/rendered`],
      [`${fakeDraft}/check`, `${draft}/check`, 'full', { links: true }], [`${fakeDraft}/check`, `${draft}/check`, 'full', {}],
      [`${fakeSent}/report`, `${sent}/report`], [`${fakeLater}/report`, `${later}/report`], [`${fakeSent}/clicked-links`, `${sent}/clicked-links`],
      ...['sent', 'delivered', 'bounced', 'clicked', 'opened'].map((type) => [`${fakeSent}/recipients?type=${type}`, `${sent}/recipients?type=${type}`]),
      ['/templates'], [fakeTemplate, template], [`${fakeTemplate}/rendered?variables={}`, `${template}/rendered?variables={}`],
      ['/segments'], ['/topics'], ['/contacts'],
    ]);
    await context.close();
  } finally {
    await program.stop();
  }
}

export const broadcastDrifts = [['dashboard: the invented answers about broadcasts have the fields of the server', theAnswersAboutBroadcastsAreThoseOfTheServer]];
