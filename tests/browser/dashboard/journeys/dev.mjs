// Journeys on a development server.
import { createServer } from 'node:http';
import { listen } from '../../../lib/ports.mjs';
import { assert, journey, until } from '../../check.mjs';
import { Program } from '../../program.mjs';

/** Requests until the first page is usable. */
const REQUESTS_MAX = 12;

const nothing = () => null;

/** From the start of the program to the rendered email, with the address and the key that the page shows. */
async function firstStart(world) {
  const program = await Program.dev();
  const context = await world.newContext();
  try {
    const page = await world.tab(context, program.origin);
    let requests = 0;
    page.on('request', (request) => { if (!/\/open\/|\/api\/events$/.test(request.url())) requests += 1; });
    await page.goto(await program.link());
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.ok(requests <= REQUESTS_MAX, `${requests} requests until the first page is usable`);
    await page.getByRole('link', { name: 'Emails', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Waiting for your first email' }).waitFor();
    const credentials = page.locator('.creds');
    const base = await credentials.locator('div', { hasText: 'Base URL' }).locator('code').textContent();
    const key = await credentials.locator('div', { hasText: 'API key' }).locator('code').textContent();
    const response = await fetch(`${base}/emails`, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body: JSON.stringify({ from: 'hello@example.com', to: 'ada@example.net', subject: 'The first one', html: '<h1>It works.</h1>' }) });
    assert.equal(response.status, 200, await response.text());
    await page.getByRole('heading', { name: 'Your first email is here' }).waitFor();
    await page.getByRole('link', { name: 'Open email' }).click();
    await page.getByRole('heading', { level: 1, name: 'The first one' }).waitFor();
    await page.frameLocator('iframe').getByText('It works.').waitFor();
    await page.leave();
  } finally {
    await context.close();
    await program.stop();
  }
}

async function manyEmailsAndABounce(world) {
  await world.clear();
  for (let n = 0; n < 30; n += 1) await world.send({ subject: `Number ${n}` });
  const id = await world.send({ to: 'bounced@resend.dev', subject: 'Confirm your address' });
  await until('the bounce', async () => (await world.call('GET', `/emails/${id}`)).last_event === 'bounced');
}

async function findTheBounce(world) {
  const page = await world.tab();
  await page.show('/emails');
  await page.getByRole('button', { name: 'Status' }).click();
  await page.getByRole('checkbox', { name: 'Bounced', exact: true }).click();
  await page.keyboard.press('Escape');
  const found = page.getByRole('link', { name: 'Confirm your address' });
  await found.waitFor();
  assert.equal(await page.locator('a.cell').count(), 1);
  await found.click();
  await page.getByText(/^Bounced: /).waitFor();
  await page.getByText('no address joined the suppression list').waitFor();
  assert.equal(await page.getByText('The address joined the suppression list.').count(), 0);
  await page.leave();
}

async function aCapturedMessage(world) {
  await world.clear();
  const id = await world.send({ subject: 'Deliver me', html: '<p>482 913</p>' });
  await until('the captured message', async () => (await world.call('GET', `/emails/${id}`)).last_event === 'delivered');
}

async function release(world) {
  const page = await world.tab();
  await page.show('/captured');
  await page.getByRole('link', { name: 'Deliver me' }).first().click();
  await page.getByText('Would have gone to').waitFor();
  await page.getByRole('button', { name: 'Release…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Release email' }).click();
  await page.getByText(/^Released .*: it was sent to its recipients\.$/).waitFor();
  await until('the message at the smarthost', () => world.smarthost.messages.some((message) => message.includes('Subject: Deliver me\r\n')));
  await page.leave();
}

/** Publishes the records that the page shows, as the form of a DNS provider takes them: with short names. */
async function publish(world, page, apex) {
  const records = await page.locator('.rec').evaluateAll((blocks) => blocks.map((block) => {
    const value = (label) => [...block.querySelectorAll('.recs > div')].find((row) => row.querySelector('dt').textContent === label)?.querySelector('code').textContent;
    return { name: value('Name'), type: block.querySelector('summary .tag').textContent, value: value('Value') ?? value('Should be'), priority: Number(value('Priority') ?? 0) };
  }));
  assert.equal(records.length, 5);
  for (const record of records) {
    assert.ok(record.name.endsWith(`.${apex}`), record.name);
    world.names.publish(record);
  }
}

async function addAndVerifyADomain(world) {
  const page = await world.tab();
  await page.show('/domains');
  await page.getByRole('button', { name: 'Add domain' }).first().click();
  await page.getByLabel('Domain', { exact: true }).fill('mail.acme.example');
  await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
  await page.getByRole('heading', { level: 1, name: 'mail.acme.example' }).waitFor();
  await page.getByRole('button', { name: 'Verify domain' }).click();
  await page.getByRole('heading', { name: /records are missing/ }).waitFor();
  await page.getByRole('button', { name: 'Open all' }).click();
  await publish(world, page, 'acme.example');
  await page.getByRole('button', { name: 'Check again' }).click();
  await page.getByRole('heading', { name: 'Verified' }).waitFor();
  assert.equal(await page.locator('.rec .pill', { hasText: 'Found' }).count(), 5);
  await page.getByRole('button', { name: 'Send a test email' }).click();
  await page.getByRole('dialog').getByLabel('To').fill('ada@example.net');
  await page.getByRole('dialog').getByRole('button', { name: 'Send email' }).click();
  await page.getByRole('heading', { level: 1, name: 'A test from mail.acme.example' }).waitFor();
  await page.leave();
}

async function sendATestEmail(world) {
  const { name } = (await world.call('GET', '/domains')).data.find(({ status }) => status === 'verified');
  const page = await world.tab();
  await page.show('/captured');
  await page.getByRole('button', { name: 'Send a test email' }).click();
  const dialog = page.getByRole('dialog');
  await until('the sender', async () => (await dialog.getByLabel('From').inputValue()) === `hello@${name}`);
  await dialog.getByRole('button', { name: 'Send email' }).click();
  await page.getByRole('heading', { level: 1, name: 'Hello' }).waitFor();
  await page.leave();
}

async function restrictAndRevokeAKey(world) {
  const { id } = (await world.call('GET', '/domains')).data.find(({ name }) => name === 'example.com');
  const page = await world.tab();
  await page.show('/api-keys');
  await page.getByRole('button', { name: 'Create API key' }).first().click();
  await page.getByLabel('Name').fill('Shop');
  await page.getByLabel('Domain').selectOption(id);
  await page.getByRole('dialog').getByRole('button', { name: 'Create API key' }).click();
  const token = await page.locator('#new-token').textContent();
  assert.match(token, /^rm_/);
  await page.getByRole('button', { name: 'I have copied the key' }).click();
  const ask = (path, body) => fetch(world.origin + path, { method: body ? 'POST' : 'GET', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: body && JSON.stringify(body) }).then((response) => response.status);
  const email = { from: 'hello@example.com', to: 'ada@example.net', subject: 'From the shop', text: 'x' };
  assert.equal(await ask('/emails', email), 200);
  assert.ok([401, 403].includes(await ask('/domains')), 'a key for sending reads nothing');
  await page.getByRole('row', { name: 'Shop' }).getByText('Sending, example.com only').waitFor();
  await page.getByRole('button', { name: 'Actions of Shop' }).click();
  await page.getByRole('button', { name: 'Revoke…' }).click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('Revoked Shop').waitFor();
  assert.ok([401, 403].includes(await ask('/emails', email)), 'a revoked key sends nothing');
  await page.leave();
}

/** A program that refuses events until `isWell` is set. */
async function receiver() {
  const received = [];
  const server = await listen(createServer((request, response) => {
    request.resume().on('end', () => {
      received.push(request.headers);
      response.writeHead(server.isWell ? 200 : 500).end(server.isWell ? 'ok' : 'the database is away');
    });
  }));
  return { server, received, url: `http://127.0.0.1:${server.address().port}/hook` };
}

async function aFailedDelivery(world) {
  const { server, received, url } = await receiver();
  const page = await world.tab();
  await page.show('/webhooks?create=1');
  await page.getByRole('textbox', { name: 'Endpoint' }).fill(url);
  await page.getByLabel('Some events').check();
  await page.getByRole('button', { name: 'Add endpoint' }).last().click();
  await page.getByRole('heading', { level: 1, name: url }).waitFor();
  await page.getByRole('button', { name: 'Send test…' }).click();
  await page.getByRole('button', { name: 'Send event' }).click();
  await page.getByRole('dialog').getByText('the database is away').waitFor();
  await page.leave();
  server.isWell = true;
  return { server, received, url };
}

async function replayADelivery(world, { server, received, url }) {
  const page = await world.tab();
  await page.show('/webhooks');
  await page.getByRole('link', { name: url }).click();
  await page.getByRole('heading', { level: 1, name: url }).waitFor();
  await page.locator('a.cell').first().click();
  const drawer = page.getByRole('dialog');
  await drawer.getByText('the database is away').waitFor();
  await drawer.getByRole('button', { name: 'Replay' }).click();
  await drawer.getByText('Delivered', { exact: true }).first().waitFor();
  // On a busy machine, the retry of the schedule arrives too.
  assert.ok(received.length >= 2, `${received.length} requests`);
  assert.equal(new Set(received.map((headers) => headers['webhook-id'])).size, 1);
  await page.leave();
  server.close();
}

export const devJourneys = [
  journey('first start to first email seen', nothing, firstStart),
  journey('find a bounced email and its cause', manyEmailsAndABounce, findTheBounce),
  journey('release a captured message', aCapturedMessage, release),
  journey('add a domain and verify it', nothing, addAndVerifyADomain),
  journey('send a test email', nothing, sendATestEmail),
  journey('restrict and revoke a key', nothing, restrictAndRevokeAKey),
  journey('replay a failed delivery', aFailedDelivery, replayADelivery),
];
