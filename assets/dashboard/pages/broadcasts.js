// Broadcasts: one message to many contacts, planned, being sent, and sent.
import { h, useEffect, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { useList } from '../lib/list.js';
import { query, setQuery } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { count, plural } from '../lib/time.js';
import { Button } from '../components/button.js';
import { empty, failed } from '../components/empty.js';
import { OneFilter, SearchField, useFilters } from '../components/filters.js';
import { NewChip, Pager, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { CreateBroadcast } from './broadcast/create.js';
import { BROADCAST_STATUS, audienceOf, broadcastPill, share, titleOf, when } from './broadcast/words.js';
import { found, useScan } from './parts/scan.js';
import { hidden } from './parts/undo.js';
import { ViewAsApi } from './parts/view-as-api.js';

/** @typedef {import('../types/broadcasts.d.ts').BroadcastRow} BroadcastRow */

/** Intervals of the list, while a broadcast is being sent and otherwise. No event reports the progress. */
const SENDING_MS = 5000, CALM_MS = 30_000;
const OPTIONS = Object.entries(BROADCAST_STATUS).map(([status, [word]]) => /** @type {[string, string]} */ ([status, word]));

export function BroadcastsPage() {
  const filters = useFilters(['q', 'status']);
  const add = () => setQuery({ create: '1' });
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Broadcasts')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/broadcasts' }),
        allows('member') && h(Button, { kind: 'primary', onClick: add }, 'Create broadcast'))),
    filters.any ? h(Found, { values: filters.values, clear: filters.clear }) : h(All, { add }),
    query.value.create && allows('member') && h(CreateBroadcast, { onClose: () => setQuery({ create: null }, { replace: true }) }));
}

function Filters() {
  return t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search broadcasts', placeholder: 'Name, subject or id' }),
    h(OneFilter, { name: 'status', label: 'Any status', none: 'Any status', options: OPTIONS }));
}

/** @param {{ add: () => void }} props */
function All({ add }) {
  const [poll_ms, setPoll] = useState(CALM_MS);
  const list = /** @type {import('../lib/list.js').List<BroadcastRow>} */ (useList('/broadcasts', { poll_ms }));
  const isSending = list.rows?.some((row) => row.status === 'queued') ?? false;
  useEffect(() => setPoll(isSending ? SENDING_MS : CALM_MS), [isSending]);
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
  if (list.rows?.length === 0 && !list.newer) {
    return empty({ docs: 'broadcasts', title: 'No broadcasts yet', text: 'A broadcast is one message to a segment, to a topic or to all contacts. Contacts who unsubscribed never receive it.',
      actions: allows('member') && h(Button, { onClick: add }, 'Create broadcast') });
  }
  return fragment(h(Filters, null), t.div({ class: 'table-wrap' }, h(NewChip, { count: list.fresh, show: list.showFresh }), rows(list.rows)), h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize, live: false }));
}

/** @param {{ values: Record<string, string>, clear: () => void }} props */
function Found({ values, clear }) {
  const text = values.q?.toLowerCase();
  const scan = /** @type {import('./parts/scan.js').Scan<BroadcastRow>} */ (useScan('/broadcasts', {}, (row) => (!values.status || row.status === values.status)
    && (!text || (row.name ?? '').toLowerCase().includes(text) || row.subject.toLowerCase().includes(text) || row.id === text), JSON.stringify(values)));
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The list');
  const words = [values.q && `No name or subject has “${values.q}”.`, values.status && `Filtered by status ${BROADCAST_STATUS[/** @type {BroadcastRow['status']} */ (values.status)]?.[0].toLowerCase() ?? values.status}.`].filter(Boolean).join(' ');
  return fragment(h(Filters, null), found({ scan, title: 'No broadcast matches', one: 'broadcast', words, clear, rows }));
}

/** @param {BroadcastRow[] | null} broadcasts */
function rows(broadcasts) {
  return table({ label: 'Broadcasts, newest first', rows: broadcasts?.filter((row) => !hidden.value.has(row.id)) ?? null, id: (row) => row.id, to: (row) => `/broadcasts/${row.id}${row.status === 'draft' ? '/edit' : ''}`, columns: [
    { head: 'Status', class: 'c-status', width: 'w-128', cell: (row) => broadcastPill(row.status) },
    { head: 'Broadcast', class: 'c-to', link: true, cell: (row) => t.bdi({ title: row.subject }, titleOf(row)) },
    { head: 'Audience', class: 'c-dom trunc', width: 'w-200', cell: (row) => audienceOf(row) },
    { head: 'Result', class: 'c-subject trunc', width: 'w-26p', cell: result },
    { head: 'When', class: 'c-time num', width: 'w-128', cell: (row) => h(Time, { at: row.sent_at ?? row.scheduled_at ?? row.created_at }) },
  ] });
}

/** The progress or the result of a broadcast. @param {BroadcastRow} row */
function result({ status, counts, audience, finishes_at }) {
  if (status === 'draft') return t.span({ class: 't3' }, 'Not sent yet');
  if (status === 'scheduled') return `To about ${plural(audience, 'contact')}`;
  if (status === 'queued') return t.span(null, `${count(counts.attempted)} of ${count(audience)}`, finishes_at && t.span({ class: 't3' }, ', done about ', when(finishes_at)));
  if (status === 'failed') return t.span({ class: 'red' }, 'Could not start');
  if (status === 'canceled') return `${count(counts.attempted)} sent, then canceled`;
  const bounced = counts.bounced > 0 ? `, ${share(counts.bounced, counts.attempted)} bounced` : '';
  const opened = counts.opened ? `, ${share(counts.opened, counts.delivered)} opened` : '', clicked = counts.clicked ? `, ${share(counts.clicked, counts.delivered)} clicked` : '';
  return `${count(counts.attempted)} sent, ${share(counts.delivered, counts.attempted) || '0%'} delivered${bounced}${opened}${clicked}`;
}
