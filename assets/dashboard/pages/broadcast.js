// The report of a broadcast: its progress, and the outcome of its emails.
import { h, useEffect } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { usePoll } from '../lib/live.js';
import { forget, useLoad } from '../lib/load.js';
import { link, navigate, useTitle } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { count, plural } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { pageFailed, pageWaiting } from '../components/empty.js';
import { Id } from '../components/id.js';
import { Menu, menuItem } from '../components/menu.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { useAsApi } from './parts/view-as-api.js';
import { Domains } from './broadcast/domains.js';
import { duplicate } from './broadcast/draft-menu.js';
import { Links, PeopleAndSoftware } from './broadcast/engagement.js';
import { Funnel } from './broadcast/funnel.js';
import { ContentOf } from './broadcast/preview-column.js';
import { Progress } from './broadcast/progress.js';
import { Recipients } from './broadcast/recipients.js';
import { audienceOf, broadcastPill, titleOf } from './broadcast/words.js';

/** @typedef {import('../types/broadcasts.d.ts').BroadcastReport} BroadcastReport */

/** Interval of the report while emails have no outcome. No event reports the progress. */
const SENDING_MS = 3000;
/** Interval of the report before the start. */
const SCHEDULED_MS = 15_000;
/** Interval of the report after the last outcome. */
const SENT_MS = 30_000;

/** @param {{ params: { id: string } }} props */
export function BroadcastPage({ params: { id } }) {
  const report = /** @type {import('../lib/load.js').Loaded<BroadcastReport>} */ (useLoad(`/broadcasts/${id}/report`));
  const status = report.data?.status;
  usePoll(report.reload, report.data && intervalOf(report.data));
  useEffect(() => { if (status === 'draft') navigate(`/broadcasts/${id}/edit`, { replace: true }); }, [status]);
  if (report.error && !report.data) return pageFailed('Broadcast', report.error, report.reload);
  if (!report.data || status === 'draft') return pageWaiting('Broadcast');
  return h(Whole, { report: report.data, reload: report.reload });
}

/** @param {BroadcastReport} report */
function intervalOf({ status, counts }) {
  if (status === 'scheduled') return SCHEDULED_MS;
  if (status === 'sent') return counts.sent > 0 ? SENDING_MS : SENT_MS;
  return status === 'queued' ? SENDING_MS : null;
}

/** @param {{ report: BroadcastReport, reload: () => Promise<void> }} props */
function Whole({ report, reload }) {
  useTitle(titleOf(report));
  return fragment(
    t.div({ class: 'crumb' }, link({ to: '/broadcasts' }, 'Broadcasts'), icon('right', 'i-sm'), t.span({ class: 'trunc' }, t.bdi(null, titleOf(report)))),
    t.div({ class: 'page-head page-head-long' },
      t.div({ class: 'grow' }, t.h1({ class: 'wrap-any' }, t.bdi(null, report.subject || titleOf(report))),
        t.div({ class: 'head-meta' }, broadcastPill(report.status), t.span(null, 'to ', audienceOf(report)), h(Id, { id: report.id }))),
      h(Actions, { report, reload })),
    h(Progress, { report }),
    t.div({ class: 'cols' }, t.div({ class: 'stack' }, h(Funnel, { report }), h(Domains, { report }), h(Recipients, { report })),
      t.div({ class: 'stack' }, h(PeopleAndSoftware, { report }), h(Links, { report }), h(Facts, { report }))));
}

/** @param {{ report: BroadcastReport, reload: () => Promise<void> }} props */
function Actions({ report, reload }) {
  const { id, status, remaining } = report;
  const content = useDialog((close) => h(ContentOf, { id, onClose: close }));
  const asApi = useAsApi(`/broadcasts/${id}`);
  const isScheduled = status === 'scheduled', canCancel = status === 'queued' || isScheduled;
  const cancel = useDialog((close) => h(Dialog, { title: isScheduled ? 'Cancel this broadcast?' : 'Cancel the rest of this broadcast?', action: remaining > 0 ? `Cancel ${plural(remaining, 'email')}` : 'Cancel broadcast', cancel: isScheduled ? 'Keep it scheduled' : 'Keep sending', danger: true, onClose: close, submit: async () => {
    const { canceled_remaining } = await api.post(`/broadcasts/${id}/cancel`);
    forget('/broadcasts');
    close();
    await reload();
    toast(typeof canceled_remaining === 'number' ? `Canceled ${plural(canceled_remaining, 'email')}` : 'Canceled the broadcast');
  } },
  isScheduled ? t.p(null, 'Nothing has been sent, and nothing will be.') : t.p(null, t.b(null, plural(remaining, 'contact')), ` will not receive it. ${count(report.counts.attempted)} emails have left and cannot be called back.`),
  t.p(null, 'A canceled broadcast cannot be resumed. Duplicate it to write to the others later.')));
  return t.div({ class: 'actions' },
    h(Button, { kind: 'ghost', class: 'hide-sm', onClick: content.open }, 'View content'),
    allows('member') && h(Button, { class: 'hide-sm', onClick: () => duplicate(id) }, 'Duplicate'),
    allows('member') && canCancel && h(Button, { kind: 'danger', onClick: cancel.open }, isScheduled ? 'Cancel…' : 'Cancel the rest…'),
    h(Menu, { class: 'btn btn-icon', label: 'More actions', button: icon('more'), end: true, children: [
      menuItem('mail', 'View content', content.open), allows('member') && menuItem('copy', 'Duplicate', () => duplicate(id)), menuItem('code', 'View as API', asApi.open),
    ] }), content.view, asApi.view, cancel.view);
}

/** @param {{ report: BroadcastReport }} props */
function Facts({ report }) {
  const { counts } = report;
  const at = (/** @type {string} */ name, /** @type {string | null} */ time) => time && t.div({ key: name }, t.dt(null, name), t.dd(null, h(Time, { at: time })));
  const number = (/** @type {string} */ name, /** @type {number} */ n) => n > 0 && t.div({ key: name }, t.dt(null, name), t.dd(null, count(n)));
  return fragment(t.section({ class: 'card', 'aria-labelledby': 'h-times' }, t.header(null, t.h2({ id: 'h-times' }, 'Times')),
    t.dl({ class: 'sum pad' }, at('Created', report.created_at), at('Starts', report.status === 'scheduled' ? report.scheduled_at : null), at('Started', report.started_at), at('Finished', report.sent_at))),
  t.section({ class: 'card', 'aria-labelledby': 'h-left' }, t.header(null, t.h2({ id: 'h-left' }, 'Not sent, or in progress')),
    counts.queued + counts.sent + counts.suppressed + counts.failed + counts.canceled === 0 ? t.p({ class: 'pad' }, 'Every email has an outcome.')
      : t.dl({ class: 'sum pad' }, number('Waiting', counts.queued), number('In progress', counts.sent), number('Left the audience', counts.suppressed), number('Failed', counts.failed), number('Canceled', counts.canceled))));
}
