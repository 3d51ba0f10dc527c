// The environments of the dashboard's checks. Three are real: a development server, which captures and releases to a
// smarthost, one that delivers to it, and one with accounts. The fourth has invented data. Each has its own browser.
// `DASHBOARD_URL` names a server that runs already, such as tests/browser/fake/server.mjs: then only the pages are
// checked, because the other checks need the real one.
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../lib/ports.mjs';
import { launch } from '../browser.mjs';
import { assert, until } from '../check.mjs';
import { NameServer } from '../name-server.mjs';
import { Program } from '../program.mjs';
import { Smarthost } from '../smarthost.mjs';

const RUNNING = process.env.DASHBOARD_URL;

/** Sends a request of the dashboard, and returns the answer of the real server. */
export async function ask(request, origin, target, method = 'GET', data = undefined) {
  const response = await request.fetch(`${origin}/dashboard/api${target}`, { method, data, headers: { 'x-ringmail-dashboard': '1' } });
  assert.equal(response.status(), 200, `${target}: ${await response.text()}`);
  return response.json();
}

/** Removes the routes of a page or a context, if it is open. An answer not read before its end is no failure. */
const endRoutes = (target) => target.unrouteAll({ behavior: 'ignoreErrors' }).catch(() => undefined);

/** The parts of both environments. */
class World {
  static async start() {
    const world = new this();
    try {
      await mkdir(process.env.SCREENSHOTS, { recursive: true });
      world.browser = await launch();
      await world.open();
    } catch (error) {
      const log = world.log();
      await world.stop();
      throw new Error(`${error.stack ?? error}\n${log}`);
    }
    return world;
  }

  async stop() {
    // A failed check leaves its page open.
    const contexts = this.browser?.contexts() ?? [];
    await Promise.all([...contexts, ...contexts.flatMap((context) => context.pages())].map(endRoutes));
    await this.browser?.close();
    await this.program?.stop();
  }

  log() {
    return this.program?.log() ?? '';
  }

  /** Opens a browser context without a session. */
  newContext(options = {}, browser = this.browser) {
    return browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
  }

  /** Returns the answer of the server to the dashboard in the session of this environment. */
  read(target) {
    return ask(this.context.request, this.origin, target);
  }

  /**
   * Opens a tab. `leave` closes it and fails if the tab has sent a request to another origin, has violated its policy
   * or has written to the console. `assertClean` fails for the same reasons. `expected` matches console messages that
   * the check causes, and `attempts` the URLs of requests that the browser must refuse.
   */
  async tab(context = this.context, origin = this.origin) {
    const page = await context.newPage();
    const faults = [];
    page.on('request', (request) => { if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${origin}/`) && !page.attempts?.test(request.url())) faults.push(`request to ${request.url()}`); });
    page.on('console', (message) => { if (!page.isMeasured && ['error', 'warning'].includes(message.type()) && !page.expected?.test(`${message.text()} (${message.location().url})`)) faults.push(`console: ${message.text()} (${message.location().url})`); });
    page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error}`));
    page.assertClean = () => {
      const found = faults.splice(0);
      if (found.length > 0) throw new Error(found.join('\n'));
    };
    page.leave = async () => {
      await endRoutes(page);
      if (context.pages().length === 1) await endRoutes(context);
      await page.close();
      page.assertClean();
    };
    page.show = (path) => page.goto(`${origin}/dashboard${path}`);
    return page;
  }
}

export class DevWorld extends World {
  /** The tabs that checks share, by worker. */
  tabs = [];

  async open() {
    if (RUNNING) {
      this.origin = new URL(RUNNING).origin;
    } else {
      this.smarthost = await Smarthost.start();
      this.names = await NameServer.start();
      this.program = await Program.dev(() => [...this.delivery(), '--resolver', this.names.address]);
      this.origin = this.program.origin;
    }
    this.context = await this.session();
  }

  async stop() {
    await super.stop();
    this.smarthost?.stop();
    this.names?.stop();
  }

  /** The arguments that set the delivery. */
  delivery() {
    return ['--smarthost', `out=${this.smarthost.url}?tls=never&final=true`, '--release', 'out'];
  }

  /** Opens a browser context with a session. The link works once, so that further contexts take over its cookies. */
  async session(options = {}, browser = this.browser) {
    const context = await this.newContext(options, browser);
    if (this.cookies) {
      await context.addCookies(this.cookies);
    } else if (this.program) {
      const page = await context.newPage();
      await page.goto(await this.program.link());
      await page.close();
      this.cookies = await context.cookies();
    }
    return context;
  }

  call(method, path, body) {
    return this.program.call(method, path, body);
  }

  /** Sends an email. Returns its id. */
  async send(fields = {}) {
    return (await this.call('POST', '/emails', { from: 'Acme <hello@example.com>', to: 'ada@example.net', subject: 'Hello', text: 'It works.', html: '<h1>It works.</h1>', ...fields })).id;
  }

  /** Returns the id of the captured message of an email. */
  capturedId(email) {
    return until('the captured message', async () => (await this.read('/captured')).data.find((row) => row.email_id === email)?.id);
  }

  /** Deletes all emails. */
  async clear() {
    for (;;) {
      const { data } = await this.call('GET', '/emails?limit=100');
      if (data.length === 0) return;
      for (const { id } of data) await this.call('DELETE', `/emails/${id}`);
    }
  }
}

/** A development server that delivers to a smarthost instead of its mailbox. */
export class RelayWorld extends DevWorld {
  delivery() {
    return ['--delivery', 'relay', '--relay', `${this.smarthost.url}?final=true`];
  }
}

/** The pages with the invented data of tests/browser/fake, for what needs certain data or moments. */
export class FakeWorld extends World {
  async open() {
    const port = await freePort();
    this.lines = [];
    this.origin = `http://127.0.0.1:${port}`;
    this.process = spawn(process.execPath, [fileURLToPath(new URL('../fake/server.mjs', import.meta.url)), String(port), '--still', '--join'], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout, this.process.stderr]) stream.setEncoding('utf8').on('data', (text) => this.lines.push(text));
    await until('the fake server', () => this.lines.join('').includes('/dashboard/'));
    this.context = await this.newContext();
  }

  session(options = {}) {
    return this.newContext(options);
  }

  /** Opens a tab in a browser context of its own. `changes` are fields of answers by path. */
  async changedTab(changes) {
    const context = await this.session();
    for (const [path, fields] of Object.entries(changes)) {
      await context.route(new RegExp(`/dashboard/api${path}(\\?|$)`), async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), ...fields } });
      });
    }
    return this.tab(context);
  }

  async stop() {
    await super.stop();
    if (!this.process || this.process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill();
    await ended;
  }

  log() {
    return (this.lines ?? []).join('');
  }
}

export const OWNER = { email: 'ada@example.com', password: 'a sentence of some words' };

/** A server with the account of its first user. */
export class ServeWorld extends World {
  async open() {
    this.program = await Program.start('serve', () => []);
    this.origin = this.program.origin;
    await this.setUp();
  }

  /** Creates the first account as a browser without scripts does. */
  async setUp() {
    const { url } = await this.program.cli('setup-link');
    const context = await this.newContext({ javaScriptEnabled: false });
    const page = await this.tab(context);
    await page.goto(url);
    await page.getByLabel('Your email').fill(OWNER.email);
    await page.getByLabel('Password', { exact: true }).fill(OWNER.password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.waitForURL(/\/dashboard\/$/);
    await page.leave();
    await context.close();
  }

  /** Returns a tab of another browser, with a session of the first user. */
  async signedIn(options) {
    const context = await this.newContext(options);
    const page = await this.tab(context);
    await page.show('/login');
    await page.getByLabel('Email').fill(OWNER.email);
    await page.getByLabel('Password', { exact: true }).fill(OWNER.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/\/dashboard\/$/);
    return page;
  }
}
