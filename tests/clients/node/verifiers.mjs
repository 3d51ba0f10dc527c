// Verifies delivered events with each library that customers use.
import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Receiver, hasTypes } from './receiver.mjs';
import { assert, inHours } from './check.mjs';

const require = createRequire(join(process.env.CLIENT_DIR, '/'));
const FAILING = 'node.failing.example'; // The suite deletes this domain, which fails its pending email.

// All types of events that the suite can cause.
const TYPES = [
  'email.scheduled', 'email.sent', 'email.delivered', 'email.delivery_delayed', 'email.bounced', 'email.complained',
  'email.failed', 'contact.created', 'contact.updated', 'contact.deleted', 'contact.unsubscribed',
  'contact.resubscribed', 'contact.topic_opt_in', 'contact.topic_opt_out', 'suppression.added', 'suppression.removed',
];

export async function verifiers(suite) {
  const receiver = await Receiver.start();
  try {
    const matrix = new Matrix(suite);
    await verification(suite, receiver, matrix);
    matrix.print();
  } finally {
    receiver.close();
  }
}

async function verification(suite, receiver, matrix) {
  const endpoint = receiver.url('/verified');
  const { id, signing_secret: first } = await suite.data('webhooks.create', { endpoint, events: TYPES });
  await causeEvents(suite);
  const deliveries = await receiver.until('/verified', hasTypes(TYPES));
  await suite.check('webhooks.create', 'both sets of headers are equal; the body has three fields', () => {
    for (const { headers, event } of deliveries) {
      for (const name of ['id', 'timestamp', 'signature']) assert.equal(headers[`svix-${name}`], headers[`webhook-${name}`]);
      assert.match(headers['webhook-signature'], /^v1,[A-Za-z0-9+/]{43}=$/);
      assert.match(headers['content-type'], /^application\/json/);
      assert.deepEqual(Object.keys(event).sort(), ['created_at', 'data', 'type']);
    }
  });
  await matrix.column(`${TYPES.length} types`, (verify) => {
    for (const delivery of deliveries) assert.deepEqual(verify(delivery, first), delivery.event);
  });

  const latest = async (name, secret) => {
    const seen = receiver.at('/verified').length;
    const email = `node-verify-${name}@suppressed.example.net`;
    await suite.data('suppressions.add', { email });
    const after = await receiver.until('/verified', (all) => all.slice(seen).some(({ event }) => event.data.email === email));
    await suite.data('suppressions.remove', email);
    return { delivery: after.slice(seen).find(({ event }) => event.data.email === email), secret };
  };
  const second = (await suite.data('webhooks.rotateSigningSecret', id)).signing_secret;
  const overlap = await latest('overlap', second);
  await matrix.column('old secret in the overlap', (verify) => verify(overlap.delivery, first));
  await matrix.column('new secret in the overlap', (verify) => verify(overlap.delivery, second));
  await suite.check('webhooks.rotateSigningSecret', 'two signatures, the new one first', () => {
    const { headers, body } = overlap.delivery;
    const sign = (secret) => signature(secret, headers['svix-id'], headers['svix-timestamp'], body);
    assert.equal(headers['svix-signature'], `${sign(second)} ${sign(first)}`);
  });

  // The method of the SDK has no parameters.
  const { data: dropped, error } = await suite.client.post(`/webhooks/${id}/rotate`, { overlap_hours: 0 });
  assert.equal(error, null, JSON.stringify(error));
  assert.equal(dropped.previous_secret_expires_at, null);
  const third = dropped.signing_secret;
  const { delivery } = await latest('dropped', third);
  await matrix.column('new secret after it', (verify) => verify(delivery, third));
  await matrix.column('no old secret after it', (verify) => {
    for (const secret of [second, first]) assert.throws(() => verify(delivery, secret), /signature/i);
  });

  await matrix.column('no altered body', (verify) => {
    for (const body of [`${delivery.body} `, delivery.body.replace('node-verify', 'else-verify'), delivery.body.slice(0, -1)]) {
      assert.throws(() => verify({ ...delivery, body }, third), /signature/i);
    }
  });
  await matrix.column('no wrong secret', (verify) => {
    const wrong = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    assert.throws(() => verify(delivery, wrong), /signature/i);
  });
  await matrix.column('no stale timestamp', (verify) => {
    verify(resigned(delivery, third, 0), third);
    for (const seconds of [-600, 600]) assert.throws(() => verify(resigned(delivery, third, seconds), third), /timestamp/i);
  });
  await suite.data('webhooks.remove', id);
}

/** Causes an event of each type. */
async function causeEvents(suite) {
  const message = { from: 'sender@example.com', to: 'one@example.net', subject: 'Zoë’s “order” ✓ </script>', text: 'hello', tags: [{ name: 'suite', value: 'node' }] };
  for (const name of ['delivered', 'bounced', 'complained', 'delayed']) {
    await suite.data('emails.send', { ...message, to: `${name}@resend.dev` });
  }
  const waiting = await suite.data('emails.send', { ...message, scheduledAt: inHours(1) });
  await suite.data('emails.cancel', waiting.id);
  const failing = (await suite.data('domains.list', { limit: 100 })).data.find(({ name }) => name === FAILING);
  await suite.data('emails.send', { ...message, from: `sender@${FAILING}`, scheduledAt: inHours(1 / 3600) });
  await suite.data('domains.remove', failing.id);

  const topic = await suite.data('topics.create', { name: 'Node webhooks', defaultSubscription: 'opt_in' });
  const email = 'node-verify@customer.example.net';
  await suite.data('contacts.create', { email, firstName: 'Zoë' });
  for (const subscription of ['opt_out', 'opt_in']) {
    await suite.data('contacts.topics.update', { email, topics: [{ id: topic.id, subscription }] });
  }
  for (const unsubscribed of [true, false]) await suite.data('contacts.update', { email, unsubscribed });
  await suite.data('contacts.remove', { email });
  await suite.data('topics.remove', topic.id);
  await suite.data('suppressions.add', { email });
  await suite.data('suppressions.remove', email);
}

/** Table of the results: a row for each library, a column for each property. */
class Matrix {
  constructor(suite) {
    this.suite = suite;
    this.columns = [];
    this.rows = Object.fromEntries(Object.keys(libraries(suite)).map((name) => [name, []]));
  }

  async column(note, body) {
    this.columns.push(note);
    for (const [name, verify] of Object.entries(libraries(this.suite))) {
      const failed = this.suite.failed;
      await this.suite.check(`webhooks.verify with ${name}`, note, () => body(verify));
      this.rows[name].push(this.suite.failed === failed ? 'yes' : 'NO');
    }
  }

  print() {
    const row = (name, cells) => console.log(`client ${this.suite.name}: matrix | ${[name, ...cells].join(' | ')} |`);
    row('verifier', this.columns);
    for (const [name, cells] of Object.entries(this.rows)) row(name, cells);
  }
}

/** Returns the verify function of each library by name and version. Each gets only its own headers. */
function libraries(suite) {
  const standard = require('standardwebhooks');
  const svix = require('svix');
  const version = (name) => `${name} ${require(`${name}/package.json`).version}`;
  const only = ({ headers }, family) => Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(family)));
  return {
    [version('standardwebhooks')]: (delivery, secret) => new standard.Webhook(secret).verify(delivery.body, only(delivery, 'webhook-')),
    [version('svix')]: (delivery, secret) => new svix.Webhook(secret).verify(delivery.body, only(delivery, 'svix-')),
    'resend webhooks.verify': ({ headers, body }, webhookSecret) => {
      suite.called.add('webhooks.verify');
      const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) => headers[`svix-${name}`]);
      return suite.client.webhooks.verify({ payload: body, headers: { id, timestamp, signature }, webhookSecret });
    },
  };
}

function signature(secret, id, timestamp, body) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Returns the delivery with a timestamp `seconds` from now and a matching signature. */
function resigned(delivery, secret, seconds) {
  const timestamp = String(Math.floor(Date.now() / 1000) + seconds);
  const signed = { timestamp, signature: signature(secret, delivery.headers['svix-id'], timestamp, delivery.body) };
  const headers = { ...delivery.headers };
  for (const family of ['svix', 'webhook']) for (const [name, value] of Object.entries(signed)) headers[`${family}-${name}`] = value;
  return { ...delivery, headers };
}
