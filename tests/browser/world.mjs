// The environment of the checks: the server under test, a smarthost that stores its messages, a server for
// redirects, and the browser. The browser uses a host name for the server, as recipients do.
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const { chromium } = createRequire(join(process.env.BROWSER_MODULES, '/'))('playwright-core');

const HOST = 'mail.ringmail.test';
const ELSEWHERE = 'elsewhere.ringmail.test';
const KEY = 'rm_0123456789abcdefghijklmnopqrstuv';
const DEADLINE_MS = 30_000;

export const SCREENSHOTS = process.env.SCREENSHOTS;

export class World {
  static async start() {
    const world = new World();
    try {
      await world.open();
    } catch (error) {
      await world.stop();
      throw new Error(`${error}\n${world.log()}`);
    }
    return world;
  }

  constructor() {
    this.lines = [];
    this.messages = [];
    this.visits = [];
    this.people = 0;
    this.emails = 0;
  }

  async open() {
    await mkdir(SCREENSHOTS, { recursive: true });
    this.directory = await mkdtemp(join(tmpdir(), 'ringmail-browser-'));
    this.smarthost = await listen(net.createServer((socket) => this.receive(socket)));
    this.elsewhere = await listen(http.createServer((request, response) => this.visit(request, response)));
    this.elsewhereUrl = `http://${ELSEWHERE}:${this.elsewhere.address().port}`;
    const port = await freePort();
    this.origin = `http://${HOST}:${port}`;
    this.api = `http://127.0.0.1:${port}`;
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('RINGMAIL_')));
    this.environment = { ...environment, RINGMAIL_RATE_LIMIT: '0', NO_COLOR: '1' };
    this.process = spawn(
      process.env.RINGMAIL_BIN,
      [
        'dev',
        '--listen', `127.0.0.1:${port}`,
        '--data-dir', this.directory,
        '--api-key', KEY,
        '--domain', 'example.com',
        '--delivery', 'relay',
        '--relay', `smtp://127.0.0.1:${this.smarthost.address().port}`,
        '--public-url', this.origin,
      ],
      { env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => this.lines.push(text));
    }
    await until('the server', () => fetch(`${this.api}/health`).then((response) => response.ok, () => false));
    this.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM,
      // The sandbox of Chromium does not start as root, the default user of containers.
      args: [`--host-resolver-rules=MAP *.ringmail.test 127.0.0.1, MAP * ~NOTFOUND`, '--no-sandbox'],
    });
  }

  async stop() {
    await this.browser?.close();
    if (this.process && this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once('exit', resolve));
      this.process.kill();
      await ended;
    }
    this.smarthost?.close();
    this.elsewhere?.close();
    if (this.directory) await rm(this.directory, { recursive: true, force: true });
  }

  /** Returns the last lines of the server log. */
  log() {
    return this.lines.join('').split('\n').slice(-30).join('\n');
  }

  /** Calls the API. Returns the body of a successful response. */
  async call(method, path, body) {
    const response = await fetch(this.api + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  /** Runs a command of the binary. Returns its JSON output. */
  async cli(...args) {
    const { stdout } = await promisify(execFile)(
      process.env.RINGMAIL_BIN,
      [...args, '--json', '--data-dir', this.directory],
      { env: this.environment },
    );
    return JSON.parse(stdout);
  }

  /** Creates a topic. Returns its id. */
  async topic(name, fields = {}) {
    const { id } = await this.call('POST', '/topics', { name, default_subscription: 'opt_in', visibility: 'public', ...fields });
    return id;
  }

  /** Deletes all topics and the theme, so that a page shows only those of its check. */
  async clear() {
    const { data } = await this.call('GET', '/topics?limit=100');
    for (const { id } of data) await this.call('DELETE', `/topics/${id}`);
    await this.cli('theme', 'reset');
  }

  /** Creates a contact that no other check uses. */
  async person() {
    this.people += 1;
    const email = `ada${this.people}@recipient.example`;
    const { id } = await this.call('POST', '/contacts', { email });
    return { id, email };
  }

  /** Returns the preference link of a person. */
  async linkOf(person) {
    const { url } = await this.call('POST', `/contacts/${person.id}/preferences-link`);
    return url;
  }

  /** Sends an email under the topic. Returns the link of its List-Unsubscribe header, from the delivered message. */
  async linkInEmail(email, topic) {
    this.emails += 1;
    const subject = `Number ${this.emails}.`;
    await this.call('POST', '/emails', {
      from: 'Acme <news@example.com>', to: email, subject, text: '{{{UNSUBSCRIBE_URL}}}', topic_id: topic,
    });
    const message = await until('the email', () => this.messages.find((text) => text.includes(`Subject: ${subject}\r\n`)));
    const unfolded = message.replace(/\r\n[ \t]/g, '');
    return unfolded.match(/^List-Unsubscribe:\s*<([^>]+)>/im)[1];
  }

  /** Returns the topic choices of a person by topic name. */
  async chosen(person) {
    const { data } = await this.call('GET', `/contacts/${person.id}/topics?limit=100`);
    return Object.fromEntries(data.map(({ name, subscription }) => [name, subscription]));
  }

  async unsubscribed(person) {
    return (await this.call('GET', `/contacts/${person.id}`)).unsubscribed;
  }

  /**
   * Opens a page in a new browser context. `leave` closes it and fails if the page has sent a request to
   * another origin, violated its policy or written to the console.
   */
  async page({ javaScript = false, ...options } = {}) {
    const context = await this.browser.newContext({ javaScriptEnabled: javaScript, locale: 'en-GB', ...options });
    const page = await context.newPage();
    const violations = [];
    page.on('request', (request) => {
      const url = request.url();
      const isOurs = url.startsWith(`${this.origin}/`) || url.startsWith(`${this.elsewhereUrl}/`);
      if (!isOurs || request.resourceType() !== 'document') violations.push(`request to ${url}`);
    });
    page.on('console', (message) => {
      // With the policy disabled, the browser requests an icon, which does not exist.
      if (!message.location().url.endsWith('/favicon.ico')) violations.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => violations.push(`error: ${error}`));
    page.leave = async () => {
      await context.close();
      if (violations.length > 0) throw new Error(violations.join('\n'));
    };
    return page;
  }

  /** Accepts all mail of one SMTP session. Implements the part of RFC 5321 that the server uses. */
  receive(socket) {
    let buffer = '';
    let data = false;
    socket.setEncoding('latin1').on('error', () => {});
    socket.write('220 smarthost.test ESMTP\r\n');
    socket.on('data', (text) => {
      buffer += text;
      for (;;) {
        const end = buffer.indexOf(data ? '\r\n.\r\n' : '\r\n');
        if (end < 0) return;
        const line = buffer.slice(0, end);
        buffer = buffer.slice(end + (data ? 5 : 2));
        if (data) {
          this.messages.push(line);
          data = false;
          socket.write('250 accepted\r\n');
        } else if (/^DATA/i.test(line)) {
          data = true;
          socket.write('354 go on\r\n');
        } else if (/^QUIT/i.test(line)) {
          socket.end('221 bye\r\n');
        } else {
          socket.write('250 ok\r\n');
        }
      }
    });
  }

  visit(request, response) {
    this.visits.push({ url: request.url, referer: request.headers.referer });
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><html lang="en"><title>Elsewhere</title><link rel="icon" href="data:,"><h1>Elsewhere</h1>');
  }
}

async function listen(server) {
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return server;
}

async function freePort() {
  const server = await listen(net.createServer());
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Polls `read` until it returns a truthy value. Returns the value. */
async function until(what, read) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${DEADLINE_MS} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
