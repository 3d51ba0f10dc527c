// The pages that the server renders: setup, sign-in, one-time links, and the account. They work without scripts.
import { createHmac } from 'node:crypto';
import { assert } from '../check.mjs';
import { Program } from '../program.mjs';
import { inspect } from './inspect.mjs';
import { OWNER } from './world.mjs';

const STEP_MS = 30_000;
/** More attempts than a server accepts. */
const ATTEMPTS_MAX = 30;

/** Returns the code of an authenticator app (RFC 6238) `steps` after the current one. */
function codeOf(key, steps = 0) {
  const bits = [...key.replace(/[\s=]/g, '')].map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0')).join('');
  const secret = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / STEP_MS) + steps));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const number = digest.readUInt32BE(digest[19] & 0x0f) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor();

/** The first account of a server: the form, its errors, and a link that was used. */
async function setupPagesAreAccessible(world) {
  const program = await Program.start('serve', () => []);
  const context = await world.newContext();
  try {
    const page = await world.tab(context, program.origin);
    page.expected = /404|422/;
    const { url } = await program.cli('setup-link');
    await page.goto(url);
    await heading(page, 'Create the first account');
    await inspect(page, 'setup');
    await page.getByLabel('Your email').fill('ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('alert').waitFor();
    await inspect(page, 'setup-refused');
    await page.getByLabel('Password', { exact: true }).fill('a sentence of some words');
    await page.getByRole('button', { name: 'Create account' }).click();
    await heading(page, 'Overview');
    await page.goto(url);
    await heading(page, 'This link is not valid');
    await inspect(page, 'link-used');
    await page.leave();
  } finally {
    await context.close();
    await program.stop();
  }
}

/** The sign-in with a wrong password, with the right one, and with a code; and the account. */
async function signInPagesAreAccessible(world) {
  const page = await world.signedIn();
  page.expected = /422/;
  await page.show('/account');
  await heading(page, 'Your account');
  await inspect(page, 'account');
  await page.getByRole('button', { name: 'Set up an app' }).click();
  await heading(page, 'Set up an app');
  await inspect(page, 'account-app');
  await page.getByText('Enter a key instead').click();
  const key = await page.locator('details code').textContent();
  await page.getByLabel('Code that the app shows').fill(codeOf(key));
  await page.getByLabel('Current password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Turn on' }).click();
  await heading(page, 'Save your recovery codes');
  await inspect(page, 'account-codes');
  const recovery = await page.locator('.auth-codes li').first().textContent();
  await page.getByRole('link', { name: 'I have saved them' }).click();
  await page.getByText(/10 of 10 recovery codes/).waitFor();
  await inspect(page, 'account-on');

  await page.context().clearCookies();
  await page.show('/login');
  await heading(page, /^Sign in to /);
  await inspect(page, 'login');
  await page.getByLabel('Email').fill(OWNER.email);
  await page.getByLabel('Password', { exact: true }).fill('not the password at all');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await inspect(page, 'login-refused');
  await page.getByLabel('Password', { exact: true }).fill(OWNER.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await heading(page, 'Enter the code');
  await inspect(page, 'login-code');
  await page.getByLabel('Code of your authenticator app').fill('000000');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await inspect(page, 'login-code-refused');
  // A code of the next step is valid too, unlike the code that was used above.
  await page.getByLabel('Code of your authenticator app').fill(codeOf(key, 1));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await heading(page, 'Overview');

  const { url } = await world.program.cli('user', 'link', OWNER.email);
  await page.goto(url);
  await page.getByLabel('Remove the authenticator app from this account').waitFor();
  await inspect(page, 'link');
  assert.match(recovery, /^[a-z0-9-]{8,}$/i);
  await page.leave();
  await page.context().close();
}

/** Fills the form of the sign-in, and sends it. */
async function sendSignIn(page, password) {
  await page.getByLabel('Email').fill(OWNER.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** A user without scripts signs in after a mistake, goes to the page that the address names, and reads the account. */
async function theSignInNeedsNoScripts(world) {
  const context = await world.newContext({ javaScriptEnabled: false });
  const page = await world.tab(context);
  page.expected = /422/;
  await page.show('/login?next=%2Fdashboard%2Fdomains%3Fcreate%3D1');
  await heading(page, /^Sign in to /);
  await sendSignIn(page, 'not the password at all');
  await page.getByRole('alert').filter({ hasText: 'Email and password do not match.' }).waitFor();
  assert.equal(await page.getByLabel('Email').inputValue(), OWNER.email);
  assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '');
  await sendSignIn(page, OWNER.password);
  await page.waitForURL(`${world.origin}/dashboard/domains?create=1`);
  await page.show('/account');
  await heading(page, 'Your account');
  await page.getByText(OWNER.email).first().waitFor();
  await page.leave();
  await context.close();
}

/** The pages without a form that can be sent, and the refusal after too many attempts. axe needs scripts; the pages have none. */
async function errorPagesAreAccessible(world) {
  const program = await Program.start('serve', () => []);
  const context = await world.newContext();
  try {
    const page = await world.tab(context, program.origin);
    page.expected = /40[034]|42[29]/;
    await page.show('/login');
    await heading(page, 'Set up the first account');
    await inspect(page, 'login-before-setup');
    await page.show('/setup/unknown');
    await heading(page, 'This link is not valid');
    await inspect(page, 'link-unknown');
    await page.goto((await program.cli('setup-link')).url);
    await page.getByLabel('Your email').fill(OWNER.email);
    await page.getByLabel('Password', { exact: true }).fill(OWNER.password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await heading(page, 'Overview');
    await page.goto('about:blank');
    await context.clearCookies();
    await page.show('/login');
    await page.locator('form').evaluate((form) => { form.enctype = 'text/plain'; });
    await sendSignIn(page, OWNER.password);
    await heading(page, 'The form was refused');
    await page.getByText('The form arrived incomplete.').waitFor();
    await inspect(page, 'form-incomplete');
    await page.getByRole('link', { name: 'Go to the sign-in page' }).click();
    await heading(page, /^Sign in to /);
    // The origin of this page is opaque, like that of a page of another site.
    await page.goto('about:blank');
    await page.setContent(`<form method="post" action="${program.origin}/dashboard/login"><button>Send</button></form>`);
    await page.getByRole('button', { name: 'Send' }).click();
    await heading(page, 'The form was refused');
    await page.getByText('This form was not sent by a page of this server.').waitFor();
    await inspect(page, 'form-foreign');
    await page.show('/login');
    const alert = page.getByRole('alert');
    for (let n = 0; n < ATTEMPTS_MAX && !/Too many failed attempts/.test((await alert.allTextContents()).join()); n += 1) await sendSignIn(page, `wrong password number ${n}`);
    await alert.filter({ hasText: /Too many failed attempts\. Try again in \d+ minutes?\./ }).waitFor();
    await inspect(page, 'login-throttled');
    await page.leave();
  } finally {
    await context.close();
    await program.stop();
  }
}

/** A user without scripts removes the authenticator app by a link, and reads the account. */
async function theSecondFactorIsRemovedWithoutScripts(world) {
  const context = await world.newContext({ javaScriptEnabled: false });
  const page = await world.tab(context);
  const { url } = await world.program.cli('user', 'link', OWNER.email);
  await page.goto(url);
  await page.getByLabel('New password').fill(OWNER.password);
  await page.getByLabel('Remove the authenticator app from this account').check();
  await page.getByRole('button', { name: 'Set password and sign in' }).click();
  await page.waitForURL(/\/dashboard\/$/);
  await page.show('/account');
  await page.getByRole('button', { name: 'Set up an app' }).waitFor();
  await page.leave();
  await context.close();
}

export const access = [
  ['dashboard: the pages of the setup', setupPagesAreAccessible],
  ['dashboard: the sign-in needs no scripts', theSignInNeedsNoScripts],
  ['dashboard: the error pages of the sign-in', errorPagesAreAccessible],
  ['dashboard: the pages of the sign-in', signInPagesAreAccessible],
  ['dashboard: the second factor is removed without scripts', theSecondFactorIsRemovedWithoutScripts],
];
