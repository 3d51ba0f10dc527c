// The banners above a page, the card of an email that did not arrive, messages with the longest address, and pages that
// cannot be shown. The server is the fake one.
import { excessWidth, findings } from '../browser.mjs';
import { assert } from '../check.mjs';
import { LONGEST, uuid } from '../fake/lists.mjs';

const WEBHOOK = uuid('4400', 0);
/** A URL without a place to break. */
const LONG = `https://hooks.acme.com/${'in'.repeat(60)}`;

/** The fields of `GET /overview` with this number of disabled endpoints. */
function disabled(count) {
  const attention = Array.from({ length: count }, (_, n) => ({ severity: 'red', text: `The webhook ${LONG} was disabled after too many failed deliveries.`, href: `/dashboard/webhooks/${uuid('4400', n)}` }));
  return { '/overview': { attention: [{ severity: 'amber', text: 'A check.', href: '/dashboard/health' }, ...attention.slice(0, 5)], webhooks: { disabled: count, failing: 0 } } };
}

async function aDisabledEndpointIsNamedOnOtherPages(world) {
  const page = await world.changedTab(disabled(1));
  const banner = page.getByRole('complementary', { name: 'Webhooks' });
  await page.show('/domains');
  await banner.getByText(`The webhook ${LONG} was disabled after too many failed deliveries.`).waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  assert.equal(await excessWidth(page), 0);
  await page.setViewportSize({ width: 1440, height: 900 });
  await banner.getByRole('link', { name: 'See webhook' }).click();
  await page.waitForURL(new RegExp(`/webhooks/${WEBHOOK}$`));
  await page.getByRole('link', { name: 'Overview' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  assert.equal(await banner.count(), 0, 'the overview lists it');
  await page.setViewportSize({ width: 360, height: 800 });
  assert.equal(await excessWidth(page), 0);
  await page.leave();
  await page.context().close();
}

async function aPausedQueueIsNamedOnOtherPages(world) {
  const page = await world.changedTab({ '/overview': { queue: { waiting: 3, oldest_s: 60, paused: true } } });
  const banner = page.getByRole('complementary', { name: 'Queue' });
  await page.show('/domains');
  await banner.getByText('All deliveries are paused until the queue is resumed.').waitFor();
  await banner.getByRole('link', { name: 'See queue' }).click();
  await page.getByRole('heading', { level: 1, name: 'Queue' }).waitFor();
  assert.equal(await banner.count(), 0, 'the queue page shows it');
  await page.leave();
  await page.context().close();
}

async function aFailingEndpointIsNamedOnTheOverviewOnly(world) {
  const text = `The webhook ${LONG} has failed for 58 min: its last response was 503.`;
  const attention = [{ severity: 'amber', text, href: `/dashboard/webhooks/${WEBHOOK}` }];
  const page = await world.changedTab({ '/overview': { attention, webhooks: { disabled: 0, failing: 1 } } });
  await page.show('/');
  const sentence = page.getByRole('link', { name: 'has failed for 58 min: its last response was 503.' });
  await sentence.waitFor();
  await page.getByText('1 failing').waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  assert.equal(await excessWidth(page), 0);
  await sentence.click();
  await page.waitForURL(new RegExp(`/webhooks/${WEBHOOK}$`));
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('link', { name: 'Domains', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor();
  assert.equal(await page.getByRole('complementary', { name: 'Webhooks' }).count(), 0, 'it is not disabled');
  await page.leave();
  await page.context().close();
}

async function severalDisabledEndpointsAreCounted(world) {
  const page = await world.changedTab(disabled(7));
  const banner = page.getByRole('complementary', { name: 'Webhooks' });
  await page.show('/domains');
  await banner.getByText('7 webhooks were disabled after too many failed deliveries.').waitFor();
  await banner.getByRole('link', { name: 'See webhooks' }).click();
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  await page.leave();
  await page.context().close();
}

/** The page of the endpoint has no banner. The state is read again after the change, and not at the next poll. */
async function theBannerEndsWithItsCause(world) {
  const page = await world.changedTab({});
  let isEnabled = false;
  await page.route('**/dashboard/api/overview', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), ...disabled(isEnabled ? 0 : 1)['/overview'] } });
  });
  await page.route(`**/dashboard/api/webhooks/${WEBHOOK}`, (route) => {
    if (route.request().method() !== 'PATCH') return route.continue();
    isEnabled = true;
    return route.fulfill({ json: { object: 'webhook', id: WEBHOOK } });
  });
  const banner = page.getByRole('complementary', { name: 'Webhooks' });
  await page.show('/domains');
  await banner.getByRole('link', { name: 'See webhook' }).click();
  await page.getByRole('button', { name: 'Enable again' }).waitFor();
  assert.equal(await banner.count(), 0, 'the page of the endpoint shows its state');
  const answer = page.waitForResponse((response) => isEnabled && response.url().endsWith('/dashboard/api/overview'), { timeout: 8000 });
  await page.getByRole('button', { name: 'Enable again' }).click();
  await (await answer).finished();
  await page.getByRole('link', { name: 'Domains', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor();
  assert.equal(await banner.count(), 0);
  await page.leave();
  await page.context().close();
}

/**
 * Each case has the last event of the email, the origin of its address on the suppression list, and whether the card is shown.
 * Without an origin the list has no such address, and a number is the status of a failed request.
 */
const CASES = [
  ['suppressed', 'bounce', true], ['suppressed', 'complaint', false], ['suppressed', 'unsubscribe', false], ['suppressed', 'manual', false],
  ['suppressed', null, false], ['suppressed', 500, true], ['bounced', null, true], ['bounced', 'complaint', true], ['complained', 'complaint', false],
];

async function onlyABounceAsksForAnotherAddress(world) {
  const id = uuid('6b0d', 10);
  for (const [last_event, origin, isShown] of CASES) {
    const page = await world.changedTab({ [`/emails/${id}`]: { last_event } });
    page.expected = /404|500/;
    await page.route(/\/dashboard\/api\/suppressions\//, (route) => (typeof origin === 'string' ? route.fulfill({ json: { object: 'suppression', id, email: 'kim@example.com', origin, source_id: null, created_at: new Date().toISOString() } })
      : route.fulfill({ status: origin ?? 404, json: { statusCode: origin ?? 404, name: origin ? 'internal_server_error' : 'not_found', message: 'No suppression.' } })));
    const answer = last_event === 'suppressed' ? page.waitForResponse(/\/dashboard\/api\/suppressions\//) : null;
    await page.show(`/emails/${id}`);
    const card = page.getByRole('heading', { name: 'Is the address right?' });
    if (isShown) await card.waitFor();
    await page.getByRole('list', { name: 'Timeline' }).waitFor();
    await (await answer)?.finished();
    // An answer that hides the card draws nothing else. The page draws it within two frames.
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
    assert.equal(await card.count(), Number(isShown), `${last_event}, ${origin}`);
    await page.leave();
    await page.context().close();
  }
}

/** The dialogs and the toast about an address of 254 characters, on a narrow screen. */
async function messagesWithTheLongestAddressFit(world) {
  const context = await world.session({ viewport: { width: 360, height: 800 } });
  const page = await world.tab(context);
  const fits = async (box, name) => {
    await box.waitFor();
    assert.ok(await box.evaluate((element) => element.scrollWidth <= element.clientWidth && element.getBoundingClientRect().right <= innerWidth), `${name} is wider than its box`);
  };
  await page.route(/\/dashboard\/api\/suppressions\/[^/]+$/, (route) => (route.request().method() === 'DELETE' ? route.fulfill({ json: { object: 'suppression', deleted: true } }) : route.continue()));
  await page.show(`/suppressions?entry=${uuid('5099', 5)}`);
  await fits(page.getByRole('dialog'), 'the drawer');
  await page.getByRole('button', { name: 'Remove…' }).click();
  await fits(page.getByRole('dialog', { name: /^Remove / }), 'the dialog');
  await page.getByRole('radio').first().check();
  await page.getByRole('button', { name: 'Remove address' }).click();
  await fits(page.locator('.toast').filter({ hasText: `Removed ${LONGEST}` }), 'the toast');
  await page.show(`/emails/${uuid('6b0d', 7)}`);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Suppress this address…' }).click();
  await fits(page.getByRole('dialog', { name: /^Suppress / }), 'the dialog of an email');
  await page.leave();
  await context.close();
}

/** An address without a page, and a thing that does not exist: each has a heading, and the sidebar. */
async function aPageThatCannotBeShownHasAReason(world) {
  const page = await world.tab();
  page.expected = /404/;
  for (const [path, title, text] of [
    ['/nowhere', 'Page', 'This page does not exist'], [`/webhooks/${uuid('4400', 999)}`, 'Endpoint', 'This endpoint does not exist'],
  ]) {
    await page.show(path);
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
    await page.getByText(text).waitFor();
    await page.locator('#sheet').getByRole('link', { name: 'Overview' }).waitFor();
    for (const width of [360, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      assert.equal(await excessWidth(page), 0, path);
      assert.deepEqual(await findings(page), [], path);
    }
  }
  await page.leave();
}

export const notes = [
  ['dashboard: a disabled endpoint is named on other pages', aDisabledEndpointIsNamedOnOtherPages],
  ['dashboard: a failing endpoint is named on the overview only', aFailingEndpointIsNamedOnTheOverviewOnly],
  ['dashboard: a paused queue is named on other pages', aPausedQueueIsNamedOnOtherPages],
  ['dashboard: several disabled endpoints are counted', severalDisabledEndpointsAreCounted],
  ['dashboard: the banner of an endpoint ends with its cause', theBannerEndsWithItsCause],
  ['dashboard: only a bounce asks for another address', onlyABounceAsksForAnotherAddress],
  ['dashboard: messages with the longest address fit', messagesWithTheLongestAddressFit],
  ['dashboard: a page that cannot be shown has a reason', aPageThatCannotBeShownHasAReason],
];
