// Details of the pages that need certain data or a certain moment, with the fake server of tests/browser/fake.
import { assert, until } from '../check.mjs';

const QUEUED = '0199bffe-6b0d-7f53-9a3e-d2c81b7e0002', BOUNCED = '0199bffc-6b0d-7f53-9a3e-d2c81b7e0004', OTHER = '0199c000-6b0d-7f53-9a3e-d2c81b7e0000';
const CAPTURED = ['0199d004-6b0d-7f53-9a3e-d2c81b7e0000', '0199d003-6b0d-7f53-9a3e-d2c81b7e0000'];
/** An endpoint that is enabled. */
const ENDPOINT = '0199bfff-4400-7f53-9a3e-d2c81b7e0001';
/** A request that is newer than those of the fake server. */
const LATER_REQUEST = '0199c001-10c0-7f53-9a3e-d2c81b7e0000';
const NEW = /^\d+ new$/;
/** Time within which a page follows an event; longer than a delay, shorter than a poll. */
const SOON = { timeout: 8000 };

/** Sends a request to the fake server as a program. */
async function ask(world, method, path, body) {
  const response = await fetch(world.origin + path, { method, body: JSON.stringify(body ?? null), headers: { 'content-type': 'application/json' } });
  return { status: response.status, body: await response.json() };
}

/** A tab takes over the stream, and an email arrives before it is open: the tab asks for what it missed. */
async function theNextLeaderMissesNothing(world) {
  const context = await world.session();
  let streams = 0, open = () => {};
  const held = new Promise((resolve) => { open = resolve; });
  await context.route('**/dashboard/api/events', async (route) => {
    streams += 1;
    if (streams === 2) await held;
    await route.continue();
  });
  const first = await world.tab(context), second = await world.tab(context);
  for (const page of [first, second]) {
    await page.show('/emails');
    await page.locator('a.cell').first().waitFor();
  }
  await until('the first stream', () => streams === 1);
  await first.leave();
  await until('the stream of the second tab', () => streams === 2);
  await ask(world, 'POST', '/emails', { to: 'ada@example.net', subject: 'Between two streams' });
  assert.equal(await second.getByRole('button', { name: NEW }).count(), 0);
  open();
  await second.getByRole('button', { name: '1 new' }).waitFor(SOON);
  await second.leave();
  await context.close();
}

async function anEventOfAnotherEmailHidesNone(world) {
  const page = await world.tab();
  await page.show(`/emails/${QUEUED}`);
  await page.getByText('In the queue. The first attempt follows.').waitFor();
  await ask(world, 'PUT', `/emails/${QUEUED}`, { last_event: 'delivered' });
  const event = (id) => ({ id: crypto.randomUUID(), type: 'email.delivered', data: { email_id: id } });
  await ask(world, 'POST', '/control/events', [event(OTHER), event(QUEUED)].map((one) => ({ ...one, created_at: new Date().toISOString() })));
  await page.locator('.head-meta').getByText('Delivered').waitFor(SOON);
  await page.leave();
}

/** Over plain HTTP a browser has no Web Locks. */
async function withoutLocksTheListIsPolled(world) {
  const page = await world.tab();
  page.expected = /./;
  page.removeAllListeners('request');
  const origin = world.origin.replace('127.0.0.1', 'ringmail.test');
  await page.goto(`${origin}/dashboard/emails`);
  await page.getByText('Every 5 s').waitFor();
  assert.equal(await page.evaluate(() => 'locks' in navigator), false);
  await ask(world, 'POST', '/emails', { to: 'ada@example.net', subject: 'Found by a poll' });
  await page.getByRole('button', { name: NEW }).waitFor();
  await page.leave();
}

async function aDeletionIsUndoneOrDone(world) {
  const page = await world.tab();
  const remove = async (id) => {
    await page.show(`/captured/${id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Deleted the captured email').waitFor();
  };
  await remove(CAPTURED[0]);
  await page.getByRole('heading', { level: 1, name: 'Emails' }).waitFor();
  await page.locator('a.cell').first().waitFor();
  assert.equal(await page.locator(`a[href$="${CAPTURED[0]}"]`).count(), 0, 'the row is hidden at once');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('heading', { level: 1, name: 'Hello' }).waitFor();
  await remove(CAPTURED[1]);
  await page.show('/connect');
  await until('the deletion after the page was left', async () => (await page.request.get(`${world.origin}/captured/${CAPTURED[1]}`)).status() === 404);
  assert.equal((await page.request.get(`${world.origin}/captured/${CAPTURED[0]}`)).status(), 200);
  await page.leave();
}

async function aRefusedEmailIsCorrectedAndSentAgain(world) {
  await ask(world, 'PUT', `/emails/${BOUNCED}`, { to: ['tom@gmial.com'] });
  const page = await world.tab();
  await page.show(`/emails/${BOUNCED}`);
  await page.getByText('The mail server of the recipient does not know the address. Look for a typing error in the address.').waitFor();
  await page.getByRole('heading', { name: 'Did you mean gmail.com?' }).waitFor();
  await page.getByRole('button', { name: 'Correct and send again…' }).click();
  const to = page.getByRole('dialog').getByLabel('To');
  assert.equal(await to.inputValue(), 'tom@gmail.com');
  await to.fill('tom@gmial.com');
  await page.getByRole('button', { name: 'Send email' }).click();
  await page.getByText('This is the address that did not get it.').waitFor();
  await to.fill('tom@gmail.com');
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/dashboard/api/emails'));
  await page.getByRole('button', { name: 'Send email' }).click();
  const body = (await sent).postDataJSON();
  assert.deepEqual([body.to, body.subject, body.attachments.map((one) => one.filename)], [['tom@gmail.com'], 'Confirm your address', ['INV-2026-1184.pdf']]);
  await page.leave();
}

async function anEmailIsCopiedAsCurl(world) {
  const context = await world.session({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await world.tab(context);
  await page.show(`/emails/${OTHER}`);
  await page.getByText('with the key “Production”').waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText('Copied as curl: fill in the attachments').waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^curl -X POST https:\/\/mail\.acme\.com\/emails \\\n {2}-H 'Authorization: Bearer YOUR_API_KEY'/);
  assert.match(text, /"html": "<!doctype html>/, 'the content of the email, and not the redacted copy of the log');
  await page.leave();
  await context.close();
}

async function thePaletteOpensOverNoDialog(world) {
  const page = await world.tab();
  await page.show('/emails');
  page.expected = /404/; // An address that is not suppressed.
  const palette = page.getByRole('combobox', { name: 'Page, address, id or command' });
  await page.getByRole('button', { name: 'Send a test email' }).click();
  await page.getByRole('dialog', { name: 'Send a test email' }).waitFor();
  await page.keyboard.press('Control+k');
  assert.equal(await palette.count(), 0);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await palette.fill('ada@example.net');
  await page.getByRole('option', { name: 'Check whether ada@example.net is suppressed' }).click();
  await page.getByRole('heading', { level: 1, name: 'Suppressions' }).waitFor();
  assert.match(page.url(), /q=ada%40example\.net/);
  await page.leave();
}

async function tabsAndChaptersAreInTheAddress(world) {
  const page = await world.tab();
  await page.show('/connect?sdk=ruby');
  await page.getByRole('tab', { name: 'Ruby', selected: true }).waitFor();
  assert.match(await page.getByRole('tabpanel').textContent(), /RESEND_BASE_URL=https:\/\/mail\.acme\.com\/\n/, 'this SDK wants a slash at the end');
  await page.getByRole('tab', { name: 'PHP' }).click();
  await until('the tab in the address', () => page.url().includes('sdk=php'));
  assert.equal(await page.getByRole('link', { name: 'All clients and versions' }).getAttribute('href'), '/docs/CLIENTS#point-a-client-at-ringmail');
  await page.leave();
}

/** A page of captured emails can end early: it has no rows, and names the position from which the next one continues. */
async function aMailboxThatIsReadInPartIsNotEmpty(world) {
  const context = await world.session();
  await context.route(/\/dashboard\/api\/captured\?/, (route) => {
    const after = new URL(route.request().url()).searchParams.get('after');
    if (after) return route.continue({ url: route.request().url().replace(/after=[^&]*&?/, '') });
    return route.fulfill({ json: { object: 'list', has_more: true, data: [], position: CAPTURED[0] } });
  });
  const page = await world.tab(context);
  await page.show('/captured');
  await page.getByText('The server has read a part of the mailbox.').waitFor();
  await page.getByRole('button', { name: 'Search further' }).click();
  await page.locator('a.cell').first().waitFor();
  await page.leave();
  await context.close();
}

/** An answer of the server reads a part of the log. The page continues until it has the oldest request, and filters no row itself. */
async function theServerFiltersTheLog(world) {
  const page = await world.tab();
  const asked = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname === '/dashboard/api/logs') asked.push(Object.fromEntries(url.searchParams));
  });
  await page.show('/logs?status=4&method=PATCH&q=Oldest-client');
  await page.getByRole('link', { name: /^PATCH \/domains/ }).waitFor();
  await page.getByText('Searched all requests.').waitFor();
  assert.equal(await page.locator('a.cell').count(), 1);
  for (const { status, method, q } of asked) assert.deepEqual([status, method, q], ['4', 'PATCH', 'Oldest-client']);
  assert.ok(new Set(asked.map(({ after }) => after)).size > 1, 'the search continues from the position of the answer');
  await page.leave();
}

async function aFilteredLogShowsNewRequests(world) {
  const context = await world.session();
  let isLater = false;
  await context.route(/\/dashboard\/api\/logs\?/, async (route) => {
    const response = await route.fetch(), list = await response.json();
    const isFirst = !new URL(route.request().url()).searchParams.has('after');
    if (isLater && isFirst) list.data.unshift({ ...list.data[0], id: LATER_REQUEST, endpoint: '/later' });
    await route.fulfill({ response, json: list });
  });
  const page = await world.tab(context);
  await page.show('/logs?status=5');
  await page.getByText('Searched all requests.').waitFor();
  isLater = true;
  await page.getByRole('button', { name: '1 new' }).click();
  await page.getByRole('link', { name: 'GET /later' }).waitFor();
  await page.leave();
  await context.close();
}

async function anErrorHasItsRequestToCopy(world) {
  const context = await world.session();
  const id = '0199c0de-0000-7000-8000-0000000000ff';
  await context.route(/\/dashboard\/api\/webhooks\?/, (route) => route.fulfill({ status: 500, headers: { 'x-request-id': id }, json: { statusCode: 500, name: 'internal_server_error', message: 'The store could not be read.' } }));
  const page = await world.tab(context);
  page.expected = /500/;
  await page.show('/webhooks');
  assert.match(await page.getByRole('alert').textContent(), /could not be read\. The store could not be read\. Request/);
  await page.getByRole('button', { name: id }).waitFor();
  await page.leave();
  await context.close();
}

/** A delivery that the server refuses to replay, such as one without its content, does not stop the others. */
async function aRefusedReplayStopsNoOther(world) {
  const context = await world.session(), asked = [];
  await context.route(/\/deliveries\/[^/]+\/replay$/, async (route) => {
    asked.push(route.request().url());
    const refusal = { statusCode: 422, name: 'validation_error', message: 'The payload was deleted.' };
    await route.fulfill(asked.length === 1 ? { status: 422, json: refusal } : { json: { object: 'webhook_event', id: 'msg_1' } });
  });
  const page = await world.tab(context);
  page.expected = /422/;
  await page.show(`/webhooks/${ENDPOINT}?show=failed`);
  const replay = page.getByRole('button', { name: /^Replay \d+ failed events$/ });
  const count = Number(/\d+/.exec(await replay.textContent())[0]);
  await replay.click();
  await page.getByText(`Sends ${count - 1} events again, 1 refused`).waitFor();
  assert.equal(new Set(asked).size, count);
  await page.leave();
  await context.close();
}

/** The links of the sidebar that only the team of the operator has. */
function operatorLinks(page) {
  return page.locator('#sheet').getByRole('link', { name: /Queue|Health/ });
}

/** The queue and the checks belong to the team that runs the server. */
async function otherTeamsSeeNoQueue(world) {
  const context = await world.session();
  await context.route('**/dashboard/api/me', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), is_operator: false } });
  });
  const page = await world.tab(context);
  await page.show('/');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  assert.equal(await operatorLinks(page).count(), 0);
  await page.leave();
  await context.close();
}

/** The sidebar has all links except for those of the operator until the answer of `me`, which adds both at once. */
async function theOperatorsLinksFollowTheUser(world) {
  const context = await world.session();
  let answerMe = () => {};
  const held = new Promise((resolve) => { answerMe = resolve; });
  await context.route('**/dashboard/api/me', async (route) => {
    await held;
    await route.continue();
  });
  const page = await world.tab(context);
  await page.show('/');
  await page.locator('#sheet').getByRole('link', { name: 'Domains' }).waitFor();
  assert.equal(await operatorLinks(page).count(), 0);
  answerMe();
  await operatorLinks(page).first().waitFor();
  assert.equal(await operatorLinks(page).count(), 2);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.leave();
  await context.close();
}

/** Back to a page that is loaded already: its title names the thing again. */
async function theTitleNamesTheThing(world) {
  const page = await world.tab();
  await page.show('/domains');
  await page.getByRole('link', { name: 'notify.acme.com' }).click();
  await until('the title', async () => (await page.title()) === 'notify.acme.com · Ringmail');
  await page.goBack();
  await until('the title of the list', async () => (await page.title()) === 'Domains · Ringmail');
  await page.goForward();
  await page.getByRole('heading', { level: 1, name: 'notify.acme.com' }).waitFor();
  await until('the title again', async () => (await page.title()) === 'notify.acme.com · Ringmail');
  await page.leave();
}

/** Opens the form of a test email. Returns its first field. */
async function testEmail(page) {
  await page.show('/emails');
  await page.getByRole('button', { name: 'Send a test email' }).click();
  return page.getByRole('dialog').getByLabel('From');
}

/** The newest domain is not verified. */
async function aTestEmailComesFromAVerifiedDomain(world) {
  const page = await world.tab();
  const from = await testEmail(page);
  await until('the sender', async () => (await from.inputValue()) === 'hello@mail.acme.com');
  await page.getByText('An address of a verified domain.').waitFor();
  await from.fill('');
  assert.equal(await from.inputValue(), '', 'a sender that is removed does not come back');
  await page.leave();
}

async function withoutADomainATestEmailLeadsToTheDomains(world) {
  const context = await world.session();
  await context.route(/\/dashboard\/api\/domains\?/, async (route) => {
    const response = await route.fetch(), list = await response.json();
    await route.fulfill({ response, json: { ...list, data: list.data.filter(({ status }) => status !== 'verified') } });
  });
  const page = await world.tab(context);
  const from = await testEmail(page);
  await page.getByText('No domain is verified yet').waitFor();
  assert.equal(await from.inputValue(), '');
  await page.getByRole('dialog').getByRole('link', { name: 'Domains' }).click();
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.show('/connect?sdk=node');
  await page.getByText("'hello@example.com'").waitFor();
  await page.leave();
  await context.close();
}

async function aSampleIsCopiedInTwoParts(world) {
  const context = await world.session({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await world.tab(context);
  await page.show('/connect?sdk=node');
  await page.getByText("'hello@mail.acme.com'").waitFor();
  const copied = async (label) => {
    await page.getByRole('tabpanel').getByRole('button', { name: label }).click();
    await page.getByRole('tabpanel').getByText('Copied').waitFor({ state: 'attached' });
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.match(await copied('Copy the settings'), /^export RESEND_BASE_URL=https:\/\/mail\.acme\.com\nexport RESEND_API_KEY=rm_\w+$/);
  await page.getByRole('tabpanel').getByText('Copied').waitFor({ state: 'detached' });
  assert.match(await copied('Copy the code'), /^import \{ Resend \}[^]*from: 'hello@mail\.acme\.com'/);
  await page.getByRole('tab', { name: 'curl' }).click();
  assert.equal(await page.getByRole('tabpanel').getByRole('button').count(), 1, 'the request has its settings itself');
  await page.leave();
  await context.close();
}

async function aKeyShowsItsDomain(world) {
  const page = await world.tab();
  await page.show('/api-keys');
  const row = page.getByRole('row', { name: 'Production' });
  await row.getByText('Sending, mail.acme.com only').waitFor();
  await page.getByRole('row', { name: 'Staging' }).getByText('Full access').waitFor();
  await page.getByRole('button', { name: 'View as API' }).click();
  await page.getByRole('dialog').getByText('curl https://mail.acme.com/api-keys').waitFor();
  await page.leave();
}

async function theWholeQueueIsPausedAndResumed(world) {
  const page = await world.tab();
  await page.show('/queue');
  await page.getByRole('button', { name: 'Pause all…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause all' }).click();
  await page.getByText('The whole queue is paused.').waitFor();
  await page.getByRole('button', { name: 'Resume all' }).click();
  await page.getByRole('button', { name: 'Pause all…' }).waitFor();
  assert.equal(await page.getByText('The whole queue is paused.').count(), 0);
  await page.leave();
}

async function aRecordShowsItsPublishedValue(world) {
  const page = await world.tab();
  await page.show('/domains/0199c000-d0d0-7f53-9a3e-d2c81b7e0000');
  await page.getByText('10 mail.oldhost.example').waitFor();
  await page.getByText('The MX record of send.notify.acme.com leads to another server.').waitFor();
  assert.equal(await page.locator('.dots li', { hasText: 'DMARC' }).locator('span').last().textContent(), 'policy none');
  await page.getByText(/Checked \d+/).waitFor();
  await page.leave();
}

/** The preview is in its own sandbox: light by default, dark as the email has it, or inverted by the server. */
async function thePreviewHasThreeSchemes(world) {
  const context = await world.session({ colorScheme: null });
  const page = await world.tab(context);
  await page.show(`/emails/${OTHER}?theme=dark`);
  const frame = page.locator('iframe'), isDark = () => frame.contentFrame().locator('body').evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches);
  const query = async () => Object.fromEntries(new URL(await frame.getAttribute('src'), world.origin).searchParams);
  assert.deepEqual([await isDark(), await query(), await frame.getAttribute('sandbox')], [false, { images: '0', dark: '0' }, '']);
  await page.getByRole('button', { name: 'Dark', exact: true }).click();
  await until('the dark scheme', isDark);
  await page.getByRole('button', { name: 'Forced' }).click();
  await until('the inversion', async () => (await query()).dark === '1');
  await page.getByRole('switch', { name: 'Images' }).click();
  await until('the images', async () => (await query()).images === '1');
  assert.equal((await frame.boundingBox()).width, 600);
  await page.getByRole('button', { name: '375' }).click();
  await until('the narrow frame', async () => (await frame.boundingBox()).width === 375);
  await page.leave();
  await context.close();
}

export const details = [
  ['dashboard: the whole queue is paused and resumed', theWholeQueueIsPausedAndResumed],
  ['dashboard: a record shows its published value', aRecordShowsItsPublishedValue],
  ['dashboard: the preview has three schemes', thePreviewHasThreeSchemes],
  ['dashboard: the next leader of the tabs misses nothing', theNextLeaderMissesNothing],
  ['dashboard: an event of another email hides none', anEventOfAnotherEmailHidesNone],
  ['dashboard: without locks the list is polled', withoutLocksTheListIsPolled],
  ['dashboard: a deletion is undone or done', aDeletionIsUndoneOrDone],
  ['dashboard: a refused email is corrected and sent again', aRefusedEmailIsCorrectedAndSentAgain],
  ['dashboard: an email is copied as curl', anEmailIsCopiedAsCurl],
  ['dashboard: the palette opens over no dialog', thePaletteOpensOverNoDialog],
  ['dashboard: tabs are in the address', tabsAndChaptersAreInTheAddress],
  ['dashboard: a mailbox that is read in part is not empty', aMailboxThatIsReadInPartIsNotEmpty],
  ['dashboard: the server filters the log', theServerFiltersTheLog],
  ['dashboard: a filtered log shows new requests', aFilteredLogShowsNewRequests],
  ['dashboard: an error has its request to copy', anErrorHasItsRequestToCopy],
  ['dashboard: a refused replay stops no other', aRefusedReplayStopsNoOther],
  ['dashboard: other teams see no queue', otherTeamsSeeNoQueue],
  ['dashboard: the links of the operator follow the user', theOperatorsLinksFollowTheUser],
  ['dashboard: the title names the thing', theTitleNamesTheThing],
  ['dashboard: a test email comes from a verified domain', aTestEmailComesFromAVerifiedDomain],
  ['dashboard: without a domain a test email leads to the domains', withoutADomainATestEmailLeadsToTheDomains],
  ['dashboard: a sample is copied in two parts', aSampleIsCopiedInTwoParts],
  ['dashboard: a key shows its domain', aKeyShowsItsDomain],
];
