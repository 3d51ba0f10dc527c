// Measures the dashboard in Chromium: dashboard.mjs LINK RUNS ID. Prints JSON.
import { launch } from '../tests/browser/browser.mjs';

const [link, runs, id] = process.argv.slice(2);
const origin = new URL(link).origin;

/** In the page: the time of the first frame in which `selector` exists and `without` does not. `first` is the selector of the first view. */
function watch(first) {
  // A message after the callback follows the frame at once. A timer would follow the timers of the page.
  const after_frame = (act) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = act;
    port2.postMessage(null);
  });
  const wait = (selector, without) => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`no ${selector} within a minute`)), 60_000);
    const look = () => {
      if (!document.querySelector(selector) || (without && document.querySelector(without))) return false;
      after_frame(() => resolve(performance.now()));
      return true;
    };
    if (look()) return;
    const observer = new MutationObserver(() => { if (look()) observer.disconnect(); });
    observer.observe(document, { subtree: true, childList: true, attributes: true });
  });
  globalThis.ready = wait(first);
  /** Arms the measurement of the next input. */
  globalThis.arm = (selector, without) => {
    globalThis.took = new Promise((resolve, reject) => {
      const begin = (event) => {
        for (const type of ['pointerdown', 'keydown']) removeEventListener(type, begin, true);
        // The condition can hold already before the input.
        setTimeout(() => wait(selector, without).then((at_ms) => resolve(at_ms - event.timeStamp), reject));
      };
      for (const type of ['pointerdown', 'keydown']) addEventListener(type, begin, true);
    });
  };
}

/** A page is idle after so many idle callbacks in a row in time, with a pause before each: half a second of reading. */
const IDLE = { times_min: 20, pause_ms: 20, late_ms: 50, within_ms: 60_000 };

/** In the page: waits until the browser is idle. An endless animation leaves less time in each callback, but delays none. */
const idle = ({ times_min, pause_ms, late_ms, within_ms }) => new Promise((resolve, reject) => {
  let times = 0;
  const ask = () => {
    const asked_ms = performance.now();
    requestIdleCallback(() => {
      times = performance.now() - asked_ms < late_ms ? times + 1 : 0;
      if (times === times_min) resolve(); else setTimeout(ask, pause_ms);
    });
  };
  ask();
  setTimeout(() => reject(new Error('the page is never idle')), within_ms);
});

const browser = await launch();
const times_ms = {};
const add = (name, ms) => (times_ms[name] ??= []).push(ms);
let requests = 0;
let bytes = 0;

const first = await browser.newContext();
const opening = await first.newPage();
await opening.goto(link);
const cookies = await first.cookies();
await first.close();

/** A page without script, in a context of its own. */
async function addSignIn() {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addInitScript(watch, 'h1');
  const page = await context.newPage();
  await page.goto(`${origin}/dashboard/login`);
  add('sign-in page, empty cache', await page.evaluate(() => globalThis.ready));
  await context.close();
}

for (let run = 0; run < Number(runs); run += 1) {
  await addSignIn();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addCookies(cookies);
  await context.addInitScript(watch, 'a.cell');
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const running = new Map();
  session.on('Network.requestWillBeSent', ({ requestId, request, type }) => { if (type === 'Fetch' && !request.url.endsWith('/dashboard/api/events')) running.set(requestId, request.url); });
  for (const end of ['Network.loadingFinished', 'Network.loadingFailed']) session.on(end, ({ requestId }) => running.delete(requestId));
  /** Waits until the page is complete. */
  const complete = async () => {
    for (const frame of page.frames()) await frame.waitForLoadState('load');
    const until_ms = Date.now() + IDLE.within_ms;
    do {
      if (Date.now() > until_ms) throw new Error(`requests without an end: ${[...running.values()].join(' ')}`);
      await page.evaluate(idle, IDLE);
    } while (running.size > 0);
  };
  const files = new Map();
  let received = 0;
  session.on('Network.responseReceived', ({ requestId, response }) => { if (/\.(js|css)$/.test(new URL(response.url).pathname)) files.set(requestId, 0); });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => { if (files.has(requestId)) received += encodedDataLength; });

  const began = [];
  session.on('Network.requestWillBeSent', ({ request, wallTime }) => { if (!request.url.endsWith('/dashboard/api/events')) began.push(wallTime * 1000); });
  await page.goto(`${origin}/dashboard/emails`);
  const ready = await page.evaluate(async () => ({ took_ms: await globalThis.ready, start_ms: performance.timeOrigin }));
  add('first view, empty cache', ready.took_ms);
  requests = began.filter((at_ms) => at_ms < ready.start_ms + ready.took_ms).length;
  await page.reload();
  add('first view, files cached', await page.evaluate(() => globalThis.ready));

  const measure = async (name, act, selector, without) => {
    await complete();
    await page.evaluate(([one, other]) => globalThis.arm(one, other), [selector, without]);
    await act();
    add(name, await page.evaluate(() => globalThis.took));
  };
  await measure('open an email', () => page.locator('a.cell').first().click(), '.tl');
  await measure('back to the list', () => page.getByRole('link', { name: 'Emails', exact: true }).first().click(), 'a.cell', '.tl');
  const oldest = await page.locator('a.cell').last().getAttribute('href');
  await measure('the next page', () => page.getByRole('button', { name: /Older/ }).or(page.getByRole('link', { name: /Older/ })).click(), 'a.cell', `a.cell[href="${oldest}"]`);
  await page.goto(`${origin}/dashboard/emails`);
  await page.evaluate(() => globalThis.ready);
  await page.getByRole('button', { name: 'Status' }).click();
  await measure('filter by status', () => page.getByRole('checkbox', { name: 'Queued', exact: true }).click(), 'a.cell', '[aria-busy="true"]');
  await page.keyboard.press('Escape');
  await page.goto(`${origin}/dashboard/emails`);
  await page.evaluate(() => globalThis.ready);
  await measure('open the palette', () => page.keyboard.press('Control+k'), '[role="combobox"]');
  await page.keyboard.press('Escape');
  for (const path of ['/', '/captured', '/connect', '/queue', '/suppressions', '/domains', '/webhooks', '/api-keys', '/logs', '/health', '/sessions', `/emails/${id}`]) {
    await page.goto(`${origin}/dashboard${path}`);
    await page.locator('h1').first().waitFor();
  }
  bytes = received;
  await context.close();
}
await browser.close();
console.log(JSON.stringify({ times_ms, requests, bytes }));
