// The program under test: one data directory, its server process, and its command line.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../lib/ports.mjs';
import { until } from './check.mjs';

export const KEY = 'rm_0123456789abcdefghijklmnopqrstuv';

// Settings of the caller's shell must not change the behaviour of the server.
const CLEAN = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('RINGMAIL_')));
const ENVIRONMENT = { ...CLEAN, RINGMAIL_RATE_LIMIT: '0', NO_COLOR: '1' };

export class Program {
  /**
   * Starts a server on a new data directory, and waits until it responds. `verb` is `dev` or `serve`; `args` returns the
   * arguments for a port.
   */
  static async start(verb, args) {
    const program = new Program();
    try {
      await program.open(verb, args);
    } catch (error) {
      const log = program.log();
      await program.stop();
      throw new Error(`${error}\n${log}`);
    }
    return program;
  }

  /** Starts `ringmail dev` with the key `KEY` and the domain `example.com`. */
  static dev(args = () => []) {
    return Program.start('dev', (port) => ['--api-key', KEY, '--domain', 'example.com', ...args(port)]);
  }

  constructor() {
    this.lines = [];
  }

  async open(verb, args) {
    this.directory = await mkdtemp(join(tmpdir(), 'ringmail-browser-'));
    this.port = await freePort();
    this.origin = `http://127.0.0.1:${this.port}`;
    this.arguments = [verb, '--listen', `127.0.0.1:${this.port}`, '--data-dir', this.directory, ...args(this.port)];
    await this.run();
  }

  /** Starts the server on its data directory and port, and waits until it responds. */
  async run() {
    this.process = spawn(process.env.RINGMAIL_BIN, this.arguments, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout, this.process.stderr]) stream.setEncoding('utf8').on('data', (text) => this.lines.push(text));
    await until('the server', () => {
      if (this.process.exitCode !== null) throw new Error(`the server exited with code ${this.process.exitCode}`);
      return fetch(`${this.origin}/health`).then((response) => response.ok, () => false);
    });
  }

  /** Returns the link of the dashboard that a development server has printed. */
  link() {
    return until('the link of the dashboard', () => /http:\S+\/dashboard\/open\/\S+/.exec(this.lines.join(''))?.[0]);
  }

  /** Ends the server. The data directory stays. */
  async end() {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill();
    await ended;
  }

  async stop() {
    await this.end();
    if (this.directory) await rm(this.directory, { recursive: true, force: true });
  }

  /** Returns the last lines of the log. */
  log() {
    return this.lines.join('').split('\n').slice(-30).join('\n');
  }

  /** Calls the API. Returns the body of a successful response. */
  async call(method, path, body) {
    const response = await fetch(this.origin + path, { method, headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  /** Runs a verb of the command line. Returns its JSON output. */
  async cli(...args) {
    const { stdout } = await promisify(execFile)(process.env.RINGMAIL_BIN, [...args, '--json', '--data-dir', this.directory], { env: ENVIRONMENT });
    return JSON.parse(stdout);
  }
}
