// Live updates in many tabs.
import { launch } from '../browser.mjs';
import { assert } from '../check.mjs';
import { Program } from '../program.mjs';

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

/** An open list notices the end of its server, and shows new email after the restart without a reload. */
async function aRestartIsNoticed(world) {
  const program = await Program.dev();
  const context = await world.newContext();
  try {
    const page = await world.tab(context, program.origin);
    // The browser reports each request to the server that does not run.
    page.expected = /ERR_/;
    const send = (subject) => program.call('POST', '/emails', { from: 'hello@example.com', to: 'ada@example.net', subject, text: 'x' });
    await send('Before the restart');
    await page.goto(await program.link());
    await page.show('/emails');
    await page.getByRole('link', { name: 'Before the restart' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await program.end();
    await page.getByRole('status').getByText('Reconnecting').waitFor();
    await page.getByRole('link', { name: 'Before the restart' }).waitFor();
    await program.run();
    await send('After the restart');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: '1 new' }).click();
    await page.getByRole('link', { name: 'After the restart' }).waitFor();
    await page.leave();
  } finally {
    await context.close();
    await program.stop();
  }
}

export const live = [
  ['dashboard: two browsers with eight tabs are live', manyTabsAreLive],
  ['dashboard: a restart of the server is noticed', aRestartIsNoticed],
];
