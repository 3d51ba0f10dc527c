// Logs: the requests of programs. Filters and the open request are in the address.
import { h } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { useList } from '../lib/list.js';
import { navigate, query, search, setQuery } from '../lib/router.js';
import { useSearch } from '../lib/search.js';
import { Button } from '../components/button.js';
import { empty, failed } from '../components/empty.js';
import { FilterOn, MultiFilter, OneFilter, SearchField, useFilters } from '../components/filters.js';
import { httpPill } from '../components/pill.js';
import { NewChip, Pager, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { RequestDrawer } from './logs/request.js';
import { useKeyNames } from './parts/key-names.js';
import { logTabs } from './parts/log-tabs.js';
import { found } from './parts/scan.js';

/** @typedef {import('../types/api.d.ts').LogSummary} LogSummary */

const FILTERS = ['q', 'status', 'method', 'key'];
const STATUSES = /** @type {[string, string][]} */ ([['2', 'Success, 2xx'], ['4', 'Refused, 4xx'], ['5', 'Failed, 5xx']]);
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'].map((method) => /** @type {[string, string]} */ ([method, method]));

/** Interval of reads of the list: no event reports a request. */
const POLL_MS = 5000;
/** Rows of one answer to a filter. */
const ROWS = 50;

/** @param {{ params: { id?: string } }} props */
export function LogsPage({ params }) {
  const filters = useFilters(FILTERS);
  const { names, nameOf: keyName } = useKeyNames();
  const open = params.id ?? query.value.request;
  const close = () => { if (params.id) navigate('/logs', { replace: true }); else setQuery({ request: null }, { replace: true }); };
  const options = [...names].map(([id, name]) => /** @type {[string, string]} */ ([id, name]));
  const unknown = filters.values.key && !names.has(filters.values.key);
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Logs')), t.p({ class: 'sub' }, 'Each request of a program to the API, with its answer.')), logTabs('requests'),
    t.div({ class: 'filters', role: 'search' },
      h(SearchField, { label: 'Search requests', placeholder: 'Path, client or request id' }),
      h(MultiFilter, { name: 'status', label: 'Answer', options: STATUSES }),
      h(MultiFilter, { name: 'method', label: 'Method', options: METHODS }),
      unknown ? h(FilterOn, { name: 'key', label: 'Key is', text: keyName(filters.values.key ?? '') }) : h(OneFilter, { name: 'key', label: 'Any key', none: 'Any key', options })),
    filters.any ? h(Found, { values: filters.values, clear: filters.clear, keyName }) : h(All, { keyName }),
    open && h(RequestDrawer, { id: open, keyName, onClose: close }));
}

/** @param {{ keyName: (id: string) => string }} props */
function All({ keyName }) {
  const list = /** @type {import('../lib/list.js').List<LogSummary>} */ (useList('/logs', { poll_ms: POLL_MS }));
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The log');
  if (list.rows?.length === 0 && !list.newer) {
    return empty({ title: 'No requests yet', text: 'Requests of your programs appear here with their bodies, so that a refusal explains itself.', docs: 'logs', actions: h(Button, { onClick: () => navigate('/connect') }, 'Connect a program') });
  }
  return fragment(
    t.div({ class: 'table-wrap' }, h(NewChip, { count: list.fresh, show: list.showFresh }), rows(list.rows, keyName)),
    h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize }));
}

/** @param {{ values: Record<string, string>, clear: () => void, keyName: (id: string) => string }} props */
function Found({ values, clear, keyName }) {
  const scan = /** @type {import('../lib/search.js').Search<LogSummary>} */ (useSearch('/logs', { ...values, limit: ROWS }, { poll_ms: POLL_MS }));
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The log');
  return found({ scan, title: 'No request matches', one: 'request', words: words(values, keyName), clear,
    rows: (some) => t.div({ class: 'table-wrap' }, h(NewChip, { count: scan.fresh, show: scan.showFresh }), rows(some, keyName)) });
}

/** @param {Record<string, string>} values @param {(id: string) => string} keyName */
function words({ q, status, method, key }, keyName) {
  const parts = [status && `answer ${status.split(',').map((one) => `${one}xx`).join(' or ')}`, method && `method ${method.replaceAll(',', ' or ')}`, key && `key ${keyName(key)}`].filter(Boolean);
  return [q && `No path, client or id has “${q}”.`, parts.length > 0 && `Filtered by ${parts.join(', ')}.`].filter(Boolean).join(' ');
}

/** @param {LogSummary[] | null} logs @param {(id: string) => string} keyName */
function rows(logs, keyName) {
  return table({ label: 'Requests, newest first', rows: logs, id: (row) => row.id, to: (row) => `/logs${search({ ...query.value, request: row.id })}`, columns: [
    { head: 'Answer', class: 'c-status', width: 'w-104', cell: (row) => httpPill(row.response_status) },
    { head: 'Request', class: 'c-to', link: true, width: 'w-36p', cell: (row) => fragment(t.span({ class: 'meth' }, row.method), t.span({ title: row.endpoint }, row.endpoint)) },
    { head: 'Client', class: 'c-subject trunc', cell: (row) => row.user_agent ?? t.span({ class: 't3' }, 'not named') },
    { head: 'API key', class: 'c-dom trunc', width: 'w-160', cell: (row) => keyName(row.api_key_id) },
    { head: 'Duration', class: 'c-tag num', width: 'w-88', cell: (row) => `${row.duration_ms} ms` },
    { head: 'When', class: 'c-time num', width: 'w-104', cell: (row) => h(Time, { at: row.created_at }) },
  ] });
}
