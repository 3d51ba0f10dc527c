// The pages to operate, in the form of `PAGES`: overview, logs, domains, keys, suppressions, webhooks, queue,
// health, sessions. `pages.mjs` looks at each in its states.
import { LONGEST, uuid } from '../fake/lists.mjs';

const LIST = ['empty', 'nothing', 'one', 'hundred'];
const DOMAIN = uuid('d0d0', 0), VERIFIED = uuid('d0d0', 1), LOG = uuid('10c0', 1), ENTRY = uuid('5099', 0), LONGEST_ENTRY = uuid('5099', 5), WEBHOOK = uuid('4400', 0), ENABLED = uuid('4400', 1), DELIVERY = `msg_${uuid('e0e0', 1).replaceAll('-', '')}`;

/** @type {[string, string, string, string | null, string[]?][]} */
export const OPERATE = [
  ['overview', '/', '.cause, .calm', '/overview', ['empty', 'new', 'capture', 'one']],
  ['logs', '/logs', 'a.cell', '/logs', LIST],
  ['logs-found', '/logs?status=4', 'a.cell', '/logs'],
  ['log', `/logs/${LOG}`, '.drawer .code', `/logs/${LOG}`],
  ['domains', '/domains', 'a.cell', '/domains', LIST],
  ['domain-add', '/domains?create=1', '.dialog', null],
  ['domain', `/domains/${DOMAIN}`, '.rec', `/domains/${DOMAIN}`],
  ['domain-verified', `/domains/${VERIFIED}`, '.rec', `/domains/${VERIFIED}`],
  ['api-keys', '/api-keys', '.table-act .id', '/api-keys', LIST],
  ['api-key-create', '/api-keys?create=1', '.dialog', null],
  ['suppressions', '/suppressions', 'a.cell', '/suppressions', LIST],
  ['suppression', `/suppressions?entry=${ENTRY}`, '.drawer .item', `/suppressions/${ENTRY}`],
  ['suppression-longest', `/suppressions?entry=${LONGEST_ENTRY}`, '.drawer .item', `/suppressions/${LONGEST_ENTRY}`],
  ['suppression-check', '/suppressions?q=priya@example.net', '.note', '/suppressions/priya@example.net'],
  ['suppression-check-longest', `/suppressions?q=${encodeURIComponent(LONGEST)}`, '.note', `/suppressions/${LONGEST}`],
  ['webhooks', '/webhooks', 'a.cell', '/webhooks', LIST],
  ['webhook-add', '/webhooks?create=1', '.dialog', null],
  ['webhook', `/webhooks/${WEBHOOK}`, 'a.cell', `/webhooks/${WEBHOOK}`],
  ['deliveries', `/webhooks/${ENABLED}`, 'a.cell', `/webhooks/${ENABLED}/deliveries`, ['empty', 'one', 'hundred']],
  // The one filter of the list, which hides everything in the state `empty`.
  ['deliveries-failed', `/webhooks/${ENABLED}?show=failed`, 'a.cell', `/webhooks/${ENABLED}/deliveries`, ['empty', 'hundred']],
  ['delivery', `/webhooks/${WEBHOOK}?delivery=${DELIVERY}`, '.drawer .answer', `/webhooks/${WEBHOOK}/deliveries/${DELIVERY}`],
  ['queue', '/queue', '.q-site', '/queue', LIST],
  ['queue-open', '/queue?open=yahoo.example', '.q-why', '/queue/yahoo.example'],
  // A server always has checks. The filter hides them all if they are well, as in the state `empty`.
  ['health', '/health', '.rec', '/health', ['one', 'hundred']],
  ['health-problems', '/health?show=problems', '.rec', '/health', ['empty', 'hundred']],
  ['sessions', '/sessions', '.table-act .pill', '/sessions', ['one', 'hundred']],
];
