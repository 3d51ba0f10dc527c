// Hostile HTML in the preview of an email: it changes nothing outside of its frame, and requests nothing.
import http from 'node:http';
import { listen } from '../../lib/ports.mjs';
import { assert, until } from '../check.mjs';

const TARGET_BYTES = 5_000_000;
/** Elements of the largest email that cover its frame. Chromium takes ten seconds for 50,000 of them. */
const OVERLAYS = 1_000;
/** Paths that an email with images may request. */
const IMAGES = /^\/(background|image|selector)$/;

/** Returns the emails by name. `evil` is the address of a server that must get no request. */
function attacks(evil) {
  const overlay = '<table><tr><td><div style="position:fixed;inset:0;z-index:9">Filler</div></td></tr></table>';
  const filler = `<p>${'Filler '.repeat(150)}</p>`;
  return {
    script: `<script>top.document.title='taken'; fetch('${evil}/script')</script><body onload="top.location='${evil}/onload'"><img src="x" onerror="top.document.title='taken'"><script src="${evil}/script.js"></script><a id="go" href="javascript:top.document.title='taken'">go</a>`,
    form: `<form action="${evil}/form" method="post" target="_top"><input name="q" value="1" autofocus><button id="go">go</button></form><form action="/dashboard/api/captured" method="post"></form>`,
    css: `<style>@import url(${evil}/import); html,body{position:fixed;inset:-900px;width:9000px;height:9000px;z-index:2147483647;background:red url(${evil}/background)} @font-face{font-family:x;src:url(${evil}/font)} body{font-family:x} :root{--brand:red} a[href]{background:url(${evil}/selector)}</style><link rel="stylesheet" href="${evil}/link"><link rel="prefetch" href="${evil}/prefetch"><a id="go" href="${evil}/top" target="_top">go</a>`,
    svg: `<svg xmlns="http://www.w3.org/2000/svg" onload="top.document.title='taken'"><script>top.document.title='taken'</script><image href="${evil}/image"/><use href="${evil}/use#a"/><foreignObject width="9" height="9"><iframe src="${evil}/foreign"></iframe></foreignObject><a href="${evil}/link" target="_top"><text id="go" y="20">go</text></a></svg>`,
    refresh: `<meta http-equiv="refresh" content="0;url=${evil}/refresh"><meta http-equiv="Content-Security-Policy" content="default-src *"><base href="${evil}/" target="_top"><a id="go" href="base">go</a><iframe src="${evil}/frame"></iframe><object data="${evil}/object"></object><embed src="${evil}/embed">`,
    large: overlay.repeat(OVERLAYS) + filler.repeat(Math.ceil(TARGET_BYTES / filler.length)),
  };
}

/** The state outside of the frame, which an email must not change. */
const outside = (page) => page.evaluate(() => ({
  title: document.title, path: location.href, focus: document.activeElement?.tagName, scroll: [scrollX, scrollY], history: history.length,
  parts: document.body.children.length, scripts: document.scripts.length, frames: document.querySelectorAll('iframe').length, stored: JSON.stringify(localStorage),
  brand: getComputedStyle(document.documentElement).getPropertyValue('--brand'), width: document.documentElement.scrollWidth,
}));

/**
 * `images`: with the switch "Images" on, which allows the requests of `IMAGES`. `captured`: on the page of the captured message.
 */
async function check(world, name, html, asked, { images = false, captured = false }) {
  const harmless = await world.send({ subject: 'Preview', html: '<p>Still readable</p>' });
  const id = await world.send({ subject: 'Preview', html: `<html><body>${html}<p>Still readable</p></body></html>` });
  const page = await world.tab();
  // The browser reports what the policy and the sandbox of the frame refuse. A relative link leads the frame to no page.
  page.expected = /\/preview\?|evil\.ringmail\.test|frame is sandboxed|JavaScript URL|404/;
  page.attempts = /^http:\/\/evil\.ringmail\.test/;
  const open = async (email) => {
    await page.show(captured ? `/captured/${await world.capturedId(email)}` : `/emails/${email}?tab=preview`);
    await page.frameLocator('iframe').getByText('Still readable').waitFor({ state: 'attached' });
    if (!captured) await page.getByRole('list', { name: 'Timeline' }).getByText('Delivered').waitFor();
    if (images) {
      await page.getByRole('switch', { name: 'Images' }).click();
      await until('the images', async () => page.frames().some((frame) => /images=1/.test(frame.url())));
      await page.frameLocator('iframe').getByText('Still readable').waitFor({ state: 'attached' });
    }
    return outside(page);
  };
  const expected = await open(harmless);
  const found = await open(id);
  const same = { path: '', history: 0 };
  assert.deepEqual({ ...found, ...same }, { ...expected, ...same }, name);
  assert.equal(new URL(found.path).origin, world.origin);
  assert.equal(await page.locator('iframe').getAttribute('sandbox'), '');
  const go = page.frameLocator('iframe').locator('#go');
  if (await go.count() > 0) {
    // In the frame, so that no other element of the email takes the click.
    await go.dispatchEvent('click');
    const after = await outside(page);
    assert.deepEqual({ ...after, ...same, focus: '' }, { ...expected, ...same, focus: '' }, `${name}, after a click`);
  }
  assert.match((await page.request.get(await page.locator('iframe').evaluate((frame) => frame.src))).headers()['content-security-policy'], /sandbox; default-src 'none'/);
  // The page still works beside it.
  await page.getByRole('tab', { name: 'Headers' }).click();
  await page.getByRole('tabpanel').getByText('ada@example.net').first().waitFor();
  if (images) await until('the image', () => asked.some((path) => IMAGES.test(path)));
  assert.deepEqual(asked.filter((path) => !images || !IMAGES.test(path)), [], `${name}: requests`);
  await page.leave();
}

async function hostileHtmlStaysInItsFrame(world, name, place = {}) {
  const asked = [];
  const server = await listen(http.createServer((request, response) => {
    asked.push(request.url);
    response.end();
  }));
  try {
    const evil = `http://evil.ringmail.test:${server.address().port}`;
    await check(world, name, attacks(evil)[name], asked, place);
  } finally {
    server.close();
  }
}

export const hostile = [
  ...Object.keys(attacks('')).map((name) => [`dashboard: hostile HTML stays in its frame: ${name}`, (world) => hostileHtmlStaysInItsFrame(world, name)]),
  ...['css', 'svg'].map((name) => [`dashboard: hostile HTML with images stays in its frame: ${name}`, (world) => hostileHtmlStaysInItsFrame(world, name, { images: true })]),
  ...Object.keys(attacks('')).map((name) => [`dashboard: hostile HTML of a captured message stays in its frame: ${name}`, (world) => hostileHtmlStaysInItsFrame(world, name, { captured: true })]),
];
