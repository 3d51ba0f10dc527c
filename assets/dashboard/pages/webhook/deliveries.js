// The deliveries of an endpoint: all, or the failed ones with their replay.
import { h } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { useList } from '../../lib/list.js';
import { query, search, setQuery } from '../../lib/router.js';
import { allows } from '../../lib/state.js';
import { plural, span } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { empty, failed } from '../../components/empty.js';
import { Segmented } from '../../components/field.js';
import { httpPill } from '../../components/pill.js';
import { NewChip, Pager, table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { Due } from '../parts/due.js';
import { replayAll } from '../parts/replay.js';
import { ScanFoot, reachedText, useScan } from '../parts/scan.js';
import { deliveryPill } from './delivery.js';

/** @typedef {import('./delivery.js').DeliveryRow} DeliveryRow */
/** @typedef {import('./change.js').Endpoint} Endpoint */

/** Interval of reads of the list: no event reports the result of a delivery. */
const POLL_MS = 5000;
/** Replays that one click sends. */
const REPLAY_MAX = 100;

/** @param {{ webhook: Endpoint }} props */
export function Deliveries({ webhook }) {
  const show = query.value.show === 'failed' ? 'failed' : 'all';
  return t.section({ class: 'section', 'aria-labelledby': 'h-del' },
    t.header(null, t.h2({ id: 'h-del' }, 'Deliveries'),
      h(Segmented, { label: 'Show', small: true, value: show, options: [['all', 'All'], ['failed', 'Failed']], onChange: (/** @type {string} */ value) => setQuery({ show: value === 'all' ? null : value, after: null, before: null }) })),
    show === 'failed' ? h(Failed, { webhook }) : h(All, { webhook }));
}

/** @param {{ webhook: Endpoint }} props */
function All({ webhook }) {
  const list = /** @type {import('../../lib/list.js').List<DeliveryRow>} */ (useList(`/webhooks/${webhook.id}/deliveries`, { live: ['email.', 'contact.', 'suppression.'], poll_ms: POLL_MS }));
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
  if (list.rows?.length === 0 && !list.newer) return empty({ title: 'No deliveries yet', text: 'The next event that the endpoint subscribes to is posted to it. Send a test event to try it now.' });
  return fragment(t.div({ class: 'table-wrap' }, h(NewChip, { count: list.fresh, show: list.showFresh }), rows(list.rows, webhook.id)),
    h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize }));
}

/** @param {{ webhook: Endpoint }} props */
function Failed({ webhook }) {
  const path = `/webhooks/${webhook.id}/deliveries`;
  const scan = /** @type {import('../parts/scan.js').Scan<DeliveryRow>} */ (useScan(path, {}, (row) => row.status === 'failed' || (row.status === 'pending' && row.attempts > 0), 'failed'));
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The list');
  if (scan.rows?.length === 0 && !scan.running) return empty({ title: 'No delivery has failed', text: reachedText(scan, 'deliveries'), actions: scan.further && h(Button, { onClick: scan.further }, 'Search further') });
  const failedOnes = (scan.rows ?? []).filter((row) => row.status === 'failed').slice(0, REPLAY_MAX);
  const replay = async () => {
    await replayAll(failedOnes.map((row) => `${path}/${row.id}`));
    scan.again();
  };
  return fragment(
    allows('admin') && failedOnes.length > 0 && t.p({ class: 'row between wrap replay' }, t.span(null, 'Failed events stay for 30 days, and can be sent again.'),
      h(Button, { size: 'sm', icon: 'refresh', onClick: replay, disabled: webhook.status === 'disabled' && 'Enable the endpoint first.' }, `Replay ${plural(failedOnes.length, 'failed event')}`)),
    rows(scan.rows?.length === 0 ? null : scan.rows, webhook.id), h(ScanFoot, { scan, one: 'delivery', many: 'deliveries' }));
}

/** @param {DeliveryRow[] | null} deliveries @param {string} webhook */
function rows(deliveries, webhook) {
  return table({ label: 'Deliveries, newest first', rows: deliveries, id: (row) => row.id, to: (row) => `/webhooks/${webhook}${search({ ...query.value, delivery: row.id })}`, columns: [
    { head: 'Status', class: 'c-status', width: 'w-128', cell: deliveryPill },
    { head: 'Event', class: 'c-to', link: true, cell: (row) => row.event },
    { head: 'Answer', class: 'c-subject', width: 'w-104', cell: (row) => (row.attempts === 0 ? t.span({ class: 't3' }, 'none yet') : httpPill(row.response_status || null)) },
    { head: 'Attempts', class: 'c-tag num', width: 'w-88', cell: (row) => row.attempts },
    { head: 'Duration', class: 'c-tag num', width: 'w-88', cell: (row) => (row.duration_ms === null ? '' : span(row.duration_ms)) },
    { head: 'Next', class: 'c-dom num', width: 'w-88', cell: (row) => h(Due, { at: row.next_attempt_at }) },
    { head: 'When', class: 'c-time num', width: 'w-104', cell: (row) => h(Time, { at: row.created_at }) },
  ] });
}
