// Captured: the built-in mailbox. Every message that was kept instead of delivered.
import { h, useEffect, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { useList } from '../lib/list.js';
import { query } from '../lib/router.js';
import { leaveTrail } from '../lib/trail.js';
import { allows } from '../lib/state.js';
import { bytes, plural } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { empty, failed } from '../components/empty.js';
import { SearchField, useFilters } from '../components/filters.js';
import { pill } from '../components/pill.js';
import { Bulk, NewChip, Pager, middle, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { emailTabs } from './parts/email-tabs.js';
import { FirstEmail } from './parts/first-email.js';
import { TestEmail } from './parts/test-email.js';
import { deleteWithUndo, hidden } from './parts/undo.js';
import { ViewAsApi } from './parts/view-as-api.js';

/**
 * @typedef {object} CapturedRow
 * @property {string} id
 * @property {string | null} email_id
 * @property {string} from
 * @property {string[]} to
 * @property {string} subject
 * @property {string} received_at
 * @property {number} size
 * @property {string} mode `captured`, `released`, or `other` for a message that another program sent to the mailbox
 * @property {string | null} [released_at]
 */

/** The pill of a captured message. @param {CapturedRow} row */
export function capturedPill(row) {
  if (row.released_at || row.mode === 'released') return pill('Released', { tone: 'green' });
  return row.mode === 'other' ? pill('By SMTP', { hollow: true }) : pill('Captured');
}

/** @type {import('../components/table.js').Column<CapturedRow>[]} */
const COLUMNS = [
  { head: 'Status', class: 'c-status', width: 'w-128', cell: capturedPill },
  { head: 'To', class: 'c-to', width: 'w-26p', cell: (row) => (row.to.length > 1 ? t.span({ class: 'row' }, middle(row.to[0] ?? ''), t.span({ class: 'meta nowrap' }, `+${row.to.length - 1}`)) : middle(row.to[0] ?? '')) },
  { head: 'Subject', class: 'c-subject', link: true, cell: (row) => t.bdi(null, row.subject || '(no subject)') },
  { head: 'From', class: 'c-dom trunc', width: 'w-240', cell: (row) => row.from },
  { head: 'Size', class: 'c-tag num', width: 'w-88', cell: (row) => bytes(row.size) },
  { head: 'Received', class: 'c-time num', width: 'w-104', cell: (row) => h(Time, { at: row.received_at }) },
];

export function CapturedPage() {
  const filters = useFilters(['q', 'to']);
  const list = /** @type {import('../lib/list.js').List<CapturedRow>} */ (useList('/captured', { query: { subject: query.value.q, to: query.value.to }, live: ['email.'] }));
  const [first, setFirst] = useState(false);
  const [picked, setPicked] = useState(/** @type {Set<string>} */ (new Set()));
  const test = useDialog((close) => h(TestEmail, { onClose: close }));
  const clearAll = useDialog((close) => h(Dialog, { title: 'Delete all captured emails?', action: 'Delete all', danger: true, onClose: close, submit: async () => {
    await api.del('/captured');
    close();
    await list.reload();
    toast('Deleted all captured emails');
  } }, t.p(null, 'The emails in the list Sent stay, without the captured copy.')));
  const rows = list.rows?.filter((row) => !hidden.value.has(row.id)) ?? null;
  useEffect(() => leaveTrail('/captured', (rows ?? []).map((row) => row.id)), [list.rows, hidden.value]);
  const none = list.rows?.length === 0 && !filters.any && !list.newer && !list.page?.position;
  useEffect(() => { if (none) setFirst(true); }, [none]);
  const remove = (/** @type {string[]} */ ids) => {
    setPicked(new Set());
    deleteWithUndo(`Deleted ${plural(ids.length, 'captured email')}`, '/captured', ids);
  };
  /** A page without rows. A page that ended early names its position: older emails are not read yet. */
  const nothing = (/** @type {string | null} */ position, /** @type {(() => void) | null} */ older) => empty({
    title: filters.any ? 'No captured email matches' : 'Nothing is left here', text: position !== null ? 'The server has read a part of the mailbox.' : filters.any ? words(filters.values) : 'The emails of this page are deleted.',
    actions: [position !== null && older && h(Button, { key: 'older', onClick: older }, 'Search further'), filters.any && h(Button, { key: 'clear', onClick: filters.clear }, 'Clear filters')] });
  const body = () => {
    if (list.error && !list.rows) return failed(list.error, list.reload, 'The mailbox');
    if (first || none) return h(FirstEmail, { test: test.open, done: () => { setFirst(false); list.showFresh(); } });
    return fragment(
      t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search by subject', placeholder: 'Subject' }), h(SearchField, { name: 'to', label: 'Search by recipient', placeholder: 'Recipient' })),
      rows?.length === 0 ? nothing(list.page?.position ?? null, list.older)
        : t.div({ class: 'table-wrap' }, h(NewChip, { count: list.fresh, show: list.showFresh }),
          table({ label: 'Captured emails, newest first', columns: COLUMNS, rows, id: (row) => row.id, to: (row) => `/captured/${row.id}`, name: (row) => `the email to ${row.to[0]}`, selection: { ids: picked, set: setPicked } })),
      picked.size > 0 && h(Bulk, { count: picked.size, label: 'Selected emails', clear: () => setPicked(new Set()) },
        allows('member') && h(Button, { kind: 'ghost', size: 'sm', class: 'btn-danger', onClick: () => remove([...picked]) }, 'Delete')),
      h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize }));
  };
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Emails')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/captured' }), allows('member') && h(Button, { onClick: clearAll.open, disabled: none && 'There is nothing to delete.' }, 'Delete all'),
        allows('member') && !none && h(Button, { kind: 'primary', onClick: test.open }, 'Send a test email'))),
    emailTabs('captured'), body(), test.view, clearAll.view);
}

/** Names the filters that hide emails. @param {Record<string, string>} values */
function words({ q, to }) {
  return [q && `No subject has “${q}”.`, to && `No recipient has “${to}”.`].filter(Boolean).join(' ');
}
