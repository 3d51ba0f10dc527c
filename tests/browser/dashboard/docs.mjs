// The served documentation: its start and one chapter, in both themes, on a narrow and on a wide screen.
import { excessWidth, findings } from '../browser.mjs';
import { assert } from '../check.mjs';

async function isReadable(world, path, name) {
  const page = await world.tab();
  await page.goto(`${world.origin}${path}`);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 800 });
      assert.equal(await excessWidth(page), 0, `${path} at ${width} px`);
      assert.deepEqual(await findings(page), [], `${path}, ${colorScheme}, ${width} px`);
    }
  }
  await page.leave();
}

export const docs = [
  ['docs: the start is readable', (world) => isReadable(world, '/docs', 'Documentation')],
  ['docs: a chapter is readable', (world) => isReadable(world, '/docs/OPERATING', /Operating/)],
];
