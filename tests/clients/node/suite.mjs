// Tests the official Node SDK, unmodified, against a running server: the newest major version, and the major version
// before it. The older one has fewer methods and parameters. `isOlder` marks the checks that need a newer one.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { NO_ENDPOINT, Suite, assert } from './check.mjs';
import { apiKeys } from './api_keys.mjs';
import { batch } from './batch.mjs';
import { broadcasts } from './broadcasts.mjs';
import { contactProperties } from './contact_properties.mjs';
import { contacts } from './contacts.mjs';
import { domains } from './domains.mjs';
import { emails } from './emails.mjs';
import { redaction, usage } from './instance.mjs';
import { logs } from './logs.mjs';
import { segments } from './segments.mjs';
import { suppressions } from './suppressions.mjs';
import { templates } from './templates.mjs';
import { topics } from './topics.mjs';
import { tracking } from './tracking.mjs';
import { verifiers } from './verifiers.mjs';
import { webhooks } from './webhooks.mjs';

const { Resend } = createRequire(join(process.env.CLIENT_DIR, '/'))('resend');
const { version } = JSON.parse(readFileSync(join(process.env.CLIENT_DIR, 'node_modules/resend/package.json'), 'utf8'));
const IS_OLDER = Number.parseInt(version, 10) < 6;

// Methods that the types of the SDK declare private.
const PRIVATE = new Set([
  'emails.receiving.forwardPassthrough',
  'emails.receiving.forwardWrapped',
  'emails.receiving.downloadRaw',
  'contacts.imports.buildCreateFormData',
  'contacts.imports.buildColumnMap',
  'contacts.imports.appendField',
  'templates.performCreate',
]);

const RESOURCES = [
  'emails', 'batch', 'domains', 'apiKeys', 'contacts', 'contactProperties', 'topics', 'segments', 'audiences', 'suppressions',
  'broadcasts', 'templates', 'webhooks', 'logs', 'usage',
];

class NodeSuite extends Suite {
  constructor() {
    super(process.env.CLIENT_NAME, IS_OLDER ? (method) => this.methods.includes(method) : undefined);
    this.isOlder = IS_OLDER;
    this.client = new Resend(); // The key and the URL come from RESEND_API_KEY and RESEND_BASE_URL.
    this.methods = RESOURCES.filter((name) => this.client[name] || !IS_OLDER).flatMap((name) => methodsOf(this.client[name], name));
  }

  withKey(key) {
    const other = Object.create(this);
    other.client = new Resend(key);
    return other;
  }

  withBaseUrl(baseUrl) {
    const other = Object.create(this);
    other.client = new Resend(this.client.key, { baseUrl });
    return other;
  }

  /** Calls a method by its path. Returns {data, error, headers} of the SDK. */
  async call(method, ...args) {
    this.called.add(method);
    const path = method.split('.');
    const name = path.pop();
    const resource = path.reduce((object, part) => object[part], this.client);
    return resource[name](...args);
  }

  /** Returns the data of a call that must succeed. */
  async data(method, ...args) {
    const { data, error } = await this.call(method, ...args);
    assert.equal(error, null, `refused: ${JSON.stringify(error)}`);
    assert.equal(Object.hasOwn(data, 'statusCode'), false, 'a success has no statusCode');
    return data;
  }

  /** Returns the error of a call that must be refused. Asserts its fields. */
  async refused(statusCode, name, method, ...args) {
    const { data, error } = await this.call(method, ...args);
    assert.equal(data, null, `accepted: ${JSON.stringify(data)}`);
    assert.deepEqual([error.statusCode, error.name], [statusCode, name], JSON.stringify(error));
    assert.deepEqual(Object.keys(error).sort(), ['message', 'name', 'statusCode']);
    assert.ok(error.message.length > 0);
    return error;
  }

  /** Checks that a call fails that the server does not support. */
  async mustFail(statusCode, name, note, method, ...args) {
    if (!this.has(method)) return;
    try {
      const error = await this.refused(statusCode, name, method, ...args);
      if (statusCode === 404) assert.equal(error.message, NO_ENDPOINT);
      this.pass(`${method} must fail: ${statusCode} ${name} (${note})`);
    } catch (error) {
      this.fail(method, note, error);
    }
  }
}

/** Returns the paths of all public methods of `resource` and of its nested objects. */
function methodsOf(resource, path) {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
    .filter((name) => name !== 'constructor' && typeof resource[name] === 'function')
    .map((name) => `${path}.${name}`)
    .filter((method) => !PRIVATE.has(method));
  const nested = Object.entries(resource)
    .filter(([name, value]) => name !== 'resend' && value !== null && typeof value === 'object')
    .flatMap(([name, value]) => methodsOf(value, `${path}.${name}`));
  return [...own, ...nested];
}

const suite = new NodeSuite();
const OLDER_PARTS = [emails, batch, domains, apiKeys, segments, contacts, broadcasts];
const PARTS = IS_OLDER ? OLDER_PARTS : [
  emails, batch, domains, apiKeys, contactProperties, topics, segments, contacts, suppressions, broadcasts, tracking, templates, webhooks, verifiers, logs,
  redaction, usage,
];
for (const part of PARTS) {
  await suite.part(part);
}
suite.cover(suite.methods);
suite.finish();
