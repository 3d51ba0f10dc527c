// Emails: find one message. Every filter is in the address. Without filters the page lists, with them it searches.
import { h, useEffect, useLayoutEffect, useMemo, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { addressOf, domainOf } from '../lib/address.js';
import { api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { useList } from '../lib/list.js';
import { query } from '../lib/router.js';
import { useSearch } from '../lib/search.js';
import { allows } from '../lib/state.js';
import { plural, shortDate } from '../lib/time.js';
import { leaveTrail } from '../lib/trail.js';
import { Button } from '../components/button.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { empty, failed } from '../components/empty.js';
import { FilterOn, MultiFilter, OneFilter, SearchField, useFilters } from '../components/filters.js';
import { EMAIL_STATUS, emailPill, tag } from '../components/pill.js';
import { Bulk, NewChip, Pager, middle, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { AddFilter } from './parts/add-filter.js';
import { emailTabs } from './parts/email-tabs.js';
import { FirstEmail } from './parts/first-email.js';
import { useKeyNames } from './parts/key-names.js';
import { saveCsv } from './parts/save.js';
import { TestEmail } from './parts/test-email.js';
import { ViewAsApi } from './parts/view-as-api.js';

/** @typedef {import('../lib/search.js').EmailRow} EmailRow */

const FILTERS = ['q', 'status', 'domain', 'key', 'tag', 'from', 'to', 'subject', 'has_attachment', 'since', 'until'];
/** Filters with one value each, which a link or "Filter" sets. */
const ONE = { domain: 'Domain is', key: 'Key is', tag: 'Tag is', from: 'From', to: 'To', subject: 'Subject has', until: 'Until' };
const SPANS = /** @type {[string, string][]} */ ([['1h', 'Last hour'], ['24h', 'Last 24 hours'], ['7d', 'Last 7 days'], ['30d', 'Last 30 days']]);

const STATUSES = Object.entries(EMAIL_STATUS).filter(([status]) => status !== 'prefetched').map(([status, [word]]) => /** @type {[string, string]} */ ([status, word]));

export function EmailsPage() {
  const filters = useFilters(FILTERS);
  const scheduled = query.value.status === 'scheduled';
  const [first, setFirst] = useState(false);
  const { nameOf } = useKeyNames(Boolean(query.value.key));
  const bare = first && !filters.any;
  const more = useDialog((close) => h(AddFilter, { onClose: close }));
  const test = useDialog((close) => h(TestEmail, { onClose: close }));
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Emails')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/emails' }),
        allows('member') && !bare && h(Button, { kind: 'primary', onClick: test.open }, 'Send a test email'))),
    emailTabs(scheduled ? 'scheduled' : 'sent'),
    !bare && t.div({ class: 'filters', role: 'search' },
      h(SearchField, { label: 'Search emails', placeholder: 'Address, subject or id' }),
      h(MultiFilter, { name: 'status', label: 'Status', options: STATUSES }),
      !isExact(query.value.since) && h(OneFilter, { name: 'since', label: 'Any time', none: 'Any time', options: SPANS }),
      h(OneFilter, { name: 'has_attachment', label: 'Attachments', none: 'With or without attachments', options: [['true', 'With attachments'], ['false', 'Without attachments']] }),
      Object.entries(ONE).map(([name, label]) => h(FilterOn, { key: name, name, label, text: name === 'until' ? query.value.until?.slice(0, 16).replace('T', ' ') : name === 'key' ? nameOf(query.value.key ?? '') : undefined })),
      isExact(query.value.since) && h(FilterOn, { name: 'since', label: 'Since', text: query.value.since?.slice(0, 16).replace('T', ' ') }),
      t.button({ class: 'filter', type: 'button', onClick: more.open }, icon('plus'), 'Filter')),
    filters.any ? h(Found, { values: filters.values, clear: filters.clear, nameOf }) : h(All, { test: test.open, first, setFirst }),
    test.view, more.view);
}

/** Whether a start is a time, and not a span of the menu. @param {string | undefined} since */
function isExact(since) {
  return Boolean(since) && !SPANS.some(([span]) => span === since);
}

/**
 * Every email, newest first. Before the first email, the page shows only how to send it.
 * @param {{ test: () => void, first: boolean, setFirst: (first: boolean) => void }} props
 */
function All({ test, first, setFirst }) {
  const list = /** @type {import('../lib/list.js').List<EmailRow>} */ (useList('/emails', { live: ['email.'] }));
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
  const none = list.rows?.length === 0 && !list.newer;
  // Before the browser draws: the head of the page has no second button then.
  useLayoutEffect(() => { if (none) setFirst(true); }, [none]);
  if (first || none) return h(FirstEmail, { test, done: () => { setFirst(false); list.showFresh(); } });
  return fragment(
    h(Rows, { rows: list.rows, fresh: list.fresh, showFresh: list.showFresh, label: 'Emails, newest first', changed: list.reload }),
    h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize }));
}

/** The emails that match the filters. @param {{ values: Record<string, string>, clear: () => void, nameOf: (key: string) => string }} props */
function Found({ values, clear, nameOf }) {
  // Once for a filter: a start that moves with the clock would be another search each minute.
  const found = /** @type {import('../lib/search.js').Search<EmailRow>} */ (useSearch('/search', useMemo(() => wire(values), [JSON.stringify(values)]), { live: ['email.'] }));
  if (found.error && !found.rows) return failed(found.error, found.again, 'The search');
  const reached = found.reached === null ? 'Searched all emails.' : `Searched back to ${shortDate(found.reached)}.`;
  const state = found.running ? t.span({ class: 'live live-wait', role: 'status' }, found.rows ? `Searching, ${reached.slice(9).replace('.', '')}` : 'Searching')
    : t.span({ role: 'status' }, reached, ' ', found.further && t.button({ class: 'link', type: 'button', onClick: found.further }, 'Search further'));
  if (found.rows?.length === 0 && !found.running) {
    return fragment(empty({ title: 'No email matches', text: `${words({ ...values, ...(values.key ? { key: nameOf(values.key) } : {}) })} ${reached}`, actions: [
      found.further && h(Button, { key: 'more', onClick: found.further }, 'Search further'), h(Button, { key: 'clear', onClick: clear }, 'Clear filters')] }));
  }
  return fragment(
    h(Rows, { rows: found.rows?.length === 0 ? null : found.rows, fresh: found.fresh, showFresh: found.showFresh, label: 'Emails that match, newest first', changed: found.again }),
    t.div({ class: 'table-foot' }, state, t.span({ class: 'grow' }), found.rows && t.span(null, plural(found.rows.length, 'email'))));
}

/** The parameters of the search: `since` is a span on this page, and a time on the wire. @param {Record<string, string>} values */
function wire(values) {
  const hours = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 }[values.since ?? ''];
  const since = hours ? new Date(Date.now() - hours * 3_600_000).toISOString() : values.since;
  return { ...values, since };
}

/** Names the filters that hide rows. @param {Record<string, string>} values */
function words(values) {
  const { q, ...rest } = values;
  const names = Object.entries(rest).map(([name, value]) => `${name.replace('_', ' ')} ${value.replaceAll(',', ' or ').replace('delivery_delayed', 'delayed')}`);
  return [q && `No address, subject or id has “${q}”.`, names.length > 0 && `Filtered by ${names.join(', ')}.`].filter(Boolean).join(' ');
}

/** @type {import('../components/table.js').Column<EmailRow>[]} */
const COLUMNS = [
  { head: 'Status', class: 'c-status', width: 'w-128', cell: (row) => emailPill(row.last_event) },
  { head: 'To', class: 'c-to', width: 'w-26p', cell: (row) => row.to.length > 1 ? t.span({ class: 'row' }, middle(row.to[0] ?? ''), t.span({ class: 'meta nowrap' }, `+${row.to.length - 1}`)) : middle(row.to[0] ?? '') },
  { head: 'Subject', class: 'c-subject', link: true, cell: (row) => t.bdi(null, row.subject || '(no subject)') },
  { head: 'From domain', class: 'c-dom trunc', width: 'w-144', cell: (row) => domainOf(row.from) },
  { head: 'Sent', class: 'c-time num', width: 'w-88', cell: (row) => h(Time, { at: row.last_event === 'scheduled' ? row.scheduled_at : row.created_at }) },
];
/** @type {import('../components/table.js').Column<EmailRow>} */
const TAGS = { head: 'Tags', class: 'c-tag', width: 'w-104', cell: (row) => row.tags?.[0] && tag(row.tags[0].value) };

/** @param {{ rows: EmailRow[] | null, fresh: number, showFresh: () => void, label: string, changed: () => unknown }} props */
function Rows({ rows, fresh, showFresh, label, changed }) {
  const [picked, setPicked] = useState(/** @type {Set<string>} */ (new Set()));
  useEffect(() => leaveTrail('/emails', (rows ?? []).map((row) => row.id)), [rows]);
  const some = (rows ?? []).filter((row) => picked.has(row.id));
  const clear = () => setPicked(new Set());
  const removal = useDialog((close) => h(Dialog, {
    title: `Delete ${plural(some.length, 'email')}?`, action: `Delete ${plural(some.length, 'email')}`, danger: true, onClose: close,
    submit: async () => {
      for (const row of some) await api.del(`/emails/${row.id}`);
      close();
      clear();
      void changed();
      toast(`Deleted ${plural(some.length, 'email')}`);
    },
  }, t.p(null, 'Their content, recipients and timeline are erased. This cannot be undone.')));
  const columns = rows?.some((row) => row.tags?.length) ? [...COLUMNS.slice(0, 4), TAGS, ...COLUMNS.slice(4)] : COLUMNS;
  return fragment(
    t.div({ class: 'table-wrap' }, h(NewChip, { count: fresh, show: showFresh }),
      table({ label, columns, rows, id: (row) => row.id, to: (row) => `/emails/${row.id}`,
        name: (row) => `the email to ${row.to[0]}`, selection: { ids: picked, set: setPicked } })),
    some.length > 0 && h(Bulk, { count: some.length, label: 'Selected emails', clear },
      allows('member') && h(Button, { kind: 'ghost', size: 'sm', onClick: async () => {
        for (const row of some) await api.post(`/emails/${row.id}/resend`);
        toast(`Sent ${plural(some.length, 'email')} again`);
        clear();
      } }, 'Send again'),
      h(Button, { kind: 'ghost', size: 'sm', class: 'hide-sm', onClick: () => exportCsv(some) }, 'Export CSV'),
      allows('member') && h(Button, { kind: 'ghost', size: 'sm', class: 'btn-danger', onClick: removal.open }, 'Delete…')),
    removal.view);
}

/** @param {EmailRow[]} rows */
function exportCsv(rows) {
  saveCsv('emails.csv', [['id', 'status', 'from', 'to', 'subject', 'created_at'], ...rows.map((row) => [row.id, row.last_event, row.from, row.to.map(addressOf).join(' '), row.subject, row.created_at])]);
}
