// Opens and clicks of a broadcast: the pixel and the link of the message, requested as a browser does.
import { UUID, assert, until } from './check.mjs';

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0';
const LINK = 'https://shop.example/{{{FIRST_NAME|you}}}?order=42&item=1';
const HTML = `<p><a href="${LINK.replace('&', '&amp;')}">Your order</a></p>`;

export async function tracking(suite) {
  const people = { ada: `${suite.name}-ada@tracked.example.net`, bob: `${suite.name}-bob@tracked.example.net` };
  const segment = await suite.data('segments.create', { name: 'Node tracked' });
  await suite.data('contacts.create', { email: people.ada, firstName: 'Ada', segments: [{ id: segment.id }] });
  await suite.data('contacts.create', { email: people.bob, segments: [{ id: segment.id }] });
  const domain = (await suite.data('domains.list')).data.find(({ name }) => name === 'example.com');
  await suite.data('domains.update', { id: domain.id, openTracking: true, clickTracking: true });
  try {
    await openedAndClicked(suite, people, { segmentId: segment.id, from: 'Example Sender <sender@example.com>', subject: 'Tracked', html: HTML });
  } finally {
    await suite.data('domains.update', { id: domain.id, openTracking: false, clickTracking: false });
  }
}

async function openedAndClicked(suite, { ada, bob }, draft) {
  const { id } = await suite.data('broadcasts.create', { ...draft, name: 'Node tracked', send: true });
  const list = async (type) => (await suite.data('broadcasts.recipients', id, { type })).data;
  const delivered = await until(() => list('delivered'), (rows) => rows.length === 2);
  const idOf = (email) => delivered.find((row) => row.email === email).id;

  await suite.check('broadcasts.recipients', 'an open is counted for its recipient', async () => {
    assert.deepEqual([await list('opened'), await list('clicked')], [[], []]);
    const image = await hit(await trackedUrl(suite, ada, 'o'));
    assert.deepEqual([image.status, image.headers.get('content-type')], [200, 'image/gif']);
    const [row, ...others] = await until(() => list('opened'), (rows) => rows.length > 0);
    assert.match(row.contact_id, UUID);
    assert.deepEqual(row, { id: idOf(ada), contact_id: row.contact_id, email: ada, count: 1 });
    assert.deepEqual([others, await list('clicked')], [[], []]);
  });
  await suite.check('broadcasts.recipients', 'a click is counted with its link, and is an open', async () => {
    for (const [email, name] of [[ada, 'Ada'], [bob, 'you']]) {
      const redirect = await hit(await trackedUrl(suite, email, 'c'));
      assert.deepEqual([redirect.status, redirect.headers.get('location')], [302, `https://shop.example/${name}?order=42&item=1`]);
    }
    const clicked = await until(() => list('clicked'), (rows) => rows.length === 2);
    for (const [email, name] of [[ada, 'Ada'], [bob, 'you']]) {
      const { id: emailId, count, clicked_links } = clicked.find((row) => row.email === email);
      assert.deepEqual([emailId, count, clicked_links], [idOf(email), 1, [{ url: `https://shop.example/${name}?order=42&item=1`, clicks: 1 }]]);
    }
    const opened = await until(() => list('opened'), (rows) => rows.length === 2);
    assert.deepEqual(opened.map(({ email, count }) => [email, count]).sort(), [[ada, 1], [bob, 1]]);
    await until(() => suite.data('emails.get', idOf(bob)), ({ last_event }) => last_event === 'clicked');
  });
  await suite.check('broadcasts.clickedLinks', 'one link, with the clicks and the recipients of both', async () => {
    const page = await until(() => suite.data('broadcasts.clickedLinks', id), ({ data }) => data[0]?.clicks === 2);
    assert.match(page.data[0].id, UUID);
    assert.deepEqual(page, { object: 'list', has_more: false, data: [{ id: page.data[0].id, url: LINK, clicks: 2, unique_clicks: 2 }] });
    assert.deepEqual((await suite.data('broadcasts.clickedLinks', id, { limit: 1, after: page.data[0].id })).data, []);
  });
}

/** Returns the URL of the pixel (`o`) or of the link (`c`) in the message to a recipient. */
async function trackedUrl(suite, email, kind) {
  const { data: found } = await suite.client.get(`/captured?to=${encodeURIComponent(email)}&subject=Tracked&wait=60s`);
  const { data: message } = await suite.client.get(`/captured/${found.data[0].id}`);
  return message.html.match(new RegExp(`"(http[^"]+/t/${kind}/[^"]+)"`))[1];
}

/** Requests a URL as a browser, and follows no redirect. */
const hit = (url) => fetch(url, { headers: { 'user-agent': BROWSER }, redirect: 'manual' });
