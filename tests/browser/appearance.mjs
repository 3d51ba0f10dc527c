// How the page looks: axe in every state, both colour schemes, narrow, themed, and the screenshots.
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

/** Fails for everything that axe finds, of every rule it has. */
async function assertAccessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).join(' ')}`);
  assert.deepEqual(found, [], where);
}

/** Nothing is wider than the screen, and what is pressed is as large as a finger. */
async function assertFits(page, where) {
  const { wide, small } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    small: [...document.querySelectorAll('button, a, .topic')]
      .filter((element) => element.getBoundingClientRect().height < 44)
      .map((element) => element.outerHTML),
  }));
  assert.deepEqual({ wide, small }, { wide: 0, small: [] }, where);
}

/** Walks through every state of the page, and calls `look` in each. */
async function walk(world, page, look) {
  const ids = await world.call('GET', '/topics?limit=100');
  const news = ids.data.find(({ name }) => name === 'News').id;
  const person = await world.person();
  await page.goto(await world.linkInEmail(person.email, news));
  await look('topic');
  await page.locator('button[value=topic]').click();
  await look('done');
  await page.goto(await world.linkInEmail('nobody@recipient.example', news));
  await look('stranger');
  const other = await world.person();
  await page.goto(await world.linkOf(other));
  await look('preferences');
  await page.locator('form:has(fieldset) button').click();
  await look('saved');
  await page.locator('button[value=everything]').click();
  await look('done-everything');
  await page.goto(await world.linkOf(other));
  await look('unsubscribed');
}

function looksWell(name, { theme, ...options }) {
  return async (world) => {
    await makeTopics(world);
    if (theme) await world.cli('theme', 'set', ...THEME);
    // axe is put into the page from outside, which its policy would not let in.
    const page = await world.page({ javaScript: true, bypassCSP: true, viewport: WIDE, ...options });
    await walk(world, page, async (state) => {
      await assertAccessible(page, state);
      await assertFits(page, state);
      const bytes = Buffer.byteLength(await page.content());
      assert.ok(bytes < PAGE_BYTES_MAX, `${state} has ${bytes} bytes`);
      await page.screenshot({ path: join(SCREENSHOTS, `${state}-${name}.png`), fullPage: true });
    });
    await page.leave();
  };
}

async function followsTheColourScheme(world) {
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
  ['the page follows the colour scheme', followsTheColourScheme],
  ['light, in English', looksWell('light-en', { colorScheme: 'light' })],
  ['dark, in English', looksWell('dark-en', { colorScheme: 'dark' })],
  ['light, in German', looksWell('light-de', { colorScheme: 'light', locale: 'de-DE' })],
  ['dark, in German', looksWell('dark-de', { colorScheme: 'dark', locale: 'de-DE' })],
  ['narrow', looksWell('narrow-de', { viewport: NARROW, locale: 'de-DE', hasTouch: true, isMobile: true })],
  ['a team’s colours, light', looksWell('themed-light', { theme: true, colorScheme: 'light' })],
  ['a team’s colours, dark', looksWell('themed-dark', { theme: true, colorScheme: 'dark' })],
  ['forced colours', looksWell('forced-colours', { forcedColors: 'active' })],
];
