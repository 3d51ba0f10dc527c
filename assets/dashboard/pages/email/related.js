// What belongs to an email: the request that made it, and the webhook deliveries of its events.
import { h, useCallback } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { domainOf } from '../../lib/address.js';
import { api } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { useLive, usePoll } from '../../lib/live.js';
import { useLoad } from '../../lib/load.js';
import { link } from '../../lib/router.js';
import { allows } from '../../lib/state.js';
import { plural, span } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { httpPill, pill } from '../../components/pill.js';
import { Time } from '../../components/time.js';
import { toast } from '../../components/toast.js';

/**
 * @typedef {object} DeliveryOfEmail
 * @property {string} id
 * @property {string} webhook_id
 * @property {string} endpoint
 * @property {string} event
 * @property {string} status
 * @property {number} attempts
 * @property {string | null} next_attempt_at
 * @property {number | null} response_status
 * @property {number | null} duration_ms
 * @property {string} created_at
 */

/** Time after an event until its first delivery is probably done, and between two reads while one is not. */
const AFTER_EVENT_MS = 1500, POLL_MS = 5000;

/** The webhook deliveries of the email's events. @param {{ id: string }} props */
export function Deliveries({ id }) {
  const { data, error, reload } = /** @type {import('../../lib/load.js').Loaded<{ data: DeliveryOfEmail[] }>} */ (useLoad(`/emails/${id}/deliveries`));
  const again = useCallback(() => { void reload(); }, [reload]);
  useLive(['email.'], again, AFTER_EVENT_MS, (event) => event.data?.data?.email_id === id);
  usePoll(again, data?.data.some((one) => one.status === 'pending' || one.status === 'attempting') ? POLL_MS : null);
  if (error || !data || data.data.length === 0) return null;
  const failed = data.data.filter((one) => one.status === 'failed');
  const replay = async () => {
    for (const one of failed) await api.post(`/webhooks/${one.webhook_id}/deliveries/${encodeURIComponent(one.id)}/replay`);
    await reload();
    toast(`Sends ${plural(failed.length, 'event')} again`);
  };
  return t.section({ class: 'card', 'aria-labelledby': 'h-deliveries' }, t.header(null, t.h2({ id: 'h-deliveries' }, 'Webhook deliveries'),
    failed.length > 0 && allows('admin') && h(Button, { kind: 'ghost', size: 'sm', icon: 'refresh', onClick: replay }, 'Replay failed')),
    t.ul({ class: 'list' }, data.data.map((one) => t.li({ key: `${one.webhook_id}${one.id}` }, link({ class: 'item', to: `/webhooks/${one.webhook_id}?delivery=${encodeURIComponent(one.id)}` },
      t.span({ class: 'grow' }, t.span({ class: 't1 trunc dblock' }, one.event), t.span({ class: 'meta trunc dblock' }, one.endpoint.replace(/^https?:\/\//, ''))),
      one.response_status ? httpPill(one.response_status) : one.attempts > 0 && one.status !== 'attempting' ? httpPill(null) : pill(one.status === 'attempting' ? 'Sending' : 'Waits'),
      t.span({ class: 'num w-56 hide-sm' }, one.duration_ms === null ? '' : span(one.duration_ms)),
      t.span({ class: 'num t3 w-72' }, h(Time, { at: one.created_at })))))));
}

/** @typedef {import('../../types/api.d.ts').Log} Log */

/** The request log that made the email. @param {string} id @returns {import('../../lib/load.js').Loaded<Log | null>} null if no key sent the email */
export function useRequest(id) {
  return useLoad(`/emails/${id}/request`);
}

/** @param {{ log: Log, keyName: string }} props */
export function RequestCard({ log, keyName }) {
  return t.section({ class: 'card', 'aria-labelledby': 'h-request' }, t.header(null, t.h2({ id: 'h-request' }, 'API request')),
    link({ class: 'item item-block', to: `/logs/${log.id}` },
      t.span({ class: 'row' }, t.code({ class: 't1' }, `${log.method} ${log.endpoint}`), httpPill(log.response_status)),
      t.span({ class: 'meta' }, [`Key “${keyName}”`, `${log.duration_ms} ms`, log.user_agent].filter(Boolean).join(', '))));
}

/** Statuses whose emails are worth comparing, with the head of their list. @type {Record<string, string>} */
const ALIKE = { bounced: 'Other bounces', failed: 'Other failures', complained: 'Other complaints' };

/** Lists of emails with the same outcome. @param {{ status: string, from: string, to: string }} props */
export function SameOutcome({ status, from, to }) {
  const head = ALIKE[status];
  if (!head) return null;
  const list = (/** @type {string} */ text, /** @type {string} */ query) => t.li({ key: text }, link({ class: 'item', to: `/emails?status=${status}&${query}` }, t.span({ class: 'grow trunc' }, text), icon('right')));
  return t.section({ class: 'card', 'aria-labelledby': 'h-same' }, t.header(null, t.h2({ id: 'h-same' }, head)),
    t.ul({ class: 'list' }, list('In the last 7 days', 'since=7d'), list(`From ${domainOf(from)}`, `domain=${encodeURIComponent(domainOf(from))}`), list(`To ${to}`, `to=${encodeURIComponent(to)}`)));
}
