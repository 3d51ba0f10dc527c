// Emails and captured messages: their content, the way back to a list, and the keyboard alone.
import { readFile } from 'node:fs/promises';
import { assert, until } from '../check.mjs';
import { findings } from '../browser.mjs';

async function allPartsOfAnEmailAreShown(world) {
  const id = await world.send({ subject: 'All parts' });
  const page = await world.tab();
  await page.show(`/emails/${id}`);
  await page.getByRole('list', { name: 'Timeline' }).getByText('Delivered').waitFor();
  await page.frameLocator('iframe').getByText('It works.').waitFor();
  for (const [tab, text] of [['Text', 'It works.'], ['HTML', '<h1>It works.</h1>'], ['Headers', 'ada@example.net'], ['Raw', 'Subject: All parts']]) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByRole('tabpanel').getByText(text).first().waitFor();
  }
  assert.match(page.url(), /tab=raw/);
  await page.leave();
}

async function theWayBackLeadsToTheRow(world) {
  await world.send({ to: 'bounced@resend.dev', subject: 'Comes back' });
  const page = await world.tab();
  await page.show('/emails?status=bounced');
  const found = page.getByRole('link', { name: 'Comes back' });
  await found.click();
  await page.getByRole('heading', { level: 1, name: 'Comes back' }).waitFor();
  await page.goBack();
  await found.waitFor();
  assert.match(page.url(), /status=bounced/);
  await until('the focus on the row', () => found.evaluate((link) => link === document.activeElement));
  await page.leave();
}

async function answersAreAskedForOnceAndBeforeTheirPageIsThere(world) {
  const id = await world.send({ subject: 'Asked early' });
  await until('the end of the events', async () => (await world.call('GET', `/emails/${id}`)).last_event === 'delivered');
  const page = await world.tab();
  const requests = [];
  page.on('request', (request) => { requests.push(new URL(request.url()).pathname.replace('/dashboard/api', '')); });
  const times = (path) => requests.filter((one) => one === path).length;
  const asked = (path) => page.waitForRequest((request) => new URL(request.url()).pathname === `/dashboard/api${path}`);
  const stream = page.waitForResponse((response) => new URL(response.url()).pathname === '/dashboard/api/events');
  await page.show('/emails');
  const link = page.getByRole('link', { name: 'Asked early' });
  await link.hover();
  // An early answer from before the stream of the browser opens is not used. After two frames, the page has the response.
  await stream;
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
  const email = asked(`/emails/${id}`);
  await page.mouse.down();
  await email;
  await page.mouse.up();
  await page.getByRole('heading', { level: 1, name: 'Asked early' }).waitFor();
  assert.deepEqual(['', '/attempts', '/request'].map((part) => times(`/emails/${id}${part}`)), [1, 1, 1]);
  await page.leave();
}

/** A link waits for the answers of its page, so that another one can be pressed meanwhile. */
async function theLastPressedLinkIsFollowed(world) {
  for (const subject of ['First pressed', 'Last pressed']) await world.send({ subject });
  const page = await world.tab();
  await page.show('/emails');
  const [first, last] = ['First pressed', 'Last pressed'].map((name) => page.getByRole('link', { name }));
  await first.waitFor();
  const entries = await page.evaluate(() => history.length);
  await first.evaluate((link, other) => { link.click(); other.click(); }, await last.elementHandle());
  await page.getByRole('heading', { level: 1, name: 'Last pressed' }).waitFor();
  assert.equal(await page.evaluate(() => history.length), entries + 1);
  await page.leave();
}

/** The page of an email is shown after a while without its answers, and Back wins over a link that waits. */
async function aLinkDoesNotWaitForASlowAnswer(world) {
  const id = await world.send({ subject: 'Answered late' });
  const page = await world.tab();
  let answer;
  const held = new Promise((resolve) => { answer = resolve; });
  await page.route(`**/dashboard/api/emails/${id}`, async (route) => { await held; await route.continue(); });
  await page.show('/connect');
  await page.getByRole('link', { name: 'Emails', exact: true }).first().click();
  const link = page.getByRole('link', { name: 'Answered late' });
  await link.waitFor();
  await link.evaluate((one) => { one.click(); history.back(); });
  await page.getByRole('heading', { level: 1, name: 'Connect' }).waitFor();
  await page.goForward();
  await link.click();
  await page.getByRole('heading', { level: 1, name: 'Email', exact: true }).waitFor();
  assert.match(page.url(), new RegExp(id));
  answer();
  await page.getByRole('heading', { level: 1, name: 'Answered late' }).waitFor();
  await page.leave();
}

/** An answer that fails before its page is shown is not asked for again. */
async function aMissingEmailIsAskedForOnce(world) {
  const id = await world.send({ subject: 'Soon gone' });
  // A page asks again after an event of its email.
  await until('the end of the events', async () => (await world.call('GET', `/emails/${id}`)).last_event === 'delivered');
  const page = await world.tab();
  page.expected = /404/;
  let times = 0;
  page.on('request', (request) => { times += Number(new URL(request.url()).pathname === `/dashboard/api/emails/${id}`); });
  await page.show('/emails');
  const link = page.getByRole('link', { name: 'Soon gone' });
  await link.waitFor();
  await page.route(`**/dashboard/api/emails/${id}`, (route) => route.fulfill({ status: 404, json: { statusCode: 404, name: 'not_found', message: 'Email not found' } }));
  await link.click();
  await page.getByText('This email does not exist').waitFor();
  assert.equal(times, 1);
  await page.leave();
}

/** Opens a list of 40 emails in a window that shows 22 and a half of them. `page.drawn` waits until the numbers of drawn rows were these. */
async function longList(world) {
  await world.clear();
  for (let i = 0; i < 40; i += 1) await world.send({ subject: `Row ${i}` });
  const page = await world.tab();
  await page.addInitScript(() => {
    globalThis.drawn = [];
    const record = () => {
      const rows = document.querySelectorAll('a.cell').length;
      if (rows !== (globalThis.drawn.at(-1) ?? 0)) globalThis.drawn.push(rows);
    };
    new MutationObserver(record).observe(document, { subtree: true, childList: true });
  });
  page.drawn = (...counts) => until(`${counts} rows`, async () => JSON.stringify(await page.evaluate(() => globalThis.drawn)) === JSON.stringify(counts));
  await page.show('/emails');
  await page.drawn(23, 40);
  return page;
}

async function aNewListHasTheRowsOfTheWindowFirst(world) {
  const page = await longList(world);
  // A reload keeps most rows, so that the page keeps its height.
  await world.send({ subject: 'Row 40' });
  await page.getByRole('button', { name: '1 new' }).click();
  await page.drawn(23, 40, 41);
  await page.leave();
}

async function backLeadsToThePlaceInALongList(world) {
  const page = await longList(world);
  // The recorder of the rows cannot run in the frame of the preview.
  page.expected = /Blocked script execution/;
  // The last row is scrolled into the window and opened in the same frame.
  await page.evaluate(() => {
    const key = (name) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
    for (let i = 0; i < 40; i += 1) key('j');
    document.activeElement.click();
  });
  await page.getByRole('heading', { level: 1, name: 'Row 0' }).waitFor();
  await page.evaluate(() => { globalThis.drawn = []; });
  await page.goBack();
  const row = page.getByRole('link', { name: 'Row 0', exact: true });
  await until('the focus on the row', () => row.evaluate((link) => link === document.activeElement));
  assert.ok(await row.evaluate((link) => link.getBoundingClientRect().bottom <= innerHeight), 'the row is in the window');
  await page.drawn(40);
  await page.leave();
}

async function capturedEmailIsReadAndDeleted(world) {
  await world.clear();
  await world.send({ subject: 'Your sign-in code', html: '<p>482 913</p>' });
  const page = await world.tab();
  await page.show('/captured');
  await page.getByRole('link', { name: 'Your sign-in code' }).first().click();
  await page.frameLocator('iframe').getByText('482 913').waitFor();
  await page.getByText('Would have gone to').waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('heading', { level: 1, name: 'Your sign-in code' }).waitFor();
  await page.leave();
}

/** Each tab of a captured message, by its address too. The attachment is downloaded with its content. */
async function allPartsOfACapturedEmailAreShown(world) {
  const id = await world.capturedId(await world.send({ subject: 'All captured parts', html: '<h1>It works.</h1>', attachments: [{ filename: 'terms.txt', content: Buffer.from('The terms.').toString('base64') }] }));
  const page = await world.tab();
  await page.show(`/captured/${id}`);
  await page.frameLocator('iframe').getByText('It works.').waitFor();
  const panel = page.getByRole('tabpanel');
  for (const [tab, name, text] of [['Text', 'text', 'It works.'], ['HTML', 'html', '<h1>It works.</h1>'], ['Headers', 'headers', 'All captured parts'], ['Raw', 'raw', 'Subject: All captured parts'], ['Attachments', 'attachments', 'terms.txt']]) {
    await page.getByRole('tab', { name: tab }).click();
    await panel.getByText(text).first().waitFor();
    assert.equal(new URL(page.url()).searchParams.get('tab'), name);
    await page.reload();
    await panel.getByText(text).first().waitFor();
    assert.equal(await page.getByRole('tab', { name: tab }).getAttribute('aria-selected'), 'true');
    assert.deepEqual(await findings(page, '[role="tabpanel"]'), [], tab);
  }
  const happened = page.getByRole('region', { name: 'What happened' });
  await happened.getByText('Kept in the built-in mailbox.').waitFor();
  await page.getByRole('region', { name: 'API request' }).getByText('POST /emails').waitFor();
  assert.deepEqual(await findings(page), []);
  const download = page.waitForEvent('download');
  await panel.getByRole('link', { name: 'terms.txt' }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), 'terms.txt');
  assert.equal(await readFile(await file.path(), 'utf8'), 'The terms.');
  await page.leave();
}

async function keyboardAloneIsEnough(world) {
  await world.clear();
  for (const subject of ['Oldest', 'Middle', 'Newest']) await world.send({ subject });
  const page = await world.tab();
  await page.show('/emails');
  await page.getByRole('link', { name: 'Newest' }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
  await page.keyboard.press('Enter');
  // A key that is pressed before the browser has moved the focus acts on the element before.
  const focused = (selector, text) => page.evaluate(([wanted, part]) => document.activeElement.matches(wanted) && document.activeElement.textContent.includes(part), [selector, text]);
  await until('the focus on the content', () => focused('#main', ''));
  await page.keyboard.press('j');
  await until('the focus on the first row', () => focused('a.cell', 'Newest'));
  await page.keyboard.press('j');
  await until('the focus on the second row', () => focused('a.cell', 'Middle'));
  await page.keyboard.press('x');
  await page.getByRole('toolbar', { name: 'Selected emails' }).getByText('1 selected').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Middle' }).waitFor();
  await page.keyboard.press('k');
  await page.getByRole('heading', { level: 1, name: 'Newest' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('Oldest');
  await page.getByRole('option', { name: /^Oldest/ }).waitFor();
  assert.deepEqual(await findings(page), [], 'the palette');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Oldest' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await page.getByRole('heading', { level: 1, name: 'Connect' }).waitFor();
  await page.leave();
}

export const emails = [
  ['dashboard: all parts of an email are shown', allPartsOfAnEmailAreShown],
  ['dashboard: the way back leads to the row', theWayBackLeadsToTheRow],
  ['dashboard: answers are asked for once and before their page is there', answersAreAskedForOnceAndBeforeTheirPageIsThere],
  ['dashboard: the last pressed link is followed', theLastPressedLinkIsFollowed],
  ['dashboard: a link does not wait for a slow answer', aLinkDoesNotWaitForASlowAnswer],
  ['dashboard: a missing email is asked for once', aMissingEmailIsAskedForOnce],
  ['dashboard: a new list has the rows of the window first', aNewListHasTheRowsOfTheWindowFirst],
  ['dashboard: Back leads to the place in a long list', backLeadsToThePlaceInALongList],
  ['dashboard: a captured email is read and deleted', capturedEmailIsReadAndDeleted],
  ['dashboard: all parts of a captured email are shown', allPartsOfACapturedEmailAreShown],
  ['dashboard: the keyboard alone is enough', keyboardAloneIsEnough],
];
