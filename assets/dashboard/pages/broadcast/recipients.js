// The recipients of a broadcast with one outcome.
import { h, useEffect } from '../../vendor/preact.js';
import { api } from '../../lib/api.js';
import { t } from '../../lib/h.js';
import { useList } from '../../lib/list.js';
import { query } from '../../lib/router.js';
import { count } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { empty, failed } from '../../components/empty.js';
import { OneFilter, SearchField } from '../../components/filters.js';
import { EMAIL_STATUS, emailPill, pill } from '../../components/pill.js';
import { NewChip, Pager, middle, table } from '../../components/table.js';
import { toast } from '../../components/toast.js';
import { saveCsv } from '../parts/save.js';

/** @typedef {import('../../types/api.d.ts').BroadcastRecipientResponse} BroadcastRecipient */

/** Types of the lists of the server. `sent` is every claimed email, with any outcome. @type {[string, string][]} */
const TYPES = ['sent', 'delivered', 'opened', 'clicked', 'unsubscribed', 'bounced', 'complained', 'suppressed'].map((type) => [type, EMAIL_STATUS[type]?.[0] ?? 'Unsubscribed']);
/** Interval of the list while emails are sent. */
const POLL_MS = 10_000;
/** A whole address: a search for a part of one reads every recipient. */
const ADDRESS = /^[^\s@]+@[^\s@]+$/;
/** Kinds of bounces in words. @type {Record<string, string>} */
const BOUNCES = { permanent: 'The address does not work', transient: 'Could not be delivered for now', undetermined: 'Not known' };

/** Rows of a request. */
const PAGE_ROWS = 100;
/** The most rows of a file. */
const SAVED_MAX = 10_000;

/** Saves the recipients of a list as CSV, the newest ones of a longer list. @param {string} id @param {string} type @param {string} [email] */
async function save(id, type, email) {
  const rows = /** @type {BroadcastRecipient[]} */ ([]);
  let hasMore = true;
  while (hasMore && rows.length < SAVED_MAX) {
    const page = /** @type {{ data: BroadcastRecipient[], has_more: boolean }} */ (await api.get(`/broadcasts/${id}/recipients`, { type, email, limit: PAGE_ROWS, after: rows.at(-1)?.id }));
    rows.push(...page.data);
    hasMore = page.has_more && page.data.length > 0;
  }
  saveCsv(`recipients-${type}.csv`, [['id', 'contact_id', 'email', 'type', 'bounce_type', 'count'], ...rows.map((row) => [row.id, row.contact_id ?? '', row.email, type, row.bounce_type ?? '', String(row.count ?? '')])]);
  if (hasMore) toast(`The file has the newest ${count(SAVED_MAX)} recipients. The list has more.`);
}

/** @param {{ report: import('../../types/broadcasts.d.ts').BroadcastReport }} props */
export function Recipients({ report }) {
  const type = TYPES.find(([key]) => key === query.value.type)?.[0] ?? 'delivered', asked = query.value.q, q = asked && ADDRESS.test(asked) ? asked : undefined;
  const { counts } = report, n = counts[type === 'sent' ? 'attempted' : /** @type {'delivered'} */ (type)], isRunning = report.status === 'queued' || counts.queued + counts.sent > 0;
  const list = /** @type {import('../../lib/list.js').List<BroadcastRecipient>} */ (useList(`/broadcasts/${report.id}/recipients`, { query: { type, email: q }, poll_ms: isRunning ? POLL_MS : null }));
  // The numbers of the report are newer than the rows. A list of one page shows its new rows at once.
  const isShort = !list.older && !list.newer;
  useEffect(() => { if (isShort) void list.reload(); }, [n]);
  const name = TYPES.find(([one]) => one === type)?.[1] ?? type, word = name.toLowerCase();
  /** @type {import('../../components/table.js').Column<BroadcastRecipient>[]} */
  const columns = [
    { head: 'Recipient', class: 'c-to', link: true, cell: (row) => middle(row.email) },
    ...(type === 'bounced' ? [{ head: 'Why', class: 'c-subject trunc', width: 'w-36p', cell: (/** @type {BroadcastRecipient} */ row) => BOUNCES[row.bounce_type ?? ''] ?? row.bounce_type ?? '–' }] : []),
    // Claimed emails have different outcomes, which their rows do not name.
    ...(type === 'sent' ? [] : [{ head: 'Outcome', class: 'c-status', width: 'w-128', cell: () => (EMAIL_STATUS[type] ? emailPill(type) : pill(name)) }]),
  ];
  const isEmpty = list.rows?.length === 0 && !list.newer;
  return t.section({ class: 'card', 'aria-labelledby': 'h-recipients' }, t.header(null, t.h2({ id: 'h-recipients', tabIndex: -1 }, 'Recipients'), !isEmpty && h(Button, { kind: 'ghost', size: 'sm', icon: 'download', onClick: () => save(report.id, type, q) }, t.span({ class: 'sr' }, 'Save the recipients as '), 'CSV')),
    t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search recipients', placeholder: 'Whole address' }), h(OneFilter, { name: 'type', label: 'Delivered', none: 'Delivered', options: TYPES.filter(([key]) => key !== 'delivered') }), asked && !q && t.span({ class: 't3', role: 'status' }, 'Type a whole address.')),
    list.error && !list.rows ? t.div({ class: 'pad' }, failed(list.error, list.reload, 'The list'))
      : isEmpty ? empty({ card: false, title: q ? `${q} is not in this list` : type === 'sent' ? 'No email is sent yet' : `No recipient is ${word}`, text: report.status === 'queued' ? 'The broadcast is being sent.' : undefined })
        : t.div({ class: 'table-wrap' }, h(NewChip, { count: list.fresh, show: list.showFresh }), table({ label: `Recipients: ${word}`, columns, rows: list.rows, id: (row) => row.id, to: (row) => `/emails/${row.id}` })),
    !isEmpty && list.rows && h(Pager, { newer: list.newer, older: list.older, live: false }));
}
