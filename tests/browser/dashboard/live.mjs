// Live updates in many tabs.
import { launch } from '../browser.mjs';
import { assert } from '../check.mjs';

/** Two browsers with eight tabs each stay live, with one stream for each browser. */
async function manyTabsAreLive(world) {
  await world.clear();
  await world.send({ subject: 'There before' });
  const browsers = [world.browser, await launch()];
  const tabs = [];
  for (const browser of browsers) {
    const context = await world.session({}, browser);
    let streams = 0;
    context.on('request', (request) => { if (request.url().endsWith('/dashboard/api/events')) streams += 1; });
    for (let n = 0; n < 8; n += 1) {
      const page = await world.tab(context);
      await page.show('/emails');
      await page.getByRole('link', { name: 'There before' }).waitFor();
      tabs.push(page);
    }
    assert.equal(streams, 1, 'the tabs of a browser share a stream');
  }
  await world.send({ subject: 'Comes later' });
  for (const page of tabs) await page.getByRole('button', { name: /^\d+ new$/ }).waitFor();
  assert.equal(await tabs[0].getByRole('link', { name: 'Comes later' }).count(), 0, 'rows do not move by themselves');
  await tabs[0].getByRole('button', { name: /^\d+ new$/ }).click();
  await tabs[0].getByRole('link', { name: 'Comes later' }).waitFor();
  await tabs[8].leave();
  await world.send({ subject: 'After the leader has gone' });
  await tabs[9].getByRole('button', { name: '2 new' }).waitFor();
  await browsers[1].close();
}

export const live = [['dashboard: two browsers with eight tabs are live', manyTabsAreLive]];
