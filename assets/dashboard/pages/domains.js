// The domains that the team sends from.
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
import { AddDomain } from './domain/add.js';
import { DOMAIN_MEANS, DOMAIN_STATUS } from './domain/text.js';
import { found, useScan } from './parts/scan.js';
import { ViewAsApi } from './parts/view-as-api.js';

/** @typedef {import('../types/api.d.ts').Domain} Domain */

const OPTIONS = Object.entries(DOMAIN_STATUS).map(([status, [word]]) => /** @type {[string, string]} */ ([status, word]));

export function DomainsPage() {
  const filters = useFilters(['q', 'status']);
  const add = () => setQuery({ create: '1' });
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Domains')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/domains' }),
        allows('admin') && h(Button, { kind: 'primary', onClick: add }, 'Add domain'))),
    filters.any ? h(Found, { values: filters.values, clear: filters.clear }) : h(All, { add }),
    query.value.create && allows('admin') && h(AddDomain, { onClose: () => setQuery({ create: null }, { replace: true }) }));
}

function Filters() {
  return t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search domains', placeholder: 'Domain or id' }),
    h(OneFilter, { name: 'status', label: 'Any status', none: 'Any status', options: OPTIONS }));
}

/** @param {{ add: () => void }} props */
function All({ add }) {
  const list = /** @type {import('../lib/list.js').List<Domain>} */ (useList('/domains'));
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
  if (list.rows?.length === 0 && !list.newer) {
    return empty({ docs: 'domains', title: 'No domains yet', text: 'Emails are sent from addresses of a verified domain. Its records let other servers check that they come from you.',
      actions: allows('admin') && h(Button, { onClick: add }, 'Add domain') });
  }
  return fragment(h(Filters, null), rows(list.rows), h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize, live: false }));
}

/** @param {{ values: Record<string, string>, clear: () => void }} props */
function Found({ values, clear }) {
  const text = values.q?.toLowerCase();
  const scan = /** @type {import('./parts/scan.js').Scan<Domain>} */ (useScan('/domains', {}, (row) => (!text || row.name.includes(text) || row.id === text) && (!values.status || row.status === values.status), JSON.stringify(values)));
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The list');
  const words = [values.q && `No domain has “${values.q}”.`, values.status && `Filtered by status ${DOMAIN_STATUS[values.status]?.[0].toLowerCase() ?? values.status}.`].filter(Boolean).join(' ');
  return fragment(h(Filters, null), found({ scan, title: 'No domain matches', one: 'domain', words, clear, rows }));
}

/** @param {Domain[] | null} domains */
function rows(domains) {
  return t.div({ class: 'table-wrap' }, table({ label: 'Domains, newest first', rows: domains, id: (row) => row.id, to: (row) => `/domains/${row.id}`, columns: [
    { head: 'Status', class: 'c-status', width: 'w-128', cell: (row) => { const [word, look] = DOMAIN_STATUS[row.status] ?? [row.status, {}]; return pill(word, look); } },
    { head: 'Domain', class: 'c-to', link: true, width: 'w-36p', cell: (row) => row.name },
    { head: 'What it means', class: 'c-subject trunc', cell: (row) => DOMAIN_MEANS[row.status] },
    { head: 'Added', class: 'c-time num', width: 'w-128', cell: (row) => h(Time, { at: row.created_at }) },
  ] }));
}
