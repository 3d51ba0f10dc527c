// Appearance of the page: axe in every state, colour schemes, a narrow screen, themes, and screenshots.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { assert } from './check.mjs';
import { makeTopics } from './behaviour.mjs';
import { SCREENSHOTS } from './world.mjs';

const modules = createRequire(join(process.env.BROWSER_MODULES, '/'));
const axe = await readFile(modules.resolve('axe-core/axe.min.js'), 'utf8');

const WIDE = { width: 900, height: 1000 };
const NARROW = { width: 320, height: 640 };
const PAGE_BYTES_MAX = 15_000;

const THEME = [
  '--brand', 'Bäckerei Sonnenschein',
  '--message', 'Schade, dass Sie gehen möchten.\nWe are sorry to see you go.',
  '--success', 'Come back whenever you like.',
  '--background', '#fff4e0',
  '--text', '#8a7a66',
  '--accent', '#ffb300',
];

/** Asserts that axe finds no violation of any of its rules. */
async function assertAccessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).join(' ')}`);
  assert.deepEqual(found, [], where);
}

/** Asserts that no element is wider than the screen, and that buttons and links are at least 44 pixels high. */
async function assertFits(page, where) {
  const { wide, small } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    small: [...document.querySelectorAll('button, a, .topic')]
      .filter((element) => element.getBoundingClientRect().height < 44)
      .map((element) => element.outerHTML),
  }));
  assert.deepEqual({ wide, small }, { wide: 0, small: [] }, where);
}

/** Opens each state of the page and calls `check` with its name. */
async function visitStates(world, page, check) {
  const ids = await world.call('GET', '/topics?limit=100');
  const news = ids.data.find(({ name }) => name === 'News').id;
  const person = await world.person();
  await page.goto(await world.linkInEmail(person.email, news));
  await check('topic');
  await page.locator('button[value=topic]').click();
  await check('done');
  await page.goto(await world.linkInEmail('stranger@recipient.example', news));
  await check('stranger');
  const other = await world.person();
  await page.goto(await world.linkOf(other));
  await check('preferences');
  await page.locator('form:has(fieldset) button').click();
  await check('saved');
  await page.locator('button[value=everything]').click();
  await check('done-everything');
  await page.goto(await world.linkOf(other));
  await check('unsubscribed');
}

function checkAppearance(name, { theme, ...options }) {
  return async (world) => {
    await makeTopics(world);
    if (theme) await world.cli('theme', 'set', ...THEME);
    // The content security policy of the page blocks axe, so it is disabled.
    const page = await world.page({ javaScript: true, bypassCSP: true, viewport: WIDE, ...options });
    await visitStates(world, page, async (state) => {
      await assertAccessible(page, state);
      await assertFits(page, state);
      const bytes = Buffer.byteLength(await page.content());
      assert.ok(bytes < PAGE_BYTES_MAX, `${state} has ${bytes} bytes`);
      await page.screenshot({ path: join(SCREENSHOTS, `${state}-${name}.png`), fullPage: true });
    });
    await page.leave();
  };
}

async function checkColourScheme(world) {
  await makeTopics(world);
  const person = await world.person();
  const link = await world.linkOf(person);
  const lightness = {};
  for (const colorScheme of ['light', 'dark']) {
    const page = await world.page({ javaScript: true, colorScheme });
    await page.goto(link);
    const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [red, green, blue] = colour.match(/\d+/g).map(Number);
    lightness[colorScheme] = (red + green + blue) / 3;
    await page.leave();
  }
  assert.ok(lightness.light > 200 && lightness.dark < 40, JSON.stringify(lightness));
}

export const appearance = [
  ['the page uses the colour scheme of the browser', checkColourScheme],
  ['light, in English', checkAppearance('light-en', { colorScheme: 'light' })],
  ['dark, in English', checkAppearance('dark-en', { colorScheme: 'dark' })],
  ['light, in German', checkAppearance('light-de', { colorScheme: 'light', locale: 'de-DE' })],
  ['dark, in German', checkAppearance('dark-de', { colorScheme: 'dark', locale: 'de-DE' })],
  ['narrow', checkAppearance('narrow-de', { viewport: NARROW, locale: 'de-DE', hasTouch: true, isMobile: true })],
  ['themed, light', checkAppearance('themed-light', { theme: true, colorScheme: 'light' })],
  ['themed, dark', checkAppearance('themed-dark', { theme: true, colorScheme: 'dark' })],
  ['forced colours', checkAppearance('forced-colours', { forcedColors: 'active' })],
];
