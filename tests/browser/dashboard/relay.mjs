// The page of an email and the queue, on a server that delivers to a smarthost.
import http from 'node:http';
import { readFile } from 'node:fs/promises';
import { listen } from '../../lib/ports.mjs';
import { assert, until } from '../check.mjs';

const has = (world, id, status) => until(`the status ${status}`, async () => (await world.call('GET', `/emails/${id}`)).last_event === status);

/** The conversation of the last attempt is open, and the user can close it and open it again. */
async function theConversationOfAnAttemptIsShown(world) {
  const id = await world.send({ subject: 'With a conversation' });
  await has(world, id, 'delivered');
  const page = await world.tab();
  await page.show(`/emails/${id}`);
  const conversation = page.getByRole('list', { name: 'Timeline' }).locator('details');
  const line = conversation.getByText('RCPT TO:<ada@example.net>');
  await line.waitFor();
  await conversation.getByText('250 accepted').waitFor();
  await conversation.locator('summary').click();
  await line.waitFor({ state: 'hidden' });
  await conversation.locator('summary').click();
  await line.waitFor();
  await page.leave();
}

async function anAttachmentIsDownloaded(world) {
  const content = 'An invoice of no amount.\n';
  const id = await world.send({ subject: 'With a file', attachments: [{ filename: 'invoice.txt', content: Buffer.from(content).toString('base64') }] });
  const page = await world.tab();
  await page.show(`/emails/${id}`);
  await page.getByRole('tab', { name: 'Attachments' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'invoice.txt' }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), 'invoice.txt');
  assert.equal(await readFile(await file.path(), 'utf8'), content);
  await page.leave();
}

/** The page of an email names its request and its webhook deliveries, and replays the failed ones. */
async function theFailedDeliveriesOfAnEmailAreReplayed(world) {
  let status = 500;
  const received = [];
  const server = await listen(http.createServer((request, response) => request.resume().on('end', () => {
    received.push([request.headers['webhook-id'], status]);
    response.writeHead(status).end();
  })));
  try {
    const endpoint = `http://127.0.0.1:${server.address().port}/hook`;
    const webhook = await world.call('POST', '/webhooks', { endpoint, events: ['email.delivered'] });
    const id = await world.send({ subject: 'With a webhook' });
    const deliveries = async () => (await world.read(`/emails/${id}/deliveries`)).data;
    await until('the refused delivery', async () => (await deliveries())[0]?.attempts === 1);
    // The delivery of a disabled endpoint fails without a further attempt.
    await world.call('PATCH', `/webhooks/${webhook.id}`, { status: 'disabled' });
    await until('the failed delivery', async () => (await deliveries())[0]?.status === 'failed');
    await world.call('PATCH', `/webhooks/${webhook.id}`, { status: 'enabled' });
    status = 200;
    const page = await world.tab();
    await page.show(`/emails/${id}`);
    const card = page.getByRole('region', { name: 'Webhook deliveries' });
    await card.getByText('email.delivered').waitFor();
    await card.getByText('500', { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Replay failed' }).click();
    await page.getByText('Sends 1 event again').waitFor();
    await card.getByText('200', { exact: true }).waitFor();
    assert.equal(await card.getByRole('button', { name: 'Replay failed' }).count(), 0);
    assert.deepEqual(received.at(-1), [received[0][0], 200]);
    await page.getByRole('region', { name: 'API request' }).getByRole('link', { name: 'POST /emails' }).click();
    await page.getByRole('dialog').getByText('With a webhook').first().waitFor();
    await world.call('DELETE', `/webhooks/${webhook.id}`);
    await page.leave();
  } finally {
    server.close();
  }
}

async function anEmailIsSentAgain(world) {
  const id = await world.send({ subject: 'Sent twice' });
  await has(world, id, 'delivered');
  const page = await world.tab();
  await page.show(`/emails/${id}`);
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('Sent again, as a new email').waitFor();
  await page.getByRole('heading', { level: 1, name: 'Sent twice' }).waitFor();
  assert.ok(!page.url().includes(id), page.url());
  await until('the second message', () => world.smarthost.messages.filter((message) => message.includes('Subject: Sent twice\r\n')).length === 2);
  await page.leave();
}

/** A site is paused and resumed, and an email for it is tried before its time. */
async function aSiteIsPausedAndTried(world) {
  world.smarthost.refusal = '450 4.2.0 Try again later';
  try {
    const id = await world.send({ subject: 'Waits in the queue' });
    await has(world, id, 'delivery_delayed');
    const page = await world.tab();
    await page.show('/queue');
    await page.locator('.q-site').click();
    const open = page.locator('.q-exp');
    await open.getByText('450 4.2.0 Try again later').first().waitFor();
    await open.getByRole('button', { name: 'Pause site' }).click();
    const row = page.locator('tr.is-open');
    await row.getByText('Paused by you').waitFor();
    await open.getByRole('button', { name: 'Try now' }).waitFor({ state: 'detached' });
    world.smarthost.refusal = null;
    await open.getByRole('button', { name: 'Resume site' }).click();
    await row.getByText('Paused by you').waitFor({ state: 'detached' });
    await open.getByRole('button', { name: 'Try now' }).click();
    await page.getByText(/^Tries \d+ groups? of recipients now$/).waitFor();
    await has(world, id, 'delivered');
    await page.getByRole('heading', { name: 'Nothing waits' }).waitFor();
    await page.leave();
  } finally {
    world.smarthost.refusal = null;
  }
}

export const relay = [
  ['dashboard: the conversation of an attempt is shown', theConversationOfAnAttemptIsShown],
  ['dashboard: an attachment is downloaded', anAttachmentIsDownloaded],
  ['dashboard: the failed deliveries of an email are replayed', theFailedDeliveriesOfAnEmailAreReplayed],
  ['dashboard: an email is sent again', anEmailIsSentAgain],
  ['dashboard: a site is paused and tried', aSiteIsPausedAndTried],
];
