// Changes without the mouse, and the chords of all pages.
import { assert, until } from '../check.mjs';
import { ask } from './world.mjs';

/** Presses of Tab after which an element is not reached. */
const TABS_MAX = 80;

/** Moves the focus with Tab until it is on the element with this name. */
export async function tabUntil(page, name) {
  for (let n = 0; n < TABS_MAX; n += 1) {
    if (await page.evaluate((wanted) => {
      const element = document.activeElement;
      return [element.getAttribute('aria-label'), element.labels?.[0]?.textContent, element.textContent].some((text) => text?.trim() === wanted);
    }, name)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach “${name}”`);
}

/** Moves the focus to the element with this name, and presses Enter. */
async function enter(page, name) {
  await tabUntil(page, name);
  await page.keyboard.press('Enter');
}

/** A dialog takes the focus by itself. */
const focusIn = (dialog) => until('the focus in the dialog', () => dialog.evaluate((element) => element.contains(document.activeElement)));

async function aKeyIsCreatedAndRevokedByKeyboard(world) {
  const page = await world.tab();
  await page.show('/api-keys');
  await page.getByRole('row').nth(1).waitFor();
  await enter(page, 'Create API key');
  const dialog = page.getByRole('dialog');
  await focusIn(dialog);
  await page.keyboard.type('By keyboard');
  await tabUntil(page, 'SendingIt sends emails, and reads nothing else.');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('dialog', { name: 'The key By keyboard', exact: true }).waitFor();
  // The dialog closes by its button alone, so that the token is not lost.
  await page.keyboard.press('Escape');
  await enter(page, 'I have copied the key');
  await page.getByRole('row', { name: 'By keyboard' }).getByText('Full access').waitFor();
  const names = async () => (await world.read('/api-keys')).data.map(({ name }) => name);
  assert.ok((await names()).includes('By keyboard'));
  await enter(page, 'Actions of By keyboard');
  // The menu takes the focus in a task after it is shown.
  await until('the focus in the menu', () => page.evaluate(() => document.activeElement.closest('.menu') !== null));
  for (let n = 0; n < 4 && await page.evaluate(() => document.activeElement.textContent !== 'Revoke…'); n += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await focusIn(dialog);
  await enter(page, 'Revoke key');
  await page.getByText('Revoked By keyboard', { exact: true }).waitFor();
  assert.ok(!(await names()).includes('By keyboard'));
  await page.leave();
}

async function anAddressIsSuppressedByKeyboard(world) {
  const page = await world.tab();
  await page.show('/suppressions');
  await page.getByRole('heading', { level: 1, name: 'Suppressions' }).waitFor();
  await enter(page, 'Suppress addresses');
  const dialog = page.getByRole('dialog');
  await focusIn(dialog);
  await page.keyboard.type('no address');
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('“no address” is no address.', { exact: true }).waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('keyboard@example.net');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Suppressed keyboard@example.net', { exact: true }).waitFor();
  // The two parts of the address can have a space between them in the name of the link.
  await page.getByRole('link', { name: /^keyboard ?@example\.net$/ }).waitFor();
  await page.locator('#main').focus();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'keyboard@example.net', exact: true }).waitFor();
  await enter(page, 'Remove…');
  await page.getByRole('dialog', { name: 'Remove keyboard@example.net?', exact: true }).waitFor();
  await focusIn(dialog);
  await page.keyboard.press('Space');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Removed keyboard@example.net', { exact: true }).waitFor();
  assert.ok(!(await world.read('/suppressions')).data.some(({ email }) => email === 'keyboard@example.net'));
  await page.leave();
}

async function theQueueIsPausedByKeyboard(world) {
  const page = await world.tab();
  await page.show('/queue');
  await page.getByRole('button', { name: 'Pause all…', exact: true }).waitFor();
  try {
    await enter(page, 'Pause all…');
    await focusIn(page.getByRole('dialog'));
    await enter(page, 'Pause all');
    await page.getByText('The whole queue is paused.').waitFor();
    assert.equal((await world.read('/queue')).paused, true);
    await enter(page, 'Resume all');
    await page.getByText('Resumed the queue', { exact: true }).waitFor();
    assert.equal((await world.read('/queue')).paused, false);
  } finally {
    await ask(world.context.request, world.origin, '/queue/resume', 'POST');
  }
  await page.leave();
}

/** The second key of each chord, and the heading of its page. */
const CHORDS = {
  o: 'Overview', e: 'Emails', b: 'Broadcasts', t: 'Templates', n: 'Connect', m: 'Metrics', q: 'Queue', x: 'Suppressions',
  d: 'Domains', w: 'Webhooks', k: 'API keys', l: 'Logs', h: 'Health', ',': 'Sessions',
};

/** The help has a line for each chord of the table, and no other one. */
async function eachChordOpensItsPage(world) {
  const page = await world.tab();
  await page.show('/connect');
  await page.getByRole('heading', { level: 1, name: 'Connect' }).waitFor();
  for (const [key, name] of Object.entries(CHORDS)) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  }
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Shortcuts' });
  await help.waitFor();
  const keys = await help.locator('dd').evaluateAll((all) => all.map((one) => [...one.querySelectorAll('kbd')].map((kbd) => kbd.textContent)).filter(([first]) => first === 'g').map(([, second]) => second));
  assert.deepEqual(keys, Object.keys(CHORDS));
  await page.leave();
}

export const keyboard = [
  ['dashboard: a key is created and revoked by keyboard', aKeyIsCreatedAndRevokedByKeyboard],
  ['dashboard: an address is suppressed by keyboard', anAddressIsSuppressedByKeyboard],
  ['dashboard: the queue is paused by keyboard', theQueueIsPausedByKeyboard],
  ['dashboard: each chord opens its page', eachChordOpensItsPage],
];
