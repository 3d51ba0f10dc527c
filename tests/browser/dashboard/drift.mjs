// Compares the fields of the invented answers with those of the real server, because the pages are checked with the invented ones.
import { assert, until } from '../check.mjs';
import { answer } from '../fake/fixtures.mjs';
import { uuid } from '../fake/lists.mjs';
import { ask } from './world.mjs';

/** An endpoint that refuses connections. */
const ENDPOINT = 'http://127.0.0.1:9/hook';

/** Returns the invented answer to the dashboard; with a body, to a change. */
export function invented(target, state = 'full', body = null) {
  const url = new URL(target, 'http://fake.invalid');
  return answer({ method: body ? 'POST' : 'GET', path: url.pathname, query: Object.fromEntries(url.searchParams), body, state }).json;
}

const isThing = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** Fields whose content depends on the email, the request or the event. */
const FREE = ['events', 'request_body', 'response_body', 'payload'];

/** The fields of the rows of a list, with the values that are not null. */
function rowOf(list) {
  const row = {};
  for (const one of list) for (const [name, value] of Object.entries(one)) row[name] ??= value;
  return row;
}

/** The paths at which two answers have another field or another type. Null and an empty list agree with each type. */
function drift(fake, real, path = '') {
  if (fake === null || real === null || fake === undefined || real === undefined) return [];
  if (Array.isArray(fake) && Array.isArray(real)) {
    if (fake.length === 0 || real.length === 0) return [];
    return fake.every(isThing) && real.every(isThing) ? drift(rowOf(fake), rowOf(real), `${path}[]`) : drift(fake[0], real[0], `${path}[]`);
  }
  if (!isThing(fake) || !isThing(real)) return typeof fake === typeof real && Array.isArray(fake) === Array.isArray(real) ? [] : [`${path}: another type`];
  const names = [...new Set([...Object.keys(fake), ...Object.keys(real)])];
  return names.flatMap((name) => {
    const at = `${path}.${name}`;
    if (!(name in real)) return [`${at}: only in the fake server`];
    return name in fake ? (FREE.includes(name) ? [] : drift(fake[name], real[name], at)) : [`${at}: only in the real server`];
  });
}

/** Compares answers: [path of the fake server, path of the real server, state of the fake server, body of a change]. */
export async function compare(request, origin, routes) {
  const found = [];
  for (const [fake, real = fake, state, body] of routes) found.push(...drift(invented(fake, state, body), await ask(request, origin, real, body ? 'POST' : 'GET', body)).map((one) => `${fake} ${one}`));
  assert.deepEqual(found, []);
}

/** Sends an email that waits in the paused queue, and compares the answers about it. */
async function compareQueue(world) {
  await ask(world.context.request, world.origin, '/queue/pause', 'POST');
  try {
    const id = await world.send({ to: 'waits@example.net' });
    const sites = await until('a site with queued email', async () => { const list = await world.read('/queue'); return list.data.length > 0 && list; });
    await compare(world.context.request, world.origin, [['/queue'], ['/queue/gmail.com', `/queue/${encodeURIComponent(sites.data[0].site)}`], [`/emails/${uuid('6b0d', 3)}/attempts`, `/emails/${id}/attempts`]]);
  } finally {
    await ask(world.context.request, world.origin, '/queue/resume', 'POST');
  }
}

/** A development server: emails, captured messages, webhooks, and the queue. */
async function theAnswersAreThoseOfTheServer(world) {
  const { request } = world.context, { origin } = world;
  const webhook = await world.call('POST', '/webhooks', { endpoint: ENDPOINT, events: ['email.sent', 'email.delivered'] });
  try {
    const id = await world.send({ tags: [{ name: 'category', value: 'invoice' }] });
    const deliveries = `/webhooks/${webhook.id}/deliveries`;
    const delivery = await until('an attempt of the delivery', async () => (await world.read(deliveries)).data.find((row) => row.attempts > 0)?.id);
    const captured = await world.capturedId(id);
    const hook = `/webhooks/${uuid('4400', 0)}`, fakeEmail = `/emails/${uuid('6b0d', 1)}`, fakeDelivery = `msg_${uuid('e0e0', 1).replaceAll('-', '')}`;
    await compare(request, origin, [
      ['/me', '/me', 'dev'], ['/overview'], ['/connect', '/connect', 'dev'], ['/search?q=hello', '/search?q=hello'], ['/emails'],
      [fakeEmail, `/emails/${id}`], [`${fakeEmail}/request`, `/emails/${id}/request`], [`${fakeEmail}/attempts`, `/emails/${id}/attempts`], [`${fakeEmail}/deliveries`, `/emails/${id}/deliveries`],
      ['/captured'], [`/captured/${invented('/captured').data[0].id}`, `/captured/${captured}`],
      ['/webhooks'], [hook, `/webhooks/${webhook.id}`], [`${hook}/deliveries`, deliveries], [`${hook}/deliveries/${fakeDelivery}`, `${deliveries}/${delivery}`],
      ['/logs'], [`/logs/${uuid('10c0', 0)}`, `/logs/${(await world.read('/logs')).data[0].id}`], ['/api-keys'], ['/domains'], ['/health'],
    ]);
    await compareQueue(world);
  } finally {
    await world.call('DELETE', `/webhooks/${webhook.id}`);
  }
}

/** A server with accounts: who is signed in, and the sessions. */
async function theAnswersAboutASessionAreThoseOfTheServer(world) {
  const page = await world.signedIn();
  await compare(page.context().request, world.origin, [['/me'], ['/sessions'], ['/connect']]);
  await page.leave();
}

export const drifts = [['dashboard: the invented answers have the fields of the server', theAnswersAreThoseOfTheServer]];
export const sessionDrifts = [['dashboard: the invented answers about a session have the fields of the server', theAnswersAboutASessionAreThoseOfTheServer]];
