// The browser of the suite, and axe.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const modules = createRequire(join(process.env.BROWSER_MODULES, '/'));
const { chromium } = modules('playwright-core');
const axe = await readFile(modules.resolve('axe-core/axe.min.js'), 'utf8');

/** Starts a browser that reaches nothing but this machine. Hosts below `ringmail.test` are this machine too. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM,
    // The sandbox of Chromium does not start as root, the default user of containers.
    args: ['--host-resolver-rules=MAP ringmail.test 127.0.0.1, MAP *.ringmail.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--no-sandbox'],
  });
}

/**
 * Returns the findings of axe in every rule, below the element that `selector` selects. The policy of a page refuses some style elements of axe itself, so that
 * the console does not count meanwhile.
 */
export async function findings(page, selector = 'html') {
  page.isMeasured = true;
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe);
  const { violations, passes } = await page.evaluate((context) => globalThis.axe.run(context, { resultTypes: ['violations'], selectors: false, preload: false }), selector);
  page.isMeasured = false;
  if (passes.length === 0) throw new Error('axe has checked nothing');
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 200)).join(' ')}`);
}

/** Returns by how many pixels a page is wider than its screen. */
export function excessWidth(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
