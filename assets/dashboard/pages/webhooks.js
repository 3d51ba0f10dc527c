// Webhooks: the endpoints that receive events.
import { h } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { useList } from '../lib/list.js';
import { query, setQuery } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { Button } from '../components/button.js';
import { empty, failed } from '../components/empty.js';
import { OneFilter, SearchField, useFilters } from '../components/filters.js';
import { pill } from '../components/pill.js';
import { Pager, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { found, useScan } from './parts/scan.js';
import { ViewAsApi } from './parts/view-as-api.js';
import { EditEndpoint } from './webhook/change.js';
import { eventsInWords, shortUrl } from './webhook/events.js';

/** @typedef {import('../types/api.d.ts').Webhook} Webhook */

export function WebhooksPage() {
  const filters = useFilters(['q', 'status']);
  const add = () => setQuery({ create: '1' });
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Webhooks')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/webhooks' }),
        allows('admin') && h(Button, { kind: 'primary', onClick: add }, 'Add endpoint'))),
    filters.any ? h(Found, { values: filters.values, clear: filters.clear }) : h(All, { add }),
    query.value.create && allows('admin') && h(EditEndpoint, { onClose: () => setQuery({ create: null }, { replace: true }) }));
}

function Filters() {
  return t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search endpoints', placeholder: 'URL, event or id' }),
    h(OneFilter, { name: 'status', label: 'Any state', none: 'Any state', options: [['enabled', 'Enabled'], ['disabled', 'Disabled']] }));
}

/** @param {{ add: () => void }} props */
function All({ add }) {
  const list = /** @type {import('../lib/list.js').List<Webhook>} */ (useList('/webhooks'));
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
  if (list.rows?.length === 0 && !list.newer) {
    return empty({ docs: 'webhooks', title: 'No endpoints yet', text: 'An endpoint is a URL of your program. Ringmail posts each event to it: delivered, bounced, complained, and more.',
      actions: allows('admin') && h(Button, { onClick: add }, 'Add endpoint') });
  }
  return fragment(h(Filters, null), rows(list.rows), h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize, live: false }));
}

/** @param {{ values: Record<string, string>, clear: () => void }} props */
function Found({ values, clear }) {
  const text = values.q?.toLowerCase();
  const scan = /** @type {import('./parts/scan.js').Scan<Webhook>} */ (useScan('/webhooks', {}, (row) => (!values.status || row.status === values.status)
    && (!text || row.endpoint.toLowerCase().includes(text) || row.id === text || (row.events ?? []).some((type) => type.includes(text))), JSON.stringify(values)));
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The list');
  const words = [values.q && `No URL or event has “${values.q}”.`, values.status && `Filtered by state ${values.status}.`].filter(Boolean).join(' ');
  return fragment(h(Filters, null), found({ scan, title: 'No endpoint matches', one: 'endpoint', words, clear, rows }));
}

/** @param {Webhook[] | null} webhooks */
function rows(webhooks) {
  return t.div({ class: 'table-wrap' }, table({ label: 'Endpoints, newest first', rows: webhooks, id: (row) => row.id, to: (row) => `/webhooks/${row.id}`, columns: [
    { head: 'State', class: 'c-status', width: 'w-128', cell: (row) => (row.status === 'enabled' ? pill('Enabled', { tone: 'green' }) : pill('Disabled', { tone: 'red', fill: true })) },
    { head: 'Endpoint', class: 'c-to', link: true, cell: (row) => t.span({ title: row.endpoint }, shortUrl(row.endpoint)) },
    { head: 'Events', class: 'c-subject trunc', width: 'w-36p', cell: (row) => eventsInWords(row.events) },
    { head: 'Added', class: 'c-time num', width: 'w-128', cell: (row) => h(Time, { at: row.created_at }) },
  ] }));
}
