// The controls of emails and their lists: the effect of each one on the server.
import { assert, until } from '../check.mjs';
import { KEY } from '../program.mjs';
import { tabUntil } from './keyboard.mjs';

const IN_A_DAY_MS = 86_400_000;

const heading = (page, name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

async function aScheduledEmailGetsAnotherTimeAndIsCanceled(world) {
  const id = await world.send({ subject: 'For later', scheduled_at: new Date(Date.now() + IN_A_DAY_MS).toISOString() });
  const email = () => world.call('GET', `/emails/${id}`);
  const page = await world.tab();
  await page.show(`/emails/${id}`);
  await page.getByRole('button', { name: 'Change time…' }).click();
  const later = new Date(Math.floor(Date.now() / 1000) * 1000 + 2 * IN_A_DAY_MS).toISOString();
  await page.getByRole('dialog').getByLabel('Send at').fill(later);
  await page.getByRole('dialog').getByRole('button', { name: 'Change time' }).click();
  await page.getByText('The email has another time').waitFor();
  assert.equal(new Date((await email()).scheduled_at.replace(' ', 'T').replace(/\+00$/, 'Z')).getTime(), new Date(later).getTime());
  await page.getByRole('button', { name: 'Cancel email' }).click();
  await page.getByText('Canceled the email').waitFor();
  assert.equal((await email()).last_event, 'canceled');
  await page.getByRole('button', { name: 'Cancel email' }).waitFor({ state: 'detached' });
  await page.leave();
}

async function anEmailIsDeleted(world) {
  const id = await world.send({ subject: 'To be deleted' });
  const page = await world.tab();
  // An event can make the page ask for the email while it is deleted.
  page.expected = /404/;
  await page.show(`/emails/${id}`);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete email' }).click();
  await page.getByText('Deleted the email').waitFor();
  await heading(page, 'Emails');
  await assert.rejects(world.call('GET', `/emails/${id}`), /404/);
  await page.leave();
}

async function selectedEmailsAreSentAgainAndDeleted(world) {
  await world.clear();
  for (const subject of ['Stays', 'First picked', 'Second picked']) await world.send({ subject });
  const subjects = async () => (await world.call('GET', '/emails?limit=100')).data.map(({ subject }) => subject);
  const page = await world.tab();
  await page.show('/emails');
  const pick = async () => {
    for (const name of ['First picked', 'Second picked']) await page.getByRole('row', { name }).last().getByRole('checkbox').check();
  };
  const bulk = page.getByRole('toolbar', { name: 'Selected emails' });
  await page.getByRole('link', { name: 'Stays' }).waitFor();
  await pick();
  await bulk.getByText('2 selected').waitFor();
  await bulk.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('Sent 2 emails again').waitFor();
  await bulk.waitFor({ state: 'detached' });
  assert.deepEqual((await subjects()).sort(), ['First picked', 'First picked', 'Second picked', 'Second picked', 'Stays']);
  await pick();
  await bulk.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 emails' }).click();
  await page.getByText('Deleted 2 emails').waitFor();
  assert.deepEqual((await subjects()).sort(), ['First picked', 'Second picked', 'Stays']);
  await page.leave();
}

async function aFilterIsAddedAndRemoved(world) {
  await world.clear();
  await world.send({ subject: 'For Ada' });
  await world.send({ subject: 'For Grace', to: 'grace@example.org' });
  const page = await world.tab();
  await page.show('/emails');
  await page.getByRole('link', { name: 'For Ada' }).waitFor();
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Field').selectOption('to');
  await dialog.getByRole('button', { name: 'Add filter' }).click();
  await dialog.getByText('Give a value.').waitFor();
  await dialog.getByLabel('To').fill('grace@example.org');
  await dialog.getByLabel('To').press('Control+Enter');
  await page.getByRole('link', { name: 'For Ada' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'For Grace' }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('to'), 'grace@example.org');
  await page.getByRole('button', { name: 'Remove the filter to' }).click();
  await page.getByRole('link', { name: 'For Ada' }).waitFor();
  await page.leave();
}

/** Buttons and the keys `[` and `]` turn the pages of a list. The browser remembers the rows on a page. */
async function thePagesOfAListAreTurned(world) {
  await world.clear();
  for (let n = 0; n < 25; n += 1) await world.send({ subject: `Page row ${n}` });
  // Another context: the number of rows is kept by the browser.
  const context = await world.session();
  const page = await world.tab(context);
  await page.show('/emails');
  const row = (n) => page.getByRole('link', { name: `Page row ${n}`, exact: true });
  const size = page.getByRole('combobox', { name: 'Rows on a page' });
  const rows = (count) => until(`${count} rows`, async () => await page.locator('a.cell').count() === count);
  await rows(25);
  await size.selectOption('20');
  await rows(20);
  await page.getByRole('button', { name: 'Older' }).click();
  await row(4).waitFor();
  await rows(5);
  assert.equal(await page.getByRole('button', { name: 'Older' }).getAttribute('aria-disabled'), 'true');
  await page.getByRole('button', { name: 'Newer' }).click();
  await row(24).waitFor();
  await rows(20);
  await page.locator('#main').focus();
  await page.keyboard.press(']');
  await row(4).waitFor();
  await page.keyboard.press('[');
  await row(24).waitFor();
  await page.reload();
  await rows(20);
  assert.equal(await size.inputValue(), '20');
  await page.leave();
  await context.close();
}

async function allCapturedEmailsAreDeleted(world) {
  const id = await world.send({ subject: 'One of all' });
  await until('the captured message', async () => (await world.call('GET', `/emails/${id}`)).last_event === 'delivered');
  const page = await world.tab();
  await page.show('/captured');
  await page.getByRole('link', { name: 'One of all' }).first().waitFor();
  await page.getByRole('button', { name: 'Delete all' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click();
  await page.getByText('Deleted all captured emails').waitFor();
  await page.getByRole('link', { name: 'One of all' }).waitFor({ state: 'detached' });
  assert.deepEqual((await world.read('/captured')).data, []);
  assert.equal((await world.call('GET', `/emails/${id}`)).subject, 'One of all');
  await page.leave();
}

/** No reload: the request of the SDK reaches the open page. */
async function anSdkIsSeen(world) {
  const page = await world.tab();
  let answer;
  const held = new Promise((resolve) => { answer = resolve; });
  await page.route('**/dashboard/api/connect', async (route) => { await held; await route.continue(); }, { times: 1 });
  await page.show('/connect');
  const sdk = page.getByRole('region', { name: 'SDKs' }).getByRole('listitem').filter({ hasText: 'Node.js' });
  await sdk.waitFor();
  assert.equal(await sdk.getByText('Not seen').count(), 0, 'nothing is known yet');
  answer();
  await sdk.getByText('Not seen').waitFor();
  const response = await fetch(`${world.origin}/emails`, { method: 'POST', headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'user-agent': 'resend-node:6.0.0' }, body: JSON.stringify({ from: 'hello@example.com', to: 'ada@example.net', subject: 'By an SDK', text: 'x' }) });
  assert.equal(response.status, 200);
  await sdk.getByText('Seen', { exact: true }).waitFor();
  await page.leave();
}

/** The search of the list, a test email, and its deletion, with no use of the mouse. */
async function aTestEmailIsSentAndDeletedByKeyboard(world) {
  await world.clear();
  await world.send({ subject: 'Another one' });
  const page = await world.tab();
  page.expected = /404/;
  const { keyboard } = page;
  const tabTo = (text) => tabUntil(page, text);
  await page.show('/emails');
  await page.getByRole('link', { name: 'Another one' }).waitFor();
  await tabTo('Send a test email');
  await keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await until('the sender', async () => (await dialog.getByLabel('From').inputValue()) !== '');
  await keyboard.press('Tab');
  await keyboard.press('Tab');
  await until('the focus on the subject', () => dialog.getByLabel('Subject').evaluate((field) => field === document.activeElement));
  await keyboard.press('Control+a');
  await keyboard.type('Typed');
  await keyboard.press('Control+Enter');
  await heading(page, 'Typed');
  await tabTo('More actions');
  await keyboard.press('Enter');
  await page.getByRole('button', { name: 'Delete…' }).waitFor();
  await tabTo('Delete…');
  await keyboard.press('Enter');
  await dialog.waitFor();
  await tabTo('Delete email');
  await keyboard.press('Enter');
  await heading(page, 'Emails');
  await page.getByRole('link', { name: 'Another one' }).waitFor();
  await keyboard.press('/');
  await until('the focus on the search', () => page.getByRole('searchbox', { name: 'Search emails' }).evaluate((field) => field === document.activeElement));
  await keyboard.type('Typed');
  await page.getByRole('heading', { name: 'No email matches' }).waitFor();
  assert.deepEqual((await world.call('GET', '/emails')).data.map(({ subject }) => subject), ['Another one']);
  await page.leave();
}

async function theChecksOfTheServerRunAgain(world) {
  const page = await world.tab();
  await page.show('/health');
  const checked = page.getByRole('status').filter({ hasText: 'Checked' });
  await checked.waitFor();
  const all = await page.locator('.rec').count();
  await page.getByRole('button', { name: 'Problems' }).click();
  await page.waitForURL(/show=problems/);
  assert.equal(await page.locator('.rec').filter({ has: page.locator('.pill', { hasText: 'Well' }) }).count(), 0);
  await page.getByRole('button', { name: 'All checks', exact: true }).click();
  assert.equal(await page.locator('.rec').count(), all);
  const ran = page.waitForResponse((response) => response.url().endsWith('/health/run'));
  await page.getByRole('button', { name: 'Run again' }).click();
  // Other checks of this suite add domains, of which each has a check.
  const { length } = (await (await ran).json()).data;
  await until('the results', async () => await page.locator('.rec').count() === length);
  await checked.waitFor();
  await page.getByRole('button', { name: 'Copy report' }).click();
  await page.getByText('Copied the report').waitFor();
  await page.leave();
}

export const controls = [
  ['dashboard: a scheduled email gets another time and is canceled', aScheduledEmailGetsAnotherTimeAndIsCanceled],
  ['dashboard: an email is deleted', anEmailIsDeleted],
  ['dashboard: selected emails are sent again and deleted', selectedEmailsAreSentAgainAndDeleted],
  ['dashboard: a filter is added and removed', aFilterIsAddedAndRemoved],
  ['dashboard: the pages of a list are turned', thePagesOfAListAreTurned],
  ['dashboard: all captured emails are deleted', allCapturedEmailsAreDeleted],
  ['dashboard: an SDK is seen', anSdkIsSeen],
  ['dashboard: the checks of the server run again', theChecksOfTheServerRunAgain],
  ['dashboard: a test email is sent and deleted by keyboard', aTestEmailIsSentAndDeletedByKeyboard],
];
