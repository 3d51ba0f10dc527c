// The environment of the checks: the server under test, a smarthost that stores its messages, a server for
// redirects, and the browser. The browser uses a host name for the server, as recipients do.
import { mkdir } from 'node:fs/promises';
import http from 'node:http';
import { listen } from '../lib/ports.mjs';
import { launch } from './browser.mjs';
import { until } from './check.mjs';
import { Program } from './program.mjs';
import { Smarthost } from './smarthost.mjs';

const HOST = 'mail.ringmail.test';
const ELSEWHERE = 'elsewhere.ringmail.test';

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
    this.visits = [];
    this.people = 0;
    this.emails = 0;
  }

  async open() {
    await mkdir(SCREENSHOTS, { recursive: true });
    this.smarthost = await Smarthost.start();
    this.elsewhere = await listen(http.createServer((request, response) => this.visit(request, response)));
    this.elsewhereUrl = `http://${ELSEWHERE}:${this.elsewhere.address().port}`;
    this.program = await Program.dev((port) => ['--delivery', 'relay', '--relay', this.smarthost.url, '--public-url', `http://${HOST}:${port}`]);
    this.origin = `http://${HOST}:${this.program.port}`;
    this.browser = await launch();
  }

  async stop() {
    await this.browser?.close();
    await this.program?.stop();
    this.smarthost?.stop();
    this.elsewhere?.close();
  }

  log() {
    return this.program?.log() ?? '';
  }

  call(method, path, body) {
    return this.program.call(method, path, body);
  }

  cli(...args) {
    return this.program.cli(...args);
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
    const message = await until('the email', () => this.smarthost.messages.find((text) => text.includes(`Subject: ${subject}\r\n`)));
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

  visit(request, response) {
    this.visits.push({ url: request.url, referer: request.headers.referer });
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><html lang="en"><title>Elsewhere</title><link rel="icon" href="data:,"><h1>Elsewhere</h1>');
  }
}
