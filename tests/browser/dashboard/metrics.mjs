// Metrics, the guardrail, insights, tracking, and the audit log, with the fake server of tests/browser/fake.
import { readFile } from 'node:fs/promises';
import { assert, until } from '../check.mjs';
import { answer } from '../fake/fixtures.mjs';
import { uuid } from '../fake/lists.mjs';
import { inContexts, inspect } from './inspect.mjs';

const EMAIL = '0199c000-6b0d-7f53-9a3e-d2c81b7e0000', UNCHECKED = '0199bfff-6b0d-7f53-9a3e-d2c81b7e0001';
const PENDING = uuid('d0d0', 0), VERIFIED = uuid('d0d0', 1);
const HOUR_MS = 3_600_000, DAY_MS = 24 * HOUR_MS;

/** The answer of the fake server in one of its states. */
function invented(path, state) {
  return answer({ method: 'GET', path, query: {}, body: null, state }).json;
}

/** A context whose `GET /deliverability` has the answer of a state. `set` changes the state. */
async function guarded(world, state, options) {
  const context = await world.session(options), current = { state };
  await context.route('**/dashboard/api/deliverability', (route) => route.fulfill({ json: invented('/deliverability', current.state) }));
  return { context, set: (next) => { current.state = next; } };
}

/** A context of a user with another role. */
async function asRole(world, role) {
  const context = await world.session();
  await context.route('**/dashboard/api/me', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), role } });
  });
  return context;
}

/** The values are read out, and Enter leads to the emails of the day. */
async function theChartIsReadByKeyboard(world) {
  const page = await world.tab();
  await page.show('/metrics');
  const chart = page.getByRole('group', { name: /^Sent and delivered\./ });
  await chart.focus();
  await page.keyboard.press('ArrowRight');
  const said = page.getByRole('region', { name: 'Sent and delivered', exact: true }).locator('[aria-live]');
  await until('the first value', async () => /^\w{3} \d+ \w{3}: Sent [\d,]+, Delivered 9\d(\.\d)?%$/.test(await said.textContent()));
  await page.keyboard.press('End');
  const last = await said.textContent();
  await page.keyboard.press('ArrowRight');
  assert.equal(await said.textContent(), last, 'the cursor stays at the last value');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Emails' }).waitFor();
  const { since, until: end } = Object.fromEntries(new URL(page.url()).searchParams);
  assert.equal(Date.parse(end) - Date.parse(since), DAY_MS);
  await page.goBack();
  await chart.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Escape');
  await until('the cursor is gone', async () => (await said.textContent()) === '');
  await page.leave();
}

async function aPointerShowsTheValues(world) {
  const page = await world.tab();
  await page.show('/metrics/engagement');
  const bars = page.getByRole('region', { name: 'Opens', exact: true }).locator('.chart-wide .bar-hit');
  await bars.nth(6).waitFor({ state: 'attached' });
  assert.equal(await bars.count(), 7);
  await bars.nth(1).hover();
  await page.locator('.tip').getByText('Prefetched by software').waitFor();
  await bars.nth(2).click();
  await page.getByRole('heading', { level: 1, name: 'Emails' }).waitFor();
  assert.match(page.url(), /status=opened%2Cclicked/);
  await page.leave();
}

/** Days begin and end at midnight of the browser. */
async function daysAreThoseOfTheTimeZone(world) {
  const context = await world.session({ timezoneId: 'Australia/Adelaide' });
  const page = await world.tab(context);
  const asked = page.waitForRequest((request) => request.url().includes('/api/emails/metrics'));
  await page.show('/metrics?from=2026-11-10&to=2026-11-12');
  const query = Object.fromEntries(new URL((await asked).url()).searchParams);
  assert.deepEqual([query.start_date, query.end_date, query.timezone, query.granularity, query.dimensions], ['2026-11-10', '2026-11-13', 'Australia/Adelaide', 'daily', 'period']);
  const part = page.getByRole('region', { name: 'Not delivered', exact: true });
  await part.getByText('View as table').click();
  await part.getByRole('columnheader', { name: 'Day, Australia/Adelaide' }).waitFor();
  const target = new URL(await part.getByRole('link', { name: 'Wed 11 Nov' }).getAttribute('href'), world.origin);
  assert.deepEqual(Object.fromEntries(target.searchParams), { status: 'bounced,failed,delivery_delayed', since: '2026-11-10T13:30:00.000Z', until: '2026-11-11T13:30:00.000Z' });
  await page.leave();
  await context.close();
}

async function theRangeIsInTheAddress(world) {
  const page = await world.tab();
  await page.show('/metrics');
  await page.getByRole('button', { name: '30 days' }).click();
  await until('the range', () => page.url().endsWith('/metrics?days=30'));
  await until('30 bars', async () => (await page.getByRole('region', { name: 'Sent and delivered', exact: true }).locator('.chart-wide .bar-hit').count()) === 30);
  await page.getByRole('button', { name: 'By day' }).click();
  await page.getByRole('button', { name: 'By week' }).click();
  await until('the step', () => page.url().includes('by=weekly'));
  await page.getByRole('link', { name: 'Engagement' }).click();
  await page.getByRole('heading', { name: 'Opens' }).waitFor();
  assert.match(page.url(), /\/metrics\/engagement\?days=30&by=weekly$/);
  await page.getByRole('button', { name: 'Dates' }).click();
  await page.getByLabel('First day').fill('2026-11-03');
  await page.getByLabel('Last day').fill('2026-11-05');
  await until('own dates', () => page.url().includes('from=2026-11-03') && page.url().includes('to=2026-11-05'));
  await page.getByRole('button', { name: 'Any domain' }).click();
  await page.getByRole('button', { name: 'mail.acme.com' }).click();
  await page.getByText('No email matches the filter.').waitFor();
  await page.getByText('No opens and clicks are recorded in this time.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await until('no filter', () => !page.url().includes('domain='));
  await page.keyboard.press('g');
  await page.keyboard.press('m');
  await until('the shortcut', () => page.url().endsWith('/metrics'));
  await page.leave();
}

/** Saves a chart as CSV. Returns the name of the file and its lines. */
async function savedCsv(page, title) {
  const button = page.getByRole('region', { name: title, exact: true }).getByRole('button', { name: 'CSV' });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { name: download.suggestedFilename(), lines: (await readFile(await download.path(), 'utf8')).split('\r\n') };
}

async function aChartIsSavedAsCsv(world) {
  const page = await world.tab();
  await page.show('/metrics?from=2026-11-10&to=2026-11-12');
  const { name, lines } = await savedCsv(page, 'Sent and delivered');
  assert.equal(name, 'sent-and-delivered.csv');
  assert.equal(lines[0], '"Day, UTC","Sent","Delivered"');
  assert.deepEqual(lines.slice(1).map((line) => line.slice(0, 12)), ['"2026-11-10"', '"2026-11-11"', '"2026-11-12"']);
  assert.match(lines[1], /^"2026-11-10","\d+","\d+(\.\d+)?"$/);
  await page.leave();
}

/** The file of a rate has the counts by the day of the send, and the rates over both windows. */
async function aRateIsSavedAsCsv(world) {
  const { context } = await guarded(world, 'paused');
  const page = await world.tab(context);
  await page.show('/metrics/deliverability');
  const { days } = invented('/deliverability', 'paused');
  for (const [title, file, field] of [['Hard bounces', 'hard-bounces.csv', 'sent_and_bounced'], ['Spam complaints', 'spam-complaints.csv', 'sent_and_complained']]) {
    const rate = (end, length) => {
      const sum = (one) => days.slice(end - length, end).reduce((all, day) => all + day[one], 0);
      return ((100 * sum(field)) / sum('sent')).toFixed(3);
    };
    // The first six days only complete the windows of the others.
    const rows = days.map((day, i) => [day.date, day.sent, day[field], rate(i + 1, 2), rate(i + 1, 7)]).slice(6);
    const { name, lines } = await savedCsv(page, title);
    assert.equal(name, file);
    assert.deepEqual(lines, [['Day, UTC', 'Sent', title, 'Over 2 days, percent', 'Over 7 days, percent'], ...rows].map((row) => row.map((cell) => `"${cell}"`).join(',')));
  }
  await page.leave();
  await context.close();
}

/** The banner has the figures of the cause and the end, on every page, in each width. */
async function theGuardrailIsOnEveryPage(world) {
  await inContexts(async (widths, options) => {
    const { context } = await guarded(world, 'paused', options);
    const page = await world.tab(context);
    await page.show('/domains');
    const banner = page.getByRole('complementary', { name: 'Deliverability' });
    assert.match(await banner.textContent(), /^Sending is paused\. 6(\.\d)?% of the [\d,]+ emails of today and yesterday bounced for good \(\d+\)\. The limit is 5%\. New emails are accepted from \d+ \w{3}, 00:00 UTC\./);
    await page.locator('a.cell').first().waitFor();
    await inspect(page, 'guardrail-paused', { widths });
    await banner.getByRole('link', { name: 'See figures' }).click();
    await page.getByRole('heading', { name: 'What to mend' }).waitFor();
    await page.getByText('Publish a DMARC record').waitFor();
    await page.getByText('At risk').waitFor();
    await page.leave();
    await context.close();
  });
}

/** An event changes the banner at once, and a recovery removes it. */
async function theGuardrailFollowsItsEvents(world) {
  const { context, set } = await guarded(world, 'full');
  const page = await world.tab(context);
  await page.show('/metrics/deliverability');
  const banner = page.getByRole('complementary', { name: 'Deliverability' });
  await page.getByText('Good', { exact: true }).waitFor();
  assert.equal(await banner.count(), 0);
  const report = (type) => fetch(`${world.origin}/control/events`, { method: 'POST', body: JSON.stringify([{ id: crypto.randomUUID(), type, created_at: new Date().toISOString(), data: {} }]) });
  set('warning');
  await until('the warning', async () => { await report('deliverability.warning'); return banner.getByText('Sending may be paused soon.').isVisible(); });
  assert.match(await banner.textContent(), /4\.3% of the 27,006 emails of the last 7 days bounced for good \(1,164\)\. The limit is 4%\. Sending pauses at 5% over today and yesterday\./);
  set('region');
  await until('the region', async () => { await report('deliverability.paused'); return banner.getByText('Broadcasts are paused.').isVisible(); });
  set('full');
  await until('the recovery', async () => { await report('deliverability.warning'); return (await banner.count()) === 0; });
  await page.leave();
  await context.close();
}

/** A guardrail that is not enforced only says that a rate is high. */
async function anObservingGuardrailNamesNoPause(world) {
  const { context } = await guarded(world, 'observed');
  const page = await world.tab(context);
  await page.show('/metrics/deliverability');
  await page.getByRole('heading', { name: 'What to mend' }).waitFor();
  const banner = page.getByRole('complementary', { name: 'Deliverability' });
  assert.match(await banner.textContent(), /^The rate of bounces is high\. 4\.3% of the 27,006 emails of the last 7 days bounced for good \(1,164\)\. The limit is 4%\.See figures$/);
  const main = page.locator('main');
  assert.doesNotMatch(await main.textContent(), /pause/i);
  assert.deepEqual(await main.locator('[aria-label*="pause" i]').count(), 0);
  await main.getByText('+0.41').waitFor();
  await page.leave();
  await context.close();
}

/** The limits of each rate in percent: that of a warning, and that of a pause. */
const LIMITS = [['Hard bounces', 4, 5], ['Spam complaints', 0.05, 0.1]];

/** Returns the limit lines of a drawing: the text, the position on the axis of rates in percent, and whether both are visible. */
function limitLines(drawing) {
  return drawing.evaluate((svg) => {
    const box = svg.getBoundingClientRect();
    const middle = (element) => { const { top, bottom } = element.getBoundingClientRect(); return (top + bottom) / 2; };
    const axis = [...svg.querySelectorAll('text')].filter((text) => /^[\d.]+%$/.test(text.textContent));
    const [zero, top] = [axis.at(0), axis.at(-1)], max = parseFloat(top.textContent);
    return [...svg.querySelectorAll('line.warn, line.pause')].map((line) => {
      const isDrawn = getComputedStyle(line).stroke !== 'none' && line.getBoundingClientRect().width > box.width / 2;
      const name = line.nextElementSibling.getBoundingClientRect();
      return {
        text: line.nextElementSibling.textContent, max, percent: (max * (middle(zero) - middle(line))) / (middle(zero) - middle(top)),
        isVisible: isDrawn && name.left >= box.left && name.right <= box.right && name.top >= box.top,
      };
    });
  });
}

/** The lines of the limits have their place and their text in both drawings, and a screen reader gets the limits in words. */
async function theLimitsAreDrawnAndInWords(world) {
  for (const [state, word, effect] of [['warning', 'Pause', 'pauses sending'], ['observed', 'Limit', 'is the limit']]) {
    const { context } = await guarded(world, state);
    const page = await world.tab(context);
    await page.show('/metrics/deliverability');
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 900 });
      for (const [title, warning, pause] of LIMITS) {
        const name = new RegExp(`^${title}: [\\d.]+% over today and yesterday, where ${pause}% ${effect}, and [\\d.]+% over the last 7 days, where ${warning}% is the warning\\.`);
        const group = page.getByRole('group', { name }), drawing = group.getByRole('img', { name });
        await drawing.waitFor();
        const lines = await limitLines(drawing);
        assert.deepEqual(lines.map((line) => line.text), [`Warning, 7 days, ${warning}%`, `${word}, 2 days, ${pause}%`]);
        for (const [i, limit] of [warning, pause].entries()) {
          const { text, percent, max, isVisible } = lines[i];
          assert.ok(Math.abs(percent - limit) < max / 50, `${text} is drawn at ${percent} of ${max} percent, ${width} pixels`);
          assert.ok(isVisible, `${text} is not visible, ${width} pixels`);
        }
      }
    }
    const rows = page.getByRole('region', { name: 'Limits of the rates' }).getByRole('row');
    const cells = await rows.evaluateAll((all) => all.slice(1).map((row) => [0, 1, 3].map((i) => row.cells[i].textContent).join(', ')));
    const last = word.toLowerCase();
    assert.deepEqual(cells, ['Hard bounces, warning, 7, 4%', `Hard bounces, ${last}, 2, 5%`, 'Complaints, warning, 7, 0.05%', `Complaints, ${last}, 2, 0.1%`]);
    await page.leave();
    await context.close();
  }
}

async function failingChecksComeFirst(world) {
  const page = await world.tab();
  page.expected = /404/;
  await page.show(`/emails/${EMAIL}`);
  const panel = page.getByRole('region', { name: 'Insights' });
  await panel.getByText('7.5 of 10').waitFor();
  const rows = await panel.locator('.check-row').allTextContents();
  assert.deepEqual(rows.map((text) => /No link shorteners|Text part|Links with https|Alternative texts/.exec(text)?.[0]), ['No link shorteners', 'Text part', 'Links with https', 'Alternative texts']);
  assert.match(rows[0], /Write out the addresses\..*hosts: bit\.ly, t\.co.*−1\.25/);
  await panel.getByText('8 checks passed, 2 not known yet').click();
  await panel.getByText('BIMI: not known yet').waitFor();
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await timeline.getByText('Loaded within seconds of the delivery. Not counted as opened.').waitFor();
  await timeline.getByText('203.0.113.80 · Mozilla/5.0 (Macintosh)').waitFor();
  await page.show(`/emails/${UNCHECKED}`);
  await panel.getByText(/^The content (is checked within a minute after acceptance|of this email has not been checked)\.$/).waitFor();
  await page.leave();
}

async function trackingIsSwitched(world) {
  const page = await world.tab();
  page.expected = /422/;
  await page.show(`/domains/${PENDING}`);
  const card = page.getByRole('region', { name: 'Tracking', exact: true });
  const sent = page.waitForRequest((request) => request.method() === 'PATCH');
  await card.getByRole('switch', { name: 'Record opens' }).click();
  assert.deepEqual((await sent).postDataJSON(), { open_tracking: true });
  await until('the switch', () => card.getByRole('switch', { name: 'Record opens' }).isChecked());
  await card.getByLabel('Tracking subdomain').fill('send');
  await card.getByRole('button', { name: 'Save' }).click();
  await card.getByRole('alert').getByText('must differ from the label of the return path').waitFor();
  await card.getByLabel('Tracking subdomain').fill('clicks');
  await card.getByRole('button', { name: 'Save' }).click();
  await card.getByText('Add a CNAME record for clicks.notify.acme.com').waitFor();
  await page.locator('.rec').getByText('Tracked links').waitFor();
  await card.getByLabel('Tracking subdomain').fill('');
  await card.getByRole('button', { name: 'Save' }).click();
  await card.getByText('Publish its record.').waitFor({ state: 'detached' });
  await card.getByRole('switch', { name: 'Record opens' }).click();
  await until('the switch back', async () => !(await card.getByRole('switch', { name: 'Record opens' }).isChecked()));
  await page.leave();
}

async function aViewerReadsTheTracking(world) {
  const context = await asRole(world, 'viewer');
  const page = await world.tab(context);
  await page.show(`/domains/${VERIFIED}`);
  const card = page.getByRole('region', { name: 'Tracking', exact: true });
  await card.getByText('Records opens').waitFor();
  await card.getByText('links.mail.acme.com leads to this server').waitFor();
  assert.equal(await card.getByRole('switch').count(), 0);
  await page.show('/logs/audit');
  await page.getByRole('heading', { name: 'You have no access to this' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
  await page.leave();
  await context.close();
}

async function theAuditLogIsFiltered(world) {
  const page = await world.tab();
  await page.show('/logs');
  await page.getByRole('link', { name: 'Audit' }).click();
  await page.getByRole('link', { name: 'API key created' }).first().waitFor();
  await page.getByRole('button', { name: 'Any action' }).click();
  const asked = page.waitForRequest((request) => request.url().includes('/api/audit?action=domain.&') && request.url().includes('after='));
  await page.getByRole('button', { name: 'Domain', exact: true }).click();
  await asked;
  await page.getByRole('link', { name: 'Domain updated' }).first().click();
  const drawer = page.getByRole('dialog', { name: 'Domain updated' });
  await drawer.getByText('"click_tracking": true').waitFor();
  await drawer.getByRole('link', { name: 'Open the domain' }).waitFor();
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'hidden' });
  assert.match(page.url(), /\?kind=domain$/);
  await page.getByRole('searchbox', { name: 'Search the audit log' }).fill('zzzz');
  await page.getByText('Nothing has “zzzz”. Filtered by domain.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('link', { name: 'Queue paused' }).first().waitFor();
  await page.getByRole('button', { name: 'Anybody' }).click();
  await page.getByRole('button', { name: 'Command line' }).click();
  await page.getByRole('link', { name: 'Queue paused' }).first().waitFor({ state: 'detached' });
  await page.getByText('Searched all entries.').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Member role changed' }).count(), 16);
  await page.leave();
}

export const metrics = [
  ['dashboard: a chart is read by keyboard', theChartIsReadByKeyboard],
  ['dashboard: a pointer shows the values of a chart', aPointerShowsTheValues],
  ['dashboard: days of metrics are those of the time zone', daysAreThoseOfTheTimeZone],
  ['dashboard: the range of metrics is in the address', theRangeIsInTheAddress],
  ['dashboard: a chart is saved as CSV', aChartIsSavedAsCsv],
  ['dashboard: a rate is saved as CSV', aRateIsSavedAsCsv],
  ['dashboard: the guardrail is on every page', theGuardrailIsOnEveryPage],
  ['dashboard: the guardrail follows its events', theGuardrailFollowsItsEvents],
  ['dashboard: a guardrail that is not enforced names no pause', anObservingGuardrailNamesNoPause],
  ['dashboard: the limits of a rate are drawn and in words', theLimitsAreDrawnAndInWords],
  ['dashboard: failing checks come first', failingChecksComeFirst],
  ['dashboard: tracking is switched', trackingIsSwitched],
  ['dashboard: a viewer reads the tracking', aViewerReadsTheTracking],
  ['dashboard: the audit log is filtered', theAuditLogIsFiltered],
];
