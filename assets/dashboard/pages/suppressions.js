// Suppressions: the listed addresses with their reasons. The search also checks an address that is not listed.
import { h, useEffect, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { useList } from '../lib/list.js';
import { useLoad } from '../lib/load.js';
import { query, search, setQuery } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { Button } from '../components/button.js';
import { useDialog } from '../components/dialog.js';
import { empty, failed, note } from '../components/empty.js';
import { OneFilter, SearchField, useFilters } from '../components/filters.js';
import { pill } from '../components/pill.js';
import { Bulk, NewChip, Pager, middle, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { found, useScan } from './parts/scan.js';
import { ViewAsApi } from './parts/view-as-api.js';
import { AddAddresses, RemoveAddresses } from './suppressions/change.js';
import { Explain } from './suppressions/explain.js';
import { CAUSES, EFFECTS, ORIGINS, isAddress } from './suppressions/text.js';

/** @typedef {import('./suppressions/text.js').Suppression} Suppression */

const OPTIONS = Object.entries(ORIGINS).map(([origin, [word]]) => /** @type {[string, string]} */ ([origin, word]));

export function SuppressionsPage() {
  const filters = useFilters(['q', 'origin']);
  const [changes, setChanges] = useState(0);
  const changed = () => setChanges((n) => n + 1);
  const [removing, setRemoving] = useState(/** @type {Suppression[] | null} */ (null));
  const add = useDialog((close) => h(AddAddresses, { onClose: close, done: changed, start: isAddress(filters.values.q ?? '') ? filters.values.q : '' }));
  const { q = '', origin } = filters.values;
  const entry = query.value.entry;
  const close = () => setQuery({ entry: null }, { replace: true });
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Suppressions')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/suppressions' }),
        allows('admin') && h(Button, { kind: 'primary', onClick: add.open }, 'Suppress addresses')),
      t.p({ class: 'sub' }, 'Addresses that bounced, complained or opted out. Ringmail sends nothing to them.')),
    t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search or check an address', placeholder: 'Search or check an address' }),
      h(OneFilter, { name: 'origin', label: 'Any reason', none: 'Any reason', options: OPTIONS })),
    isAddress(q) && h(Check, { key: `${q}${changes}`, address: q }),
    q ? h(Found, { key: changes, q, origin, clear: filters.clear, remove: setRemoving }) : h(All, { key: `${origin}${changes}`, origin, clear: filters.clear, remove: setRemoving }),
    entry && !removing && h(Explain, { key: entry, id: entry, onClose: close, remove: (/** @type {Suppression} */ row) => setRemoving([row]) }),
    removing && h(RemoveAddresses, { rows: removing, onClose: () => setRemoving(null), done: () => { if (entry) close(); changed(); } }),
    add.view);
}

/** Whether an email to the address would be sent. @param {{ address: string }} props */
function Check({ address }) {
  const { data, error, reload } = /** @type {import('../lib/load.js').Loaded<Suppression>} */ (useLoad(`/suppressions/${encodeURIComponent(address.toLowerCase())}`));
  const say = () => {
    if (data) return note(data.origin === 'unsubscribe' ? 'amber' : 'red', t.p(null, t.b(null, `${data.email} is suppressed. `), `${CAUSES[data.origin]} ${EFFECTS[data.origin]}`));
    if (error?.status === 404) return note('green', t.p(null, t.b(null, `${address} is not suppressed. `), 'Emails to it are sent, if it has not opted out of their topic.'));
    return error ? failed(error, reload, 'The address') : null;
  };
  return t.div({ class: 'verdict', role: 'status' }, say());
}

/** @typedef {{ origin: string | undefined, clear: () => void, remove: (rows: Suppression[]) => void }} ListProps */

/** @param {ListProps} props */
function All({ origin, clear, remove }) {
  const list = /** @type {import('../lib/list.js').List<Suppression>} */ (useList('/suppressions', { query: { origin }, live: ['suppression.', 'email.bounced', 'email.complained'] }));
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
  if (list.rows?.length === 0 && !list.newer) {
    return origin ? empty({ title: 'No address matches', text: `No address is listed as ${ORIGINS[/** @type {keyof typeof ORIGINS} */ (origin)]?.[0].toLowerCase() ?? origin}.`, actions: h(Button, { onClick: clear }, 'Clear filters') })
      : empty({ docs: 'suppressions', title: 'No address is suppressed', text: 'An address joins this list when an email to it bounces for good, or when its owner complains. That keeps your bounce rate low.' });
  }
  return fragment(h(Rows, { rows: list.rows, fresh: list.fresh, showFresh: list.showFresh, remove }), h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize }));
}

/** @param {ListProps & { q: string }} props */
function Found({ q, origin, clear, remove }) {
  const text = q.toLowerCase();
  const scan = /** @type {import('./parts/scan.js').Scan<Suppression>} */ (useScan('/suppressions', { origin }, (row) => row.email.includes(text) || row.id === text, text));
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The list');
  return found({ scan, title: 'No address matches', one: 'address', many: 'addresses', thing: 'suppressions', words: `No listed address has “${q}”.`, clear,
    rows: (rows) => h(Rows, { rows, fresh: 0, showFresh: () => {}, remove }) });
}

/** @param {{ rows: Suppression[] | null, fresh: number, showFresh: () => void, remove: (rows: Suppression[]) => void }} props */
function Rows({ rows, fresh, showFresh, remove }) {
  const [picked, setPicked] = useState(/** @type {Set<string>} */ (new Set()));
  useEffect(() => setPicked(new Set()), [query.value.after, query.value.before]);
  const some = (rows ?? []).filter((row) => picked.has(row.id));
  const selection = allows('admin') ? { ids: picked, set: setPicked } : undefined;
  return fragment(
    t.div({ class: 'table-wrap' }, h(NewChip, { count: fresh, show: showFresh }), table({ label: 'Suppressed addresses, newest first', rows, id: (row) => row.id, name: (row) => row.email, selection,
      to: (row) => `/suppressions${search({ ...query.value, entry: row.id })}`, columns: [
        { head: 'Reason', class: 'c-status', width: 'w-144', cell: (row) => pill(...ORIGINS[row.origin]) },
        { head: 'Address', class: 'c-to', link: true, width: 'w-36p', cell: (row) => middle(row.email) },
        { head: 'What it blocks', class: 'c-subject trunc', cell: (row) => (row.origin === 'unsubscribe' ? 'Emails under a topic' : 'Every email') },
        { head: 'Cause', class: 'c-dom trunc', width: 'w-160', cell: (row) => (row.source_id ? 'An email of yours' : t.span({ class: 't3' }, 'No email')) },
        { head: 'Since', class: 'c-time num', width: 'w-128', cell: (row) => h(Time, { at: row.created_at }) },
      ] })),
    some.length > 0 && h(Bulk, { count: some.length, label: 'Selected addresses', clear: () => setPicked(new Set()) },
      h(Button, { kind: 'ghost', size: 'sm', class: 'btn-danger', onClick: () => remove(some) }, 'Remove…')));
}
