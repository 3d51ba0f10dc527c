// The look at one page: its width, axe, and a screenshot, in each theme and at each width.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { excessWidth, findings } from '../browser.mjs';
import { assert } from '../check.mjs';

const FULL = process.argv.includes('--full');
/** Whether this run writes the screenshots of the documentation. */
export const PICTURES = process.argv.includes('--screenshots');
const PICTURE_FOLDER = fileURLToPath(new URL('../../../docs/screenshots/', import.meta.url));
const PICTURE_QUALITY = 80;

const THEMES = FULL || PICTURES ? ['light', 'dark'] : ['light'];
/** Widths of the contexts of a page, and whether the context has a touch screen. */
const CONTEXTS = PICTURES ? [[[1440], false]] : FULL ? [[[1440, 1024], false], [[360], true]] : [[[1440, 360], false]];
/** Widths of a run. */
const WIDTHS = [...new Set(CONTEXTS.flatMap(([widths]) => widths))];

/** Calls `look` with the widths and the options of each context of this run. */
export async function inContexts(look) {
  for (const [widths, hasTouch] of CONTEXTS) await look(widths, { hasTouch, viewport: sizeOf(widths[0]) });
}

function sizeOf(width) {
  return { width, height: width < 500 ? 800 : 900 };
}

/**
 * Asserts in each theme and at each width that a page fits its screen, and that axe has no finding. With `part`, a run that
 * is not full applies axe once, to the element that it selects.
 */
export async function inspect(page, name, { widths = WIDTHS, part } = {}) {
  await page.evaluate(() => document.fonts.ready);
  const isPart = part !== undefined && !FULL;
  for (const colorScheme of THEMES) {
    if (THEMES.length > 1) await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize(sizeOf(width));
      const where = `${name}-${colorScheme}-${width}`;
      if (PICTURES) {
        await takePicture(page, `${name}-${colorScheme}`);
        continue;
      }
      try {
        assert.equal(await excessWidth(page), 0, `${where} is wider than the screen`);
        if (!isPart || width === widths.at(-1)) assert.deepEqual(await findings(page, isPart ? part : undefined), [], where);
      } catch (error) {
        await takeScreenshot(page, where);
        throw error;
      }
      if (FULL) await takeScreenshot(page, where);
    }
  }
}

function takeScreenshot(page, name) {
  return page.screenshot({ path: join(process.env.SCREENSHOTS, `dashboard-${name}.png`) });
}

/** Writes a screenshot of the documentation. */
async function takePicture(page, name) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: PICTURE_QUALITY });
  await mkdir(PICTURE_FOLDER, { recursive: true });
  await writeFile(join(PICTURE_FOLDER, `${name}.webp`), Buffer.from(data, 'base64'));
  await session.detach();
}
