// Journeys on a server with accounts.
import { assert, journey } from '../../check.mjs';
import { OWNER } from '../world.mjs';

const NEW_PASSWORD = 'another sentence of some words';

/** The link ends the forgotten password and the session that another browser has. */
async function getBackIn(world, other) {
  const context = await world.newContext();
  const page = await world.tab(context);
  page.expected = /401|404|422/;
  await page.show('/emails');
  await page.getByRole('heading', { level: 1, name: /^Sign in to / }).waitFor();
  await page.getByLabel('Email').fill(OWNER.email);
  await page.getByLabel('Password', { exact: true }).fill('not the password at all');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText(/^Email and password do not match/).waitFor();
  await page.getByText('Forgotten the password?').click();
  await page.getByText('ringmail user link EMAIL').waitFor();
  const { url } = await world.program.cli('user', 'link', OWNER.email);
  await page.goto(url);
  await page.getByRole('heading', { level: 1, name: /^Get back in to / }).waitFor();
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  // An open page of the other session would go to the sign-in page by itself, in the middle of the next navigation.
  await other.goto('about:blank');
  await page.getByRole('button', { name: 'Set password and sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  OWNER.password = NEW_PASSWORD;
  await other.show('/domains');
  await other.getByRole('heading', { level: 1, name: /^Sign in to / }).waitFor();
  await page.goto(url);
  assert.equal(await page.getByRole('button', { name: 'Set password and sign in' }).count(), 0, 'a link works once');
  await page.leave();
  await context.close();
}

async function twoBrowsers(world) {
  const [here, there] = [await world.signedIn(), await world.signedIn()];
  await there.show('/emails');
  await there.getByRole('heading', { level: 1, name: 'Emails' }).waitFor();
  return { here, there };
}

async function signOutElsewhere(world, { here, there }) {
  await here.show('/sessions');
  await here.getByText('This one').waitFor();
  await there.goto('about:blank');
  await here.getByRole('button', { name: 'Sign out elsewhere…' }).click();
  await here.getByRole('dialog').getByRole('button', { name: 'Sign out elsewhere' }).click();
  await here.getByText(/^Signed out \d+ other sessions?$/).waitFor();
  assert.equal(await here.getByRole('row').count(), 2, 'a head and this session');
  there.expected = /401/;
  await there.show('/domains');
  await there.getByRole('heading', { level: 1, name: /^Sign in to / }).waitFor();
  assert.match(there.url(), /next=%2Fdashboard%2Fdomains/);
  await here.leave();
  await there.leave();
}

/** The session of a third browser ends. The sessions of the two others stay. */
async function endOneSession(world, { here, there }) {
  const lost = await world.signedIn({ userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' });
  await lost.goto('about:blank');
  await here.show('/sessions');
  const row = here.getByRole('row', { name: /Firefox on Linux/ });
  await row.getByRole('button', { name: 'Sign out' }).click();
  await here.getByText('Signed out Firefox on Linux').waitFor();
  await row.waitFor({ state: 'detached' });
  lost.expected = /401/;
  await lost.show('/domains');
  await lost.getByRole('heading', { level: 1, name: /^Sign in to / }).waitFor();
  await there.show('/domains');
  await there.getByRole('heading', { level: 1, name: 'Domains' }).waitFor();
  for (const page of [here, there, lost]) await page.leave();
}

/** The form names no domain that the server would refuse. */
async function findOutWhatTheFirstEmailNeeds(world, page) {
  await page.show('/emails');
  await page.getByRole('button', { name: 'Send a test email' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('No domain is verified yet').waitFor();
  assert.equal(await dialog.getByLabel('From').inputValue(), '');
  await dialog.getByRole('link', { name: 'Domains' }).click();
  await page.getByRole('button', { name: 'Add domain' }).first().waitFor();
  await page.leave();
}

async function aBrowserWithASession(world) {
  const page = await world.signedIn();
  page.expected = /401/;
  return page;
}

export const serveJourneys = [
  journey('find out what the first email needs', aBrowserWithASession, findOutWhatTheFirstEmailNeeds),
  journey('get back in', aBrowserWithASession, getBackIn),
  journey('end one session', twoBrowsers, endOneSession),
  journey('sign out elsewhere', twoBrowsers, signOutElsewhere),
];
