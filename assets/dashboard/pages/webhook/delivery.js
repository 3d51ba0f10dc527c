// One delivery in a drawer: its attempts, its request, and the replay.
import { h, useEffect } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { api } from '../../lib/api.js';
import { useLoad } from '../../lib/load.js';
import { link } from '../../lib/router.js';
import { allows } from '../../lib/state.js';
import { parseTime, plural, span } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { Code, json } from '../../components/code.js';
import { Drawer } from '../../components/drawer.js';
import { failed, skeleton } from '../../components/empty.js';
import { Id } from '../../components/id.js';
import { httpPill, pill } from '../../components/pill.js';
import { Time } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { Due } from '../parts/due.js';

/**
 * @typedef {object} DeliveryRow
 * @property {string} id
 * @property {string} event
 * @property {'pending' | 'attempting' | 'success' | 'failed'} status
 * @property {number} attempts
 * @property {string | null} next_attempt_at
 * @property {number | null} response_status
 * @property {number | null} duration_ms
 * @property {string} created_at
 */
/**
 * @typedef {object} Delivery
 * @property {string} id
 * @property {string} event
 * @property {DeliveryRow['status']} status
 * @property {string | null} next_attempt_at
 * @property {string} created_at
 * @property {Record<string, unknown> | null} payload
 * @property {{ id: string, sent_at: string, duration_ms: number, response_status: number | null, response: string }[]} attempts
 */

/** Word and look of each status. @type {Record<DeliveryRow['status'], [string, import('../../components/pill.js').PillLook]>} */
const STATUS = { success: ['Delivered', { tone: 'green' }], failed: ['Failed', { tone: 'red', fill: true }], attempting: ['Sending', {}], pending: ['Waits', {}] };

/** @param {{ status: DeliveryRow['status'], attempts: number }} delivery */
export function deliveryPill({ status, attempts }) {
  if (status === 'pending' && attempts > 0) return pill('Retries', { tone: 'amber', fill: true });
  const [word, look] = STATUS[status];
  return pill(word, look);
}

/** Interval of reads of an unfinished delivery, while its next attempt is near. */
const POLL_MS = 2000;
const NEAR_MS = 15_000;

/** @param {string | null} at */
function isNear(at) {
  const time = parseTime(at);
  return time === null || time - Date.now() < NEAR_MS;
}

/** @param {{ webhook: string, endpoint: string, enabled: boolean, id: string, onClose: () => void, changed: () => void }} props */
export function DeliveryDrawer({ webhook, endpoint, enabled, id, onClose, changed }) {
  const path = `/webhooks/${webhook}/deliveries/${encodeURIComponent(id)}`;
  const loaded = /** @type {import('../../lib/load.js').Loaded<Delivery>} */ (useLoad(path));
  const { data } = loaded;
  const waits = data !== null && (data.status === 'attempting' || (data.status === 'pending' && isNear(data.next_attempt_at)));
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setInterval(() => { if (document.visibilityState === 'visible') void loaded.reload(); }, POLL_MS);
    return () => { clearInterval(timer); changed(); };
  }, [waits, loaded.reload]);
  const replay = async () => {
    await api.post(`${path}/replay`);
    await loaded.reload();
    changed();
    toast('Sends the event again');
  };
  const reason = !enabled ? 'Enable the endpoint first.' : data?.payload === null && 'The content was removed by retention.';
  return h(Drawer, { title: data?.event ?? 'Delivery', onClose, actions: data && allows('admin') && h(Button, { size: 'sm', icon: 'refresh', onClick: replay, disabled: reason }, 'Replay') },
    data ? h(Whole, { delivery: data, endpoint }) : loaded.error ? failed(loaded.error, loaded.reload, 'This delivery') : skeleton(6));
}

/** @param {{ delivery: Delivery, endpoint: string }} props */
function Whole({ delivery, endpoint }) {
  const { attempts, payload } = delivery;
  const about = /** @type {{ data?: { email_id?: unknown } } | null} */ (payload)?.data?.email_id;
  return fragment(
    t.p({ class: 'row wrap' }, deliveryPill({ status: delivery.status, attempts: attempts.length }),
      t.span(null, attempts.length === 0 ? 'No attempt yet' : plural(attempts.length, 'attempt')), delivery.next_attempt_at && t.span({ class: 't3' }, 'next ', h(Due, { at: delivery.next_attempt_at }))),
    t.dl({ class: 'dl' }, t.dt(null, 'Event'), t.dd(null, h(Time, { at: delivery.created_at, as: 'exact' })), typeof about === 'string' && fragment(t.dt(null, 'Email'), t.dd(null, link({ class: 'link', to: `/emails/${about}` }, 'What happened to it'))),
      t.dt(null, 'Id'), t.dd(null, h(Id, { id: delivery.id }))),
    t.section({ class: 'stack-xs', 'aria-label': 'Answers' }, t.h3(null, 'Answers'),
      attempts.length === 0 ? t.p({ class: 't3' }, 'The first attempt follows.') : t.ol({ class: 'stack-xs' }, attempts.map((one) => t.li({ key: one.id, class: 'answer' },
        t.div({ class: 'row' }, httpPill(one.response_status || null), t.span({ class: 'num' }, span(one.duration_ms)), t.span({ class: 't3 push' }, h(Time, { at: one.sent_at }))),
        one.response ? t.p({ class: 'quote quote-0' }, one.response) : t.p({ class: 't3' }, 'The body was empty.'))))),
    t.section({ class: 'stack-xs', 'aria-label': 'Request' }, t.h3(null, 'Request'),
      h(Code, { plain: true, label: 'Copy the head of the request', text: `POST ${endpoint}\ncontent-type: application/json\nwebhook-id: ${delivery.id}\nwebhook-timestamp: the time of the attempt\nwebhook-signature: v1,…` }),
      payload === null ? t.p({ class: 't3' }, 'The body was removed by retention.') : h(Code, { text: json(payload), label: 'Copy the body' })));
}
