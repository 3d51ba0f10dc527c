// The report of a broadcast, with the fake server of tests/browser/fake.
import { readFile } from 'node:fs/promises';
import { assert, until } from '../check.mjs';
import { uuid } from '../fake/lists.mjs';
import { invented } from './drift.mjs';
import { inContexts, inspect } from './inspect.mjs';

const [, SENDING, SCHEDULED, SENT] = Array.from({ length: 4 }, (_, n) => uuid('b0ad', n));

/** Changes what the fake server reports of a broadcast. Returns the report. */
async function change(world, id, changes) {
  const headers = { 'content-type': 'application/json', 'x-ringmail-dashboard': '1' };
  const response = await fetch(`${world.origin}/dashboard/api/broadcasts/${id}/report`, { method: 'PUT', headers, body: JSON.stringify(changes) });
  assert.equal(response.status, 200);
  return response.json();
}

/** Opens the report of a broadcast. `answers` has other answers of the API, by path. */
async function open(world, path, { answers = {}, ...options } = {}) {
  const context = await world.session(options);
  for (const [name, json] of Object.entries(answers)) await context.route(`**/dashboard/api${name}`, (route) => route.fulfill({ json }));
  const page = await world.tab(context);
  await page.show(`/broadcasts/${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  return { page, leave: async () => { await page.leave(); await context.close(); } };
}

/** The texts of the cells of each row. */
function cells(table) {
  return table.getByRole('row').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

async function theDomainsAreListed(world) {
  const { page, leave } = await open(world, SENDING);
  const card = page.getByRole('region', { name: 'By domain' }), table = card.getByRole('table');
  await table.waitFor();
  const [head, ...rows] = await cells(table), { domains, other_domains: others, counts } = await change(world, SENDING, {});
  assert.deepEqual(head, ['Domain', 'Sent', 'Delivered', 'Bounced', 'Waiting', 'State']);
  assert.deepEqual(rows.map((row) => row[0]), [...domains.map((one) => one.domain), `${others.domains} other domains`]);
  assert.deepEqual(rows[0], ['gmail.com', '2,603', '2,186', '7.9%, above the warning', '212', 'Sending']);
  assert.deepEqual(rows[5], ['example.org', '70', '65', '7.1%', '0', 'Done'], 'a high share of fewer emails than the guardrail counts');
  assert.equal(rows.reduce((sum, row) => sum + Number(row[1].replace(',', '')), 0), counts.attempted);
  await until('the colour of a high share', async () => (await card.locator('.red').count()) > 0);
  assert.deepEqual(await card.locator('.red').allTextContents(), rows.filter((row) => parseFloat(row[3]) >= 4 && Number(row[1].replace(',', '')) >= 100).map((row) => row[3]), 'from the share of the warning on');
  assert.equal(await card.getByRole('rowheader').count(), rows.length);

  // The queue shows the sites with email of the domain.
  await card.getByRole('link', { name: 'gmail.com', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Queue' }).waitFor();
  await page.getByRole('button', { name: 'gmail.com', exact: true }).waitFor();
  assert.equal(await page.locator('.q-site').count(), 1);
  await page.goBack();
  await table.waitFor();
  assert.equal(await card.getByRole('link').count(), 5);
  await page.show(`/broadcasts/${SCHEDULED}`);
  await page.getByText(/^It starts (at|on) /).waitFor();
  assert.equal(await card.count(), 0, 'nothing before the first attempt');
  await leave();

  const other = await open(world, SENDING, { answers: { '/me': { ...invented('/me'), is_operator: false } } });
  await other.page.getByRole('region', { name: 'By domain' }).getByText('gmail.com', { exact: true }).waitFor();
  assert.equal(await other.page.getByRole('region', { name: 'By domain' }).getByRole('link').count(), 0, 'the queue is a page of the operator');
  await other.leave();
}

/** On a small screen, the keyboard moves the table within its own region. */
async function theDomainsScroll(world) {
  const { page, leave } = await open(world, SENDING, { viewport: { width: 360, height: 800 } });
  const region = page.getByRole('region', { name: 'Numbers by domain' });
  await region.focus();
  assert.ok(await region.evaluate((element) => element.scrollWidth > element.clientWidth));
  await until('the moved table', async () => { await page.keyboard.press('ArrowRight'); return region.evaluate((element) => element.scrollLeft > 0); });
  await leave();
}

async function peopleAndSoftwareAreApart(world) {
  const { page, leave } = await open(world, SENDING);
  const card = page.getByRole('region', { name: 'People and software' });
  await card.getByRole('img', { name: 'Opens: 1,204 people, 843 only by software, of 5,291 delivered' }).waitFor();
  const clicks = card.getByRole('img', { name: 'Clicks: 211 people, 106 only by software, of 5,291 delivered' });
  assert.deepEqual(await clicks.locator('> rect').evaluateAll((all) => all.map((bar) => [bar.getAttribute('x'), bar.getAttribute('width')])), [[null, '100'], [null, '4'], ['4', '2']]);
  await card.getByText('211 people, 106 only by software').waitFor();
  await card.getByText('They are shown, and never counted in a rate.').waitFor();
  await leave();
}

async function aBroadcastShowsItsOpens(world) {
  const { page, leave } = await open(world, SENT);
  const row = (name) => page.locator('.fn', { hasText: name });
  await row('Opened').getByText('34% of delivered').waitFor();
  await row('Clicked').getByText('6.2% of delivered').waitFor();
  await row('Unsubscribed').getByText('31', { exact: true }).waitFor();
  const links = page.getByRole('region', { name: 'Clicked links' }).getByRole('listitem');
  await links.first().waitFor();
  // The shares of the 604 people who clicked.
  assert.deepEqual(await links.evaluateAll((all) => all.map((one) => [...one.querySelectorAll('.num')].map((part) => part.textContent))), [['560 people', '93% of all who clicked'], ['120 people', '20% of all who clicked']]);
  assert.equal(await page.getByText('The list has more.').count(), 0);
  await row('Unsubscribed').click();
  await page.getByRole('table', { name: 'Recipients: unsubscribed' }).getByRole('link').first().waitFor();
  await row('Opened').click();
  await until('the recipients who opened', () => page.url().includes('type=opened'));
  await page.getByRole('link', { name: 'See both over time' }).click();
  await page.getByRole('heading', { name: 'Opens' }).waitFor();
  await leave();

  const some = [{ id: uuid('11c4', 0), url: 'https://acme.com/views', clicks: 2, unique_clicks: 1 }];
  const long = await open(world, SENT, { answers: { '/broadcasts/*/clicked-links*': { object: 'list', has_more: true, data: some } } });
  await long.page.getByRole('region', { name: 'Clicked links' }).getByText('The list has more.').waitFor();
  await long.leave();
}

/** Saves the recipients as CSV. Returns the name of the file and its lines. */
async function savedRecipients(page) {
  const button = page.getByRole('region', { name: 'Recipients' }).getByRole('button', { name: 'Save the recipients as CSV' });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { name: download.suggestedFilename(), lines: (await readFile(await download.path(), 'utf8')).split('\r\n') };
}

async function theRecipientsAreSavedAsCsv(world) {
  const { page, leave } = await open(world, `${SENDING}?type=bounced`);
  await page.getByText('The address does not work').first().waitFor();
  const { name, lines } = await savedRecipients(page);
  assert.equal(name, 'recipients-bounced.csv');
  assert.equal(lines.length, 1 + 542, 'all rows of the type');
  assert.equal(lines[0], '"id","contact_id","email","type","bounce_type","count"');
  assert.equal(lines[1], `"${uuid('4ec0', 0)}","${uuid('c017', 0)}","person-0@example.net","bounced","permanent",""`);
  assert.equal(new Set(lines).size, lines.length);
  assert.equal(await page.getByText('The list has more.').count(), 0);
  await leave();
}

/** "Sent" is every claimed email, with any outcome. A file has a bound. */
async function aLongListIsSavedInPart(world) {
  const { counts } = await change(world, SENT, {});
  await change(world, SENT, { counts: { attempted: 10_050 } });
  try {
    const { page, leave } = await open(world, SENT);
    await page.getByRole('region', { name: 'Recipients' }).getByRole('button', { name: 'Delivered' }).click();
    await page.getByRole('button', { name: 'Sent', exact: true }).click();
    const table = page.getByRole('table', { name: 'Recipients: sent' });
    await table.waitFor();
    assert.match(page.url(), /\?type=sent$/);
    assert.deepEqual(await table.getByRole('columnheader').allTextContents(), ['Recipient']);
    const { name, lines } = await savedRecipients(page);
    assert.equal(name, 'recipients-sent.csv');
    assert.equal(lines.length, 1 + 10_000);
    await page.getByText('The file has the newest 10,000 recipients. The list has more.').waitFor();
    await page.show(`/broadcasts/${SENT}?type=sent&q=ada@example.com`);
    await page.getByText('ada@example.com is not in this list').waitFor();
    await leave();
  } finally { await change(world, SENT, { counts }); }
}

/** The note has the bounces of the broadcast and the rate of the team, and leads to the addresses. */
async function bouncesNearThePauseAreNamed(world) {
  for (const [state, rate, effect] of [
    ['warning', '4.3% over the last 7 days', 'Sending pauses at 5% over today and yesterday'],
    ['observed', '4.3% over the last 7 days', 'The limit is 4%'],
    ['paused', '6.2% over today and yesterday', 'Sending is paused'],
  ]) {
    const deliverability = invented('/deliverability', state), { bounce } = deliverability.guardrail;
    // The rate of the other limit is low.
    (state === 'paused' ? bounce.warning : bounce.pause).rate = 0.021;
    await inContexts(async (widths, options) => {
      const { page, leave } = await open(world, `${SENDING}?type=bounced`, { ...options, answers: { '/deliverability': deliverability } });
      const note = page.getByRole('region', { name: 'Progress' }).locator('.note');
      await note.waitFor();
      assert.match(await note.textContent(), / See the addresses$/);
      assert.equal((await note.textContent()).split(' See ')[0], `This broadcast has 542 bounces. The hard bounces of the team are at ${rate}. ${effect}.`);
      await inspect(page, `broadcast-near-${state}`, { widths, part: 'main' });
      // The address of the link is that of the page, except for its fragment.
      const heading = page.getByRole('heading', { name: 'Recipients' });
      const place = () => heading.evaluate((element) => new Promise((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(() => { const { top } = element.getBoundingClientRect(); resolve(top < 0 ? 'above' : top < innerHeight ? 'inside' : 'below'); }));
      }));
      await page.getByText('The address does not work').first().waitFor();
      assert.equal(await place(), 'below');
      await note.getByRole('link', { name: 'See the addresses' }).click();
      assert.equal(await place(), 'inside');
      assert.equal(await heading.evaluate((element) => element === document.activeElement), true, 'the focus is at the heading');
      // The emails of this broadcast are older than the days of the warning.
      await page.show(`/broadcasts/${SENT}`);
      await page.getByRole('complementary', { name: 'Deliverability' }).waitFor();
      await page.getByText('of 9,880 sent').waitFor();
      assert.equal(await note.count(), 0);
      await leave();
    });
  }
  const { page, leave } = await open(world, SENDING);
  await page.getByRole('region', { name: 'By domain' }).locator('.red').first().waitFor();
  assert.equal(await page.locator('.note').count(), 0, 'the rate of the team is low');
  await leave();
}

/** Bound for the outcome of the last email. Without emails in delivery, the page asks again after 30 s. */
const OUTCOME_MS = 15_000;

/** The open page follows the numbers of the server, and the end of the broadcast. */
async function theProgressIsLive(world) {
  const { counts, status, sent_at } = await change(world, SENDING, {});
  const { page, leave } = await open(world, SENDING);
  try {
    const row = (name) => page.locator('.fn', { hasText: name }), domain = page.getByRole('region', { name: 'By domain' }).getByRole('row', { name: /^gmail\.com/ });
    await page.getByText('of 10,878 sent').waitFor();
    await row('Sent').getByText('6,412').waitFor();
    await domain.getByText('2,603').waitFor();
    await page.evaluate(() => { window.isSamePage = true; });
    await change(world, SENDING, { counts: { queued: 3878, attempted: 7000, delivered: 5871, sent: 582, clicked: 300 } });
    await page.getByRole('region', { name: 'Progress' }).getByText('7,000').waitFor();
    assert.equal(await page.getByRole('progressbar', { name: 'Sent' }).getAttribute('value'), '7000');
    await row('Sent').getByText('64% of audience').waitFor();
    await row('Delivered').getByText('5,871').waitFor();
    await domain.getByText('2,842').waitFor();
    await page.getByRole('img', { name: 'Clicks: 300 people, 150 only by software, of 5,871 delivered' }).waitFor();
    const sent = { status: 'sent', sent_at: new Date().toISOString() };
    await change(world, SENDING, { ...sent, counts: { queued: 0, attempted: 10_878, delivered: 10_330, sent: 1 } });
    await page.getByText('Finished').first().waitFor();
    await row('Delivered').getByText('10,330').waitFor();
    await change(world, SENDING, { ...sent, counts: { queued: 0, attempted: 10_878, delivered: 10_331, sent: 0 } });
    await row('Delivered').getByText('10,331').waitFor({ timeout: OUTCOME_MS });
    await domain.getByText('Done').waitFor();
    await page.getByRole('button', { name: 'Cancel the rest…' }).waitFor({ state: 'detached' });
    assert.equal(await page.evaluate(() => window.isSamePage), true, 'without a reload of the page');
  } finally { await change(world, SENDING, { counts, status, sent_at }); }
  await leave();
}

export const reports = [
  ['dashboard: the domains of a broadcast are listed', theDomainsAreListed],
  ['dashboard: the domains of a broadcast scroll on a small screen', theDomainsScroll],
  ['dashboard: people and software of a broadcast are apart', peopleAndSoftwareAreApart],
  ['dashboard: a broadcast shows its opens', aBroadcastShowsItsOpens],
  ['dashboard: the recipients of a broadcast are saved as CSV', theRecipientsAreSavedAsCsv],
  ['dashboard: a long list of recipients is saved in part', aLongListIsSavedInPart],
  ['dashboard: the bounces of a broadcast near the pause are named', bouncesNearThePauseAreNamed],
  ['dashboard: the progress of a broadcast is live', theProgressIsLive],
];
