// Tests the official Node SDK, unmodified, against a running server.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { NO_ENDPOINT, Suite, assert } from './check.mjs';
import { apiKeys } from './api_keys.mjs';
import { batch } from './batch.mjs';
import { contactProperties } from './contact_properties.mjs';
import { contacts } from './contacts.mjs';
import { domains } from './domains.mjs';
import { emails } from './emails.mjs';
import { redaction, usage } from './instance.mjs';
import { logs } from './logs.mjs';
import { segments } from './segments.mjs';
import { suppressions } from './suppressions.mjs';
import { topics } from './topics.mjs';
import { verifiers } from './verifiers.mjs';
import { webhooks } from './webhooks.mjs';

const { Resend } = createRequire(join(process.env.CLIENT_DIR, '/'))('resend');

// Methods that the types of the SDK declare private.
const PRIVATE = new Set([
  'emails.receiving.forwardPassthrough',
  'emails.receiving.forwardWrapped',
  'emails.receiving.downloadRaw',
  'contacts.imports.buildCreateFormData',
  'contacts.imports.buildColumnMap',
  'contacts.imports.appendField',
]);

const RESOURCES = [
  'emails', 'batch', 'domains', 'apiKeys', 'contacts', 'contactProperties', 'topics', 'segments', 'audiences', 'suppressions',
  'webhooks', 'logs', 'usage',
];

class NodeSuite extends Suite {
  constructor() {
    super('node');
    this.client = new Resend(); // The key and the URL come from RESEND_API_KEY and RESEND_BASE_URL.
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
const PARTS = [
  emails, batch, domains, apiKeys, contactProperties, topics, segments, contacts, suppressions, webhooks, verifiers, logs, redaction,
  usage,
];
for (const part of PARTS) {
  await suite.part(part);
}
suite.cover(RESOURCES.flatMap((name) => methodsOf(suite.client[name], name)));
suite.finish();
