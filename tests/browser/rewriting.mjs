// Pictures of the emails in tests/fixtures/html with and without tracking: rewritten links and the pixel change nothing that
// a recipient sees. Each email goes through the server twice, and the built-in mailbox returns what a recipient gets.
// Without --full, a part of the emails is compared.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from './browser.mjs';
import { assert, until } from './check.mjs';
import { Program } from './program.mjs';

const FOLDER = fileURLToPath(new URL('../fixtures/html/', import.meta.url));
const IS_FULL = process.argv.includes('--full');
/** One of so many emails is compared without --full: about 40 of all. */
const STEP = { constructed: 4, other: 8 };
const VIEWPORT = { width: 800, height: 900 };
/** Chromium draws no larger pictures as a whole. */
const HEIGHT_MAX = 8_000;
/** Pages of the emails. Nothing listens here: the suite answers for it. */
const ORIGIN = 'http://email.ringmail.test';
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
/**
 * Emails whose styles select elements by their position or number, or links by their destination, and the edit that
 * changes their pictures. The pixel is one more element in the body, and a rewritten link has another destination. No
 * form of the edit therefore keeps the picture. The other edit must keep it.
 */
const DEPENDENT = {
  pixel: emailsNamed('last-child', 'nth-last-child', 'only-child', 'last-of-type', 'has-image', 'counter'),
  links: emailsNamed('href-selector', 'link-in-style'),
};
/** Path of a pixel, and of a rewritten link. */
const PATHS = { pixel: '/t/o/', links: '/t/c/' };

function emailsNamed(...names) {
  return names.map((name) => `constructed-${name}.html`);
}

/** The names of the emails whose pictures both edits must keep, by the first word of the name. */
async function corpus() {
  const [, ...rows] = (await readFile(join(FOLDER, 'index.csv'), 'utf8')).trim().split('\n');
  const groups = {}, excluded = new Set(Object.values(DEPENDENT).flat());
  for (const file of rows.map((row) => row.split(',')[0]).filter((name) => !excluded.has(name))) (groups[file.split('-')[0]] ??= []).push(file);
  if (IS_FULL) return groups;
  return Object.fromEntries(Object.entries(groups).map(([group, all]) => [group, all.filter((_, at) => at % (STEP[group] ?? STEP.other) === 0)]));
}

const groups = await corpus();

/** A server in capture mode, with the messages of all emails without tracking and with tracking. */
export class RewritingWorld {
  static async start() {
    const world = new RewritingWorld();
    try {
      await world.open();
    } catch (error) {
      const log = world.log();
      await world.stop();
      throw new Error(`${error.stack ?? error}\n${log}`);
    }
    return world;
  }

  async open() {
    await mkdir(process.env.SCREENSHOTS, { recursive: true });
    this.program = await Program.dev();
    this.browser = await launch();
    const all = [...Object.values(groups), ...Object.values(DEPENDENT)].flat();
    this.plain = await this.send('plain', all);
    await this.track({ open_tracking: true, click_tracking: true });
    this.tracked = await this.send('tracked', all);
    await this.track({ open_tracking: false, click_tracking: true });
    this.onlyLinks = await this.send('links', DEPENDENT.pixel);
    await this.track({ open_tracking: true, click_tracking: false });
    this.onlyPixel = await this.send('pixel', DEPENDENT.links);
  }

  async track(fields) {
    const { data } = await this.program.call('GET', '/domains');
    await this.program.call('PATCH', `/domains/${data[0].id}`, fields);
  }

  async stop() {
    await this.browser?.close();
    await this.program?.stop();
  }

  log() {
    return this.program?.log() ?? '';
  }

  /** Sends the emails of files. Returns the html of each in its captured message, by the name of the file. */
  async send(word, files) {
    const emails = new Map(), messages = new Map();
    for (const file of files) {
      const html = await readFile(join(FOLDER, file), 'utf8');
      const { id } = await this.program.call('POST', '/emails', { from: 'Acme <news@example.com>', to: `${word}-${emails.size}@recipient.example`, subject: file, html });
      emails.set(id, file);
    }
    await until(`the messages of ${emails.size} emails`, async () => {
      let path = '/captured?limit=100';
      for (;;) {
        const { data, has_more } = await this.program.call('GET', path);
        for (const { id, email_id } of data) if (emails.has(email_id)) messages.set(emails.get(email_id), id);
        if (!has_more || data.length === 0) break;
        path = `/captured?limit=100&after=${data.at(-1).id}`;
      }
      return messages.size === emails.size;
    });
    const captured = new Map();
    for (const [file, id] of messages) captured.set(file, (await this.program.call('GET', `/captured/${id}`)).html);
    return captured;
  }

  /** Returns a page that shows html of this suite, loads the pixel, and reaches nothing else. */
  async page() {
    const context = await this.browser.newContext({ viewport: VIEWPORT, deviceScaleFactor: 1, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
    const page = await context.newPage();
    await context.route('**', (route) => {
      const url = route.request().url();
      if (url.startsWith(`${ORIGIN}/`)) return route.fulfill({ contentType: 'text/html; charset=utf-8', body: page.html });
      if (new URL(url).pathname.startsWith(PATHS.pixel)) {
        page.pixels += 1;
        return route.fulfill({ contentType: 'image/gif', body: PIXEL });
      }
      return route.abort();
    });
    return page;
  }
}

/** Returns the picture of html, and the size of its page. */
async function draw(page, html) {
  Object.assign(page, { html, pixels: 0 });
  await page.goto(`${ORIGIN}/`, { waitUntil: 'load' });
  const size = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
  const clip = { x: 0, y: 0, width: VIEWPORT.width, height: Math.min(Math.max(size[1], 1), HEIGHT_MAX) };
  const capture = () => page.screenshot({ fullPage: true, clip, animations: 'disabled', caret: 'hide' });
  const png = await capture().catch((error) => {
    // Chromium refuses a picture now and then while it draws many large pages.
    if (!error.message.includes('Unable to capture screenshot')) throw error;
    return capture();
  });
  return { png, size: size.join('x'), pixels: page.pixels };
}

/** Returns how many points of two pictures differ. */
async function differences(page, first, second) {
  page.html = '<!doctype html><title>Compare</title>';
  await page.goto(`${ORIGIN}/`);
  return page.evaluate(async (pictures) => {
    const [a, b] = await Promise.all(pictures.map(async (picture) => {
      const bitmap = await createImageBitmap(await (await fetch(picture)).blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height);
    }));
    if (a.width !== b.width || a.height !== b.height) return Math.max(a.data.length, b.data.length) / 4;
    const [left, right] = [a, b].map(({ data }) => new Uint32Array(data.buffer));
    return left.reduce((count, point, at) => count + (point === right[at] ? 0 : 1), 0);
  }, [first, second].map((png) => `data:image/png;base64,${png.toString('base64')}`));
}

/** Quoted-printable text has the line ends of mail, and a captured message has no byte order mark. */
const normalized = (html) => html.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n').trimEnd();

async function untrackedHtmlIsUnchanged(world) {
  const changed = [];
  for (const [file, html] of world.plain) {
    if (normalized(html ?? '') !== normalized(await readFile(join(FOLDER, file), 'utf8'))) changed.push(file);
  }
  assert.deepEqual(changed, []);
}

async function trackedHtmlHasThePixel(world) {
  const without = [...world.tracked].filter(([, html]) => (html ?? '').split(PATHS.pixel).length !== 2).map(([file]) => file);
  assert.deepEqual(without, [], 'one pixel is in each email');
  const links = [...world.tracked.values()].filter((html) => html.includes(PATHS.links)).length;
  assert.ok(links > world.tracked.size * 0.7, `${links} of ${world.tracked.size} emails have rewritten links`);
}

/**
 * Compares the pictures of an email without and with tracking. Returns the difference or null, the picture without tracking, and
 * whether the browser has loaded the pixel. Different pictures are written to files.
 */
async function compare(page, file, plain, tracked) {
  const before = await draw(page, plain);
  const after = await draw(page, tracked);
  const hasPixel = after.pixels > 0;
  if (before.png.equals(after.png) && before.size === after.size) return { found: null, before, hasPixel };
  // Once more: fonts and pictures of the first page may have been late.
  const [again, later] = [await draw(page, plain), await draw(page, tracked)];
  const points = again.png.equals(later.png) ? 0 : await differences(page, again.png, later.png);
  if (points === 0 && again.size === later.size) return { found: null, before, hasPixel };
  for (const [word, { png }] of [['plain', again], ['tracked', later]]) await writeFile(join(process.env.SCREENSHOTS, `rewriting-${file}-${word}.png`), png);
  return { found: `${file}: ${points} points, ${again.size} and ${later.size}`, before, hasPixel };
}

/** Returns the check of one group. It fails with the names of the emails whose pictures differ. */
function picturesAreEqual(files) {
  return async (world) => {
    const page = await world.page();
    const different = [], unloaded = [];
    for (const file of files) {
      const { found, hasPixel } = await compare(page, file, world.plain.get(file), world.tracked.get(file));
      if (found) different.push(found);
      if (!hasPixel) unloaded.push(file);
    }
    await page.context().close();
    if (unloaded.length > 0) console.log(`browser: rewriting: the browser loads no pixel in: ${unloaded.join(', ')}`);
    assert.deepEqual(different, []);
  };
}

/** Each dependent email keeps its picture with the other edit alone. An email that keeps it with both edits needs no exception. */
async function oneEditAloneKeepsThePicture(world) {
  const page = await world.page();
  const different = [], unchanged = [];
  for (const [edit, kept, emails] of [['pixel', 'links', world.onlyLinks], ['links', 'pixel', world.onlyPixel]]) {
    for (const [file, html] of emails) {
      assert.deepEqual([html.includes(PATHS[kept]), html.includes(PATHS[edit])], [true, false], `${file} has only the edit of the ${kept}`);
      const { found, before } = await compare(page, file, world.plain.get(file), html);
      if (found) different.push(found);
      const both = await draw(page, world.tracked.get(file));
      if (both.png.equals(before.png)) unchanged.push(file);
    }
  }
  await page.context().close();
  assert.deepEqual({ different, unchanged }, { different: [], unchanged: [] });
}

export const rewriting = [
  ['rewriting: html without tracking is unchanged', untrackedHtmlIsUnchanged],
  ['rewriting: html with tracking has one pixel and rewritten links', trackedHtmlHasThePixel],
  ['rewriting: one edit alone keeps the pictures of emails that depend on the other', oneEditAloneKeepsThePicture],
  ...Object.entries(groups).map(([group, files]) => [`rewriting: ${files.length} pictures of ${group} are equal`, picturesAreEqual(files)]),
];
