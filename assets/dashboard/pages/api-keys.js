// API keys with the time of their last use.
import { h, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { useList } from '../lib/list.js';
import { forget } from '../lib/load.js';
import { link, query, setQuery } from '../lib/router.js';
import { allows, now } from '../lib/state.js';
import { parseTime, relative } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { empty, failed } from '../components/empty.js';
import { SearchField, useFilters } from '../components/filters.js';
import { TextField } from '../components/field.js';
import { Id } from '../components/id.js';
import { Menu, menuItem } from '../components/menu.js';
import { pill } from '../components/pill.js';
import { Pager, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { CreateKey } from './parts/create-key.js';
import { useDomains } from './parts/domains.js';
import { NoneFound, ScanFoot, useScan } from './parts/scan.js';
import { ViewAsApi } from './parts/view-as-api.js';

/** @typedef {import('../types/api.d.ts').ApiKeyResponse & { permission?: 'full_access' | 'sending_access', domain_id?: string | null }} ApiKey */

export function ApiKeysPage() {
  const filters = useFilters(['q']);
  const list = /** @type {import('../lib/list.js').List<ApiKey>} */ (useList('/api-keys'));
  const text = filters.values.q?.toLowerCase();
  const scan = /** @type {import('./parts/scan.js').Scan<ApiKey>} */ (useScan(text ? '/api-keys' : null, {}, (row) => !text || row.name.toLowerCase().includes(text) || row.id === text, text ?? ''));
  const changed = async () => { forget('/api-keys'); await list.reload(); if (text) scan.again(); };
  const create = () => setQuery({ create: '1' });
  const shown = text ? scan : list;
  const body = () => {
    if (shown.error && !shown.rows) return failed(shown.error, text ? scan.again : list.reload, 'The list');
    if (!text && list.rows?.length === 0 && !list.newer) {
      return empty({ docs: 'keys', title: 'No API keys yet', text: 'A program shows its key with each request. Give each program its own, so that you can revoke one without the others.',
        actions: allows('admin') && h(Button, { onClick: create }, 'Create API key') });
    }
    return fragment(
      t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search API keys', placeholder: 'Name or id' })),
      text && scan.rows?.length === 0 && !scan.running ? h(NoneFound, { scan, title: 'No key matches', thing: 'keys', words: `No name has “${text}”.`, clear: filters.clear })
        : h(Rows, { rows: shown.rows?.length === 0 ? null : shown.rows, changed }),
      text ? h(ScanFoot, { scan, one: 'key' }) : h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize, live: false }));
  };
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'API keys')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/api-keys' }), allows('admin') && h(Button, { kind: 'primary', onClick: create }, 'Create API key'))),
    body(),
    query.value.create && allows('admin') && h(CreateKey, { done: () => { void changed(); }, onClose: () => setQuery({ create: null }, { replace: true }) }));
}

/** `used 3m ago`. @param {ApiKey} row */
function used(row) {
  const at = parseTime(row.last_used_at);
  return at === null ? pill('Never used', { hollow: true }) : t.span(null, t.span({ class: 'only-sm' }, 'used '), h(Time, { at: row.last_used_at }));
}

/** @param {{ rows: ApiKey[] | null, changed: () => Promise<void> }} props */
function Rows({ rows, changed }) {
  const limited = rows?.some((row) => row.permission) ?? false;
  const { domains } = useDomains(rows?.some((row) => row.domain_id) ?? false);
  const scope = (/** @type {ApiKey} */ { permission, domain_id }) => (permission === 'full_access' ? 'Full access' : 'Sending') + (domain_id ? `, ${domains?.find(({ id }) => id === domain_id)?.name ?? domain_id} only` : '');
  /** @type {import('../components/table.js').Column<ApiKey>[]} */
  const columns = [
    { head: 'Name', class: 'c-to trunc', width: 'w-26p', cell: (row) => t.span({ class: 't1 medium', title: row.name }, row.name) },
    { head: 'Id', class: 'c-subject', cell: (row) => h(Id, { id: row.id }) },
    ...(limited ? [/** @type {import('../components/table.js').Column<ApiKey>} */ ({ head: 'Permission', class: 'c-dom trunc', width: 'w-26p', cell: (row) => t.span({ title: scope(row) }, scope(row)) })] : []),
    { head: 'Created', class: 'c-tag num', width: 'w-128', cell: (row) => h(Time, { at: row.created_at }) },
    { head: 'Last used', class: 'c-time num', width: 'w-128', cell: used },
    { head: 'Actions', class: 'c-act', width: 'w-88', cell: (row) => h(Actions, { row, changed }) },
  ];
  return t.div({ class: 'table-wrap' }, table({ label: 'API keys, newest first', rows, id: (row) => row.id, columns, class: 'table-cards table-act' }));
}

/** @param {{ row: ApiKey, changed: () => Promise<void> }} props */
function Actions({ row, changed }) {
  const [name, setName] = useState(row.name);
  const rename = useDialog((close) => h(Dialog, { title: 'Rename the key', action: 'Rename key', fields: true, onClose: close, submit: async () => {
    await api.patch(`/api-keys/${row.id}`, { name: name.trim() });
    close();
    await changed();
    toast('Renamed the key');
  } }, h(TextField, { label: 'Name', value: name, onInput: setName, spellcheck: true })));
  const at = parseTime(row.last_used_at);
  const revoke = useDialog((close) => h(Dialog, { title: `Revoke “${row.name}”?`, action: 'Revoke key', danger: true, onClose: close, submit: async () => {
    await api.del(`/api-keys/${row.id}`);
    close();
    await changed();
    toast(`Revoked ${row.name}`);
  } }, t.p(null, at === null ? 'No program has used it. ' : t.b(null, `It was used ${relative(at, now.value)}. `), 'Requests with it are refused at once. This cannot be undone.')));
  return fragment(
    h(Menu, { class: 'btn btn-ghost btn-sm btn-icon', label: `Actions of ${row.name}`, button: icon('more'), end: true, children: [
      link({ key: 'logs', to: `/logs?key=${encodeURIComponent(row.id)}` }, icon('logs'), 'Its requests'),
      link({ key: 'mail', to: `/emails?key=${encodeURIComponent(row.id)}` }, icon('mail'), 'Its emails'),
      allows('admin') && menuItem('key', 'Rename…', () => { setName(row.name); rename.open(); }),
      allows('admin') && t.hr({ key: 'line' }),
      allows('admin') && menuItem('trash', 'Revoke…', revoke.open, { danger: true }),
    ] }), rename.view, revoke.view);
}
