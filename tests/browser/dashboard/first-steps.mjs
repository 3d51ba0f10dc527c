// The first steps on a new server: the list of the overview, the first key, and the first email. The server is the fake one.
import { findings } from '../browser.mjs';
import { assert, until } from '../check.mjs';

/** The token of a key that the fake server creates. */
const TOKEN = 'rm_Ml2kiBjsXiCGAe2tEtS2TKIFJG7frlh7';

const NOTHING = { data: [], has_more: false };
const CAPTURES = { delivery: 'capture', release: null };

/** The states of the steps by title. */
async function stepsOf(page) {
  const list = page.getByRole('region', { name: 'First steps' });
  await list.waitFor();
  return list.getByRole('listitem').evaluateAll((items) => Object.fromEntries(items.map((item) => [item.querySelector('.medium').textContent, item.querySelector('.pill').textContent])));
}

/** Each case has the fields of `GET /me`, whether an email and a verified domain exist, and the expected states. */
const CASES = [
  ['a new server', CAPTURES, false, false, ['Next', 'Later', 'Later', 'Later']],
  ['a verified domain', CAPTURES, false, true, ['Done', 'Next', 'Later', 'Later']],
  ['the first email', CAPTURES, true, true, ['Done', 'Done', 'Next', 'Later']],
  ['a route for released emails', { delivery: 'capture', release: 'direct' }, true, true, ['Done', 'Done', 'Next', 'Later']],
  ['a server that delivers, before the first email', { delivery: 'direct', release: 'direct' }, false, true, ['Done', 'Next', 'Done', 'Done']],
  ['another team', { ...CAPTURES, is_operator: false }, false, true, ['Done', 'Next']],
  ['another team with an email', { ...CAPTURES, is_operator: false }, true, false, ['Next', 'Done']],
  ['a development server', { ...CAPTURES, mode: 'dev', user: null }, false, true, ['Done', 'Next']],
  ['a development server with an email', { ...CAPTURES, mode: 'dev', user: null }, true, false, ['Next', 'Done']],
];
const STEPS = ['Add a domain', 'Send the first email', 'Choose the delivery', 'Switch capture off'];

async function theFirstStepsHaveTheirStates(world) {
  for (const [name, me, isSent, hasDomain, states] of CASES) {
    const page = await world.changedTab({ '/me': me, '/overview': isSent ? {} : { last: [] }, '/domains': hasDomain ? {} : NOTHING });
    await page.show('/');
    assert.deepEqual(await stepsOf(page), Object.fromEntries(states.map((state, i) => [STEPS[i], state])), name);
    await page.leave();
    await page.context().close();
  }
}

/** Without an open step, the overview has no list. It asks for the domains once. */
async function theFirstStepsEnd(world) {
  const page = await world.tab();
  let asked = 0;
  page.on('request', (request) => { asked += Number(new URL(request.url()).pathname === '/dashboard/api/domains'); });
  for (const _ of [1, 2]) {
    await page.show('/');
    await page.getByRole('heading', { name: 'Last 7 days' }).waitFor();
    await until('the end of the list', () => page.evaluate(() => Object.values(localStorage).includes('done')));
    assert.equal(await page.getByRole('heading', { name: 'First steps' }).count(), 0);
    assert.equal(asked, 1);
  }
  await page.leave();
}

/** A failed request for the domains has an end, and can be tried again. */
async function theFirstStepsCanFail(world) {
  const page = await world.changedTab({ '/me': CAPTURES, '/overview': { last: [] } });
  page.expected = /500/;
  let isFailing = true;
  await page.route(/\/dashboard\/api\/domains/, (route) => (isFailing ? route.fulfill({ status: 500, json: { statusCode: 500, name: 'internal_server_error', message: 'The store could not be read.' } }) : route.continue()));
  await page.show('/');
  const failure = page.getByRole('alert').filter({ hasText: 'The steps could not be read.' });
  await failure.waitFor();
  assert.deepEqual(await findings(page), []);
  isFailing = false;
  await failure.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await page.leave();
  await page.context().close();
}

/** The browser stores the choice for the team. A command shows the list again. */
async function theFirstStepsAreHidden(world) {
  const page = await world.changedTab({ '/me': CAPTURES, '/overview': { last: [] } });
  const steps = page.getByRole('heading', { name: 'First steps' });
  await page.show('/');
  await steps.waitFor();
  await page.getByRole('button', { name: 'Hide', exact: true }).click();
  await page.getByRole('heading', { name: 'No emails yet' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'No emails yet' }).waitFor();
  assert.equal(await steps.count(), 0);
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('start'))), ['ringmail.start.0190a000-0000-7000-8000-000000000002']);
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('option', { name: 'Show first steps' }).click();
  await steps.waitFor();
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('option', { name: 'Change theme' }).waitFor();
  assert.equal(await page.getByRole('option', { name: 'Show first steps' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.leave();
  await page.context().close();
}

/** Creates a key on a page that shows samples. The samples have it at once, and until the page is left. */
async function createKey(page) {
  await page.getByText('Authorization: Bearer rm_YOUR_API_KEY').first().waitFor();
  await page.getByRole('button', { name: 'Create API key' }).click();
  await page.getByLabel('Name').fill('First');
  await page.getByRole('dialog').getByRole('button', { name: 'Create API key' }).click();
  const dialog = page.getByRole('dialog', { name: 'The key First' });
  assert.equal(await dialog.locator('#new-token').textContent(), TOKEN);
  await dialog.getByText('It stays in the samples until you leave this page.').waitFor();
  await dialog.getByRole('button', { name: 'Copy the API key' }).waitFor();
  await dialog.getByRole('button', { name: 'I have copied the key' }).click();
  const code = page.getByRole('tabpanel').locator('code');
  assert.match(await code.textContent(), new RegExp(`curl https://mail\\.acme\\.com/emails[^]*Bearer ${TOKEN}`));
  assert.equal(await page.locator('.creds').locator('div', { hasText: 'API key' }).locator('code').textContent(), TOKEN);
}

async function aCreatedKeyFillsTheSamples(world) {
  const page = await world.tab();
  await page.show('/connect?sdk=curl');
  await createKey(page);
  await page.getByText(`RESEND_BASE_URL=https://mail.acme.com RESEND_API_KEY=${TOKEN} resend emails send`).waitFor();
  assert.equal(await page.locator(`[title*="${TOKEN}"]`).count(), 0);
  await page.getByRole('link', { name: 'Overview' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'Connect', exact: true }).first().click();
  await page.getByText('Shown once, when it is created').waitFor();
  assert.equal(await page.getByText(TOKEN).count(), 0);
  await page.leave();
}

/** A key for one domain sends from its addresses alone, so that the samples have one of them. */
async function aKeyForOneDomainHasItsSender(world) {
  const page = await world.tab();
  await page.show('/connect?sdk=curl');
  await page.getByRole('button', { name: 'Create API key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('One domain');
  const domain = dialog.getByLabel('Domain', { exact: true }), name = await domain.locator('option').last().textContent();
  await domain.selectOption(name);
  await dialog.getByRole('button', { name: 'Create API key' }).click();
  await dialog.getByRole('tabpanel').getByText(`hello@${name}`).waitFor();
  await dialog.getByRole('button', { name: 'I have copied the key' }).click();
  await page.getByRole('tabpanel').getByText(`hello@${name}`).waitFor();
  await page.getByText(`resend emails send --from hello@${name} `).waitFor();
  await page.leave();
}

/** A server that delivers waits for the first email too, and shows its state. */
async function theFirstEmailIsAwaitedWithoutCapture(world) {
  const context = await world.session();
  let isSent = false;
  await context.route(/\/dashboard\/api\/emails\?/, async (route) => {
    const response = await route.fetch(), list = await response.json();
    await route.fulfill({ response, json: isSent ? { ...list, data: [{ ...list.data[0], last_event: 'delivered', subject: 'The first one' }] } : { ...list, ...NOTHING } });
  });
  const page = await world.tab(context);
  await page.show('/emails?sdk=curl');
  await page.getByRole('heading', { name: 'Waiting for your first email' }).waitFor();
  assert.equal(await page.getByText('Nothing leaves this machine').count(), 0);
  await createKey(page);
  await page.getByRole('button', { name: 'Send a test email' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  isSent = true;
  const event = { id: crypto.randomUUID(), type: 'email.sent', created_at: new Date().toISOString(), data: { email_id: '0199c000-6b0d-7f53-9a3e-d2c81b7e0000' } };
  await fetch(`${world.origin}/control/events`, { method: 'POST', body: JSON.stringify([event]) });
  const got = page.getByRole('region', { name: 'Your first email is here' });
  await got.getByText('Delivered', { exact: true }).waitFor();
  await got.getByText('The first one').waitFor();
  await page.leave();
  await context.close();
}

export const firstSteps = [
  ['dashboard: the first steps have their states', theFirstStepsHaveTheirStates],
  ['dashboard: the first steps end', theFirstStepsEnd],
  ['dashboard: the first steps can fail', theFirstStepsCanFail],
  ['dashboard: the first steps are hidden', theFirstStepsAreHidden],
  ['dashboard: a created key fills the samples', aCreatedKeyFillsTheSamples],
  ['dashboard: a key for one domain has its sender', aKeyForOneDomainHasItsSender],
  ['dashboard: the first email is awaited without capture', theFirstEmailIsAwaitedWithoutCapture],
];
