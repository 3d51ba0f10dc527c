// Runs the samples of the page Connect: exactly the text that the page shows, against a running server. Where a language
// needs more, such as imports, the addition is in `PROGRAMS`. The samples of other languages are in expected.txt.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Suite, assert, until } from '../node/check.mjs';

const HERE = import.meta.dirname;
const CLIENTS = dirname(process.env.CLIENT_DIR);
const BASE = process.env.RESEND_BASE_URL;
const KEY = process.env.RESEND_API_KEY;
const FROM = 'hello@example.com';
// The programs get the settings of the page alone. With a wrong one, they would call the hosted service: the proxy refuses
// connections. The `fetch` of Node ignores it, and sends the key of this test server, which ends with it.
const NO_SERVICE = { HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' };
const CLEAN = { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('RESEND_'))), ...NO_SERVICE };
const PATH_OF_CLI = `${join(CLIENTS, 'cli/node_modules/.bin')}:${CLEAN.PATH}`;

// A file without imports, so that it can be read as text.
const source = readFileSync(join(HERE, '../../../assets/dashboard/pages/parts/samples.js'), 'utf8');
const { OTHERS, SDKS, exportsOf, settingOf } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

/** Runs a command. Returns its output. */
function run(command, { env = CLEAN, ...options } = {}) {
  const [program, ...args] = command;
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 60_000, env, ...options });
  if (error) throw error;
  assert.equal(status, 0, `${command.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

const shell = (script, command = [], options = {}) => run(['sh', '-c', script, 'sh', ...command], options);

/** Writes a file, and returns its path. */
function written(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const GO = (code) => `package main

import (
	"os"

	"github.com/resend/resend-go/v3"
)

func main() {
${code}
}
`;

const DJANGO = (setting) => `import django
from django.conf import settings
${setting}
settings.configure(ANYMAIL=ANYMAIL, EMAIL_BACKEND="anymail.backends.resend.EmailBackend", INSTALLED_APPS=["anymail"])
django.setup()
from django.core.mail import send_mail
send_mail("Hello", "It works.", "${FROM}", ["you@example.com"])
`;

/** By SDK, a function that makes a program of its code. It returns the command. */
const PROGRAMS = {
  node: (code) => ['node', written(join(CLIENTS, 'node/sample.mjs'), code)],
  python: (code) => [join(CLIENTS, 'python/bin/python'), written(join(process.env.CLIENT_DIR, 'sample.py'), code)],
  go: (code) => {
    const folder = join(process.env.CLIENT_DIR, 'go');
    written(join(folder, 'main.go'), GO(code));
    for (const name of ['go.mod', 'go.sum']) cpSync(join(HERE, '../go', name), join(folder, name));
    run(['go', 'build', '-o', 'sample', '.'], { cwd: folder });
    return [join(folder, 'sample')];
  },
  rust: (code) => {
    // Cargo has built it with the other programs.
    const program = readFileSync(join(HERE, '../rust/src/bin/sample.rs'), 'utf8');
    assert.equal(program.match(/async fn main\(\) .* \{\n([^]*)\n {4}Ok/)[1], code);
    return [join(CLIENTS, 'rust-build/debug/sample')];
  },
};

/** Signs in as the development server offers it, and returns the cookie of the session. */
async function signIn() {
  const response = await fetch(process.env.DASHBOARD_LINK, { redirect: 'manual' });
  assert.equal(response.status, 303);
  return response.headers.get('set-cookie').split(';')[0];
}

class SampleSuite extends Suite {
  /** Returns the answer of the server to the page. */
  async connect() {
    const response = await fetch(`${BASE}/dashboard/api/connect`, { headers: { cookie: this.cookie } });
    assert.equal(response.status, 200);
    return response.json();
  }

  /** Returns an answer of the API. */
  async get(path) {
    const response = await fetch(`${BASE}${path}`, { headers: { authorization: `Bearer ${KEY}` } });
    assert.equal(response.status, 200, path);
    return response.json();
  }

  /** Returns the names of the SDKs that the page shows as seen. */
  async seen() {
    return (await this.connect()).sdks.map(({ name }) => name);
  }

  /** Runs `body`, which uses an SDK for the first time. Asserts that the page shows it as seen only afterwards. */
  async firstUse(names, body) {
    const isSeen = (seen) => names.some((name) => seen.includes(name));
    assert.equal(isSeen(await this.seen()), false, 'seen too early');
    await body();
    await until(() => this.seen(), isSeen);
  }

  /** Runs a program that sends one email. Asserts the message. */
  async sends(program) {
    program();
    const { data } = await this.get(`/captured?to=you%40example.com&wait=60s${this.last ? `&before=${this.last}` : ''}`);
    assert.equal(data.length, 1);
    this.last = data[0].id;
    const { from, to, subject, text } = await this.get(`/captured/${this.last}`);
    assert.deepEqual({ from, to, subject, text: text.trimEnd() }, { from: FROM, to: ['you@example.com'], subject: 'Hello', text: 'It works.' });
  }
}

async function programs(suite) {
  for (const sdk of SDKS.filter(({ id }) => PROGRAMS[id])) {
    let command;
    await suite.check(sdk.label, 'the code sends with the settings of its tab', async () => {
      command = PROGRAMS[sdk.id](sdk.code(FROM, BASE, KEY));
      await suite.firstUse(sdk.seen, () => suite.sends(() => shell(`${exportsOf(sdk, BASE, KEY)}\nexec "$@"`, command)));
    });
    await suite.check(sdk.label, 'the code sends with the setting in the list of SDKs', async () => {
      assert.ok(command, 'there is no program');
      await suite.sends(() => shell(`${settingOf(sdk, BASE, KEY)} "$@"`, command));
    });
  }
}

async function requests(suite) {
  const curl = SDKS.find(({ id }) => id === 'curl');
  await suite.check(curl.label, 'the request sends', () => suite.firstUse(curl.seen, () => suite.sends(() => shell(curl.code(FROM, BASE, KEY)))));
  await suite.check(curl.label, 'the request in the list of SDKs sends', () => suite.sends(() => shell(settingOf(curl, BASE, KEY, FROM))));
}

async function others(suite) {
  const setting = (name) => {
    const other = OTHERS.find(({ label }) => label === name);
    return [other.setting(BASE, KEY, FROM), other.seen];
  };
  await suite.check('Command line', 'the command sends', async () => {
    const [command, seen] = setting('Command line');
    await suite.firstUse(seen, () => suite.sends(() => shell(command, [], { env: { ...CLEAN, PATH: PATH_OF_CLI } })));
  });
  await suite.check('MCP server', 'a client that has the setting lists the emails', async () => {
    const [lines, seen] = setting('MCP server');
    const require = createRequire(join(CLIENTS, 'mcp/'));
    const { Client } = require('@modelcontextprotocol/client');
    const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
    const { env } = JSON.parse(`{${lines}}`);
    const args = [join(CLIENTS, 'mcp/node_modules/resend-mcp/dist/index.js')];
    const client = new Client({ name: 'ringmail-client-samples', version: '1.0.0' });
    await suite.firstUse(seen, async () => {
      await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...CLEAN, ...env }, stderr: 'ignore' }));
      try {
        const { content } = await client.callTool({ name: 'list-emails', arguments: {} });
        assert.match(content.map(({ text }) => text).join('\n'), /Subject: "Hello"/);
      } finally {
        await client.close();
      }
    });
  });
  await suite.check('django-anymail', 'Django sends with the setting', async () => {
    const [line, seen] = setting('django-anymail');
    const program = written(join(process.env.CLIENT_DIR, 'site.py'), DJANGO(line));
    await suite.firstUse(seen, () => suite.sends(() => run([join(CLIENTS, 'anymail/bin/python'), program])));
  });
}

/** The samples that no check runs are those of expected.txt. */
async function texts(suite) {
  await suite.check('PHP, Ruby and .NET', 'the texts are the expected ones', () => {
    const [base, key] = ['http://127.0.0.1:8787', 'rm_key'];
    const idle = SDKS.filter(({ id }) => id !== 'curl' && !PROGRAMS[id]).map((sdk) => [sdk.label, `${exportsOf(sdk, base, key)}\n${sdk.code(FROM, base, key)}`]);
    const net = OTHERS.filter(({ label }) => !['Command line', 'MCP server', 'django-anymail'].includes(label)).map((other) => [other.label, other.setting(base, key, FROM)]);
    const expected = readFileSync(join(HERE, 'expected.txt'), 'utf8').split(/^# /m).slice(1).map((section) => {
      const [title, ...lines] = section.trimEnd().split('\n');
      return [title.split(':')[0], lines.join('\n')];
    });
    assert.deepEqual([...idle, ...net], expected);
  });
}

async function page(suite) {
  await suite.check('Connect', 'the page has this address and key, and no SDK is seen', async () => {
    const { base_url, first_key, sdks } = await suite.connect();
    assert.deepEqual([base_url, first_key, sdks], [BASE, KEY, []]);
  });
}

const suite = new SampleSuite('samples');
suite.cookie = await signIn();
for (const part of [page, programs, requests, others, texts]) await suite.part(part);
suite.finish();
