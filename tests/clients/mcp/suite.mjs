// Tests the official MCP server, unmodified, against a running server: an MCP client starts it over standard input and
// output, and calls its tools.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { NO_ENDPOINT, Suite, assert } from '../node/check.mjs';
import { contactProperties, contacts, segments, suppressions, topics } from './audience.mjs';
import { apiKeys, domains, logs, webhooks } from './account.mjs';
import { broadcasts, templates } from './broadcasts.mjs';
import { attachments, batches, reading, refusals, scheduling, sending } from './emails.mjs';
import { lineOf } from './lines.mjs';

const require = createRequire(join(process.env.CLIENT_DIR, '/'));
const { Client } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

// Tools of features that do not exist here, such as the visual editor of the hosted service. `absent` calls one tool of
// each that this server can refuse.
const ABSENT = /^compose-|automation|oauth|editor|tiptap|^send-event$|^manage-events$/;

class McpSuite extends Suite {
  constructor(client) {
    super(process.env.CLIENT_NAME);
    this.client = client;
  }

  /** Calls a tool. Returns whether it failed, and the text of its result. */
  async call(tool, args = {}) {
    this.called.add(tool);
    const { isError, content } = await this.client.callTool({ name: tool, arguments: args });
    return { isError: isError === true, text: content.map((part) => part.text).join('\n') };
  }

  /** Returns the text of a call that must succeed. */
  async text(tool, args) {
    const { isError, text } = await this.call(tool, args);
    assert.equal(isError, false, `refused: ${text}`);
    assert.doesNotMatch(text, /\bundefined\b/, 'the result lacks a field');
    return text;
  }

  /** Returns the value of one line of a result. */
  async line(name, tool, args) {
    return lineOf(name, await this.text(tool, args));
  }

  /** Returns the message of a call that the server refuses. The tool shows the error as JSON. */
  async refused(statusCode, name, tool, args) {
    const { isError, text } = await this.call(tool, args);
    assert.equal(isError, true, `accepted: ${text}`);
    const error = JSON.parse(text.slice(text.indexOf('{')));
    assert.deepEqual([error.statusCode, error.name], [statusCode, name], text);
    return error.message;
  }

  async mustFail(statusCode, name, note, tool, args) {
    try {
      const message = await this.refused(statusCode, name, tool, args);
      if (statusCode === 404) assert.equal(message, NO_ENDPOINT);
      this.pass(`${tool} must fail: ${statusCode} ${name} (${note})`);
    } catch (error) {
      this.fail(tool, note, error);
    }
  }
}

async function absent(suite) {
  for (const [note, tool, args] of [
    ['no automations', 'get-automation'],
    ['no events of automations', 'send-event', { event: 'order.created', email: 'one@example.net' }],
    ['no OAuth', 'list-oauth-grants'],
  ]) {
    await suite.mustFail(404, 'not_found', note, tool, args);
  }
}

const client = new Client({ name: 'ringmail-client-mcp', version: '1.0.0' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: [join(process.env.CLIENT_DIR, 'node_modules/resend-mcp/dist/index.js'), '--sender', 'Example Sender <sender@example.com>'],
  env: process.env, // The key and the URL are in RESEND_API_KEY and RESEND_BASE_URL.
  stderr: 'ignore',
}));
try {
  const suite = new McpSuite(client);
  for (const part of [
    sending, reading, attachments, scheduling, batches, refusals, domains, apiKeys, contactProperties, topics, segments, contacts,
    suppressions, broadcasts, templates, webhooks, logs, absent,
  ]) {
    await suite.part(part);
  }
  const { tools } = await client.listTools();
  suite.cover(tools.map(({ name }) => name).filter((name) => !ABSENT.test(name)));
  suite.finish();
} finally {
  await client.close();
}
