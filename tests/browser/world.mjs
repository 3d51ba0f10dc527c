// The server under test, a smarthost that keeps what it gets, a place that redirects lead to, and the
// browser. Recipients reach the server under a name of its own, as they would in service.
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
    this.smarthost = await listen(net.createServer((socket) => this.take(socket)));
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
    await until('the server', () => fetch(`${this.api}/health`).then((answer) => answer.ok, () => false));
    this.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM,
      // Chromium's own sandbox does not start as root, which containers run as.
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

  /** The last lines of the server. */
  log() {
    return this.lines.join('').split('\n').slice(-30).join('\n');
  }

  /** Calls the API and answers the body of a success. */
  async call(method, path, body) {
    const answer = await fetch(this.api + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  }

  /** Runs a verb of the command line. */
  async cli(...args) {
    const { stdout } = await promisify(execFile)(
      process.env.RINGMAIL_BIN,
      [...args, '--json', '--data-dir', this.directory],
      { env: this.environment },
    );
    return JSON.parse(stdout);
  }

  /** Makes a topic and answers its id. */
  async topic(name, fields = {}) {
    const { id } = await this.call('POST', '/topics', { name, default_subscription: 'opt_in', visibility: 'public', ...fields });
    return id;
  }

  /** Removes every topic, so that a page lists those of its own check alone. */
  async clear() {
    const { data } = await this.call('GET', '/topics?limit=100');
    for (const { id } of data) await this.call('DELETE', `/topics/${id}`);
    await this.cli('theme', 'reset');
  }

  /** Makes a contact that nobody else has looked at. */
  async person() {
    this.people += 1;
    const email = `ada${this.people}@recipient.example`;
    const { id } = await this.call('POST', '/contacts', { email });
    return { id, email };
  }

  /** The link to every choice of a person. */
  async linkOf(person) {
    const { url } = await this.call('POST', `/contacts/${person.id}/preferences-link`);
    return url;
  }

  /** The link that an email under the topic carries, read from the message as it was delivered. */
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

  /** What the server holds a person to have chosen, by topic. */
  async chosen(person) {
    const { data } = await this.call('GET', `/contacts/${person.id}/topics?limit=100`);
    return Object.fromEntries(data.map(({ name, subscription }) => [name, subscription]));
  }

  async unsubscribed(person) {
    return (await this.call('GET', `/contacts/${person.id}`)).unsubscribed;
  }

  /**
   * Opens a page in a context of its own, which is held to what the page promises: nothing is asked
   * of another origin, nothing breaks the policy, nothing is written to the console.
   */
  async page({ javaScript = false, ...options } = {}) {
    const context = await this.browser.newContext({ javaScriptEnabled: javaScript, locale: 'en-GB', ...options });
    const page = await context.newPage();
    const complaints = [];
    page.on('request', (request) => {
      const url = request.url();
      const isOurs = url.startsWith(`${this.origin}/`) || url.startsWith(`${this.elsewhereUrl}/`);
      if (!isOurs || request.resourceType() !== 'document') complaints.push(`asked for ${url}`);
    });
    page.on('console', (message) => {
      // Without the policy a browser looks for an icon, which there is none of.
      if (!message.location().url.endsWith('/favicon.ico')) complaints.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(`error: ${error}`));
    page.leave = async () => {
      await context.close();
      if (complaints.length > 0) throw new Error(complaints.join('\n'));
    };
    return page;
  }

  /** Just enough of a receiving server (RFC 5321): everything is taken. */
  take(socket) {
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
          socket.write('250 taken\r\n');
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

/** Polls `read` until it answers something. */
async function until(what, read) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${DEADLINE_MS} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
