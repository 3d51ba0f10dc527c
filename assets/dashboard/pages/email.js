// One email: what happened to it, first in a sentence.
import { h, useCallback } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api, apiUrl } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { useLive, usePoll } from '../lib/live.js';
import { capturedId, verdict } from '../lib/outcome.js';
import { link, navigate, useTitle } from '../lib/router.js';
import { allows, me, now } from '../lib/state.js';
import { bytes, plural } from '../lib/time.js';
import { Button } from '../components/button.js';
import { copyText } from '../components/copy.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { pageFailed, pageWaiting } from '../components/empty.js';
import { Id } from '../components/id.js';
import { Menu, menuItem } from '../components/menu.js';
import { emailPill, tag } from '../components/pill.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { Correct, CorrectCard, isRefused } from './email/correct.js';
import { Content } from './parts/content.js';
import { emailAsCurl } from './parts/curl.js';
import { useEmail } from './parts/email-reads.js';
import { useKeyNames } from './parts/key-names.js';
import { Deliveries, Insights, RequestCard, SameOutcome } from './parts/related.js';
import { Reschedule } from './parts/reschedule.js';
import { Steps } from './parts/steps.js';
import { Timeline } from './parts/timeline.js';
import { useAsApi } from './parts/view-as-api.js';

/** @typedef {import('../lib/outcome.js').Email} Email */

/** Statuses that are followed by another one. */
const PENDING = new Set(['scheduled', 'queued', 'sent', 'delivery_delayed']);
/** Interval of reads of an email with such a status: not each attempt has an event. */
const POLL_MS = 10_000;

/** @param {{ params: { id: string } }} props */
export function EmailPage({ params: { id } }) {
  const { email, attempts, request } = useEmail(id);
  const again = useCallback(() => { void email.reload(); void attempts.reload(); }, [email.reload, attempts.reload]);
  useLive(['email.'], again, undefined, (event) => event.data?.data?.email_id === id);
  usePoll(again, email.data && PENDING.has(email.data.last_event) ? POLL_MS : null);
  if (email.error && !email.data) return pageFailed('Email', email.error, email.reload);
  // The page is built once, with all three answers.
  if (!email.data || attempts.pending || request.pending) return pageWaiting('Email');
  return h(Whole, { key: id, email: email.data, attempts: attempts.data?.data ?? [], waiting: attempts.data?.waiting ?? [], log: request.data, reload: email.reload });
}

/** @param {{ email: Email, attempts: import('../lib/outcome.js').Attempt[], waiting: import('../lib/outcome.js').Waiting[], log: import('../types/api.d.ts').Log | null, reload: () => Promise<void> }} props */
function Whole({ email, attempts, waiting, log, reload }) {
  useTitle(email.subject);
  const { lead, rest } = verdict(email, attempts, waiting, now.value);
  const removed = email.html === null && email.text === null && email.attachments.length === 0;
  const parts = [email.cc && ['Cc', email.cc.join(', ')], email.bcc && ['Bcc', email.bcc.join(', ')]].filter((part) => part !== null);
  const size = new Blob([email.html ?? '', email.text ?? '']).size + email.attachments.reduce((sum, one) => sum + one.size, 0);
  const fact = (/** @type {string} */ name, /** @type {import('../lib/h.js').Children} */ value) => t.div({ key: name }, t.dt(null, name), t.dd(null, value));
  const { nameOf } = useKeyNames(log !== null);
  const kept = email.events.map((event) => capturedId(event.reply)).find((one) => one !== null) ?? null;
  return fragment(
    t.div({ class: 'crumb' }, link({ to: '/emails' }, 'Emails'), icon('right', 'i-sm'), t.span({ class: 'trunc' }, t.bdi(null, email.subject || '(no subject)')), h(Steps, { path: '/emails', id: email.id })),
    t.div({ class: 'page-head page-head-long' },
      t.div({ class: 'grow' }, t.h1({ class: 'wrap-any' }, t.bdi(null, email.subject || '(no subject)')),
        t.div({ class: 'head-meta' }, emailPill(email.last_event), h(Id, { id: email.id }), t.span(null, h(Time, { at: email.created_at })), email.tags.slice(0, 4).map((one) => tag(one.value)))),
      h(Actions, { email, log, kept, reload, removed })),
    t.p({ class: 'verdict', role: 'status' }, t.b(null, lead), ' ', rest),
    isRefused(email) && allows('member') && h(CorrectCard, { email, removed }),
    t.div({ class: 'card facts-bar' }, t.dl({ class: 'facts facts-grid' },
      fact('From', t.bdi(null, email.from)),
      fact('To', t.span(null, email.to.slice(0, 3).map((to, i) => fragment(i > 0 && ', ', link({ class: 'link', to: `/emails?to=${encodeURIComponent(to)}` }, to))), email.to.length > 3 && ` and ${email.to.length - 3} more`)),
      parts.map(([name = '', value]) => fact(name, value)),
      fact('Reply-To', email.reply_to?.join(', ') ?? t.span({ class: 't3' }, 'none')),
      fact('Size', removed ? '–' : `${bytes(size)}${email.attachments.length > 0 ? `, ${plural(email.attachments.length, 'attachment')}` : ''}`))),
    t.div({ class: 'cols-email' },
      t.div({ class: 'stack' },
        h(Timeline, { email, attempts, waiting, accepted: log && accepted(log, nameOf(log.api_key_id)) }),
        email.recipients.length > 1 && h(Recipients, { email }),
        h(Insights, { email, removed }),
        h(Deliveries, { id: email.id })),
      t.div({ class: 'stack' },
        h(Content, { path: `/emails/${email.id}`, hasHtml: email.html !== null, text: email.text, html: email.html, headers: null, removed,
          attachments: email.attachments.map((one) => ({ ...one, href: null, get: () => download(email.id, one) })) }),
        log && h(RequestCard, { log, keyName: nameOf(log.api_key_id) }),
        h(SameOutcome, { status: email.last_event, from: email.from, to: email.to[0] ?? '' }))));
}

/** @param {import('../types/api.d.ts').Log} log @param {string} key the name of its key */
function accepted(log, key) {
  return t.p(null, 'By ', t.code(null, `${log.method} ${log.endpoint}`), ` with the key “${key}”.`);
}

/** @param {{ email: Email, log: import('../types/api.d.ts').Log | null, kept: string | null, removed: boolean, reload: () => Promise<void> }} props */
function Actions({ email, log, kept, removed, reload }) {
  const asApi = useAsApi(`/emails/${email.id}`);
  const removal = useDialog((close) => h(Dialog, { title: 'Delete this email?', action: 'Delete email', danger: true, onClose: close, submit: async () => {
    await api.del(`/emails/${email.id}`);
    close();
    toast('Deleted the email');
    navigate('/emails', { replace: true });
  } }, t.p(null, 'Its content, recipients and timeline are erased. This cannot be undone.')));
  const suppress = useDialog((close) => h(Dialog, { title: `Suppress ${email.to[0]}?`, action: 'Suppress address', danger: true, onClose: close, submit: async () => {
    await api.post('/suppressions', { email: email.to[0] });
    close();
    toast('The address is suppressed');
  } }, t.p(null, 'Ringmail sends nothing more to this address until somebody removes it from the list.')));
  const other = useDialog((close) => h(Correct, { email, onClose: close }));
  const later = useDialog((close) => h(Reschedule, { id: email.id, at: email.scheduled_at, onClose: close, done: reload }));
  const pending = ['queued', 'delivery_delayed'].includes(email.last_event);
  const again = async () => {
    const { id } = await api.post(`/emails/${email.id}/resend`);
    toast('Sent again, as a new email');
    navigate(`/emails/${id}`);
  };
  const cancel = async () => { await api.post(`/emails/${email.id}/cancel`); await reload(); toast('Canceled the email'); };
  return t.div({ class: 'actions' },
    h(Button, { kind: 'ghost', icon: 'code', class: 'hide-sm', onClick: asApi.open }, 'View as API'),
    kept && link({ class: 'btn', to: `/captured/${kept}` }, 'Open captured email'),
    allows('member') && email.last_event === 'scheduled' && h(Button, { onClick: later.open }, 'Change time…'),
    allows('member') && email.last_event === 'scheduled' && h(Button, { onClick: cancel }, 'Cancel email'),
    allows('member') && h(Button, { onClick: again, disabled: removed && 'The content was removed by retention.' }, 'Send again'),
    h(Menu, { class: 'btn btn-icon', label: 'More actions', button: icon('more'), end: true, children: [
      menuItem('code', 'View as API', asApi.open),
      t.a({ key: 'eml', href: apiUrl(`/emails/${email.id}/raw`), download: `${email.id}.eml` }, icon('download'), 'Download .eml'),
      !removed && menuItem('copy', 'Copy as curl', () => {
        void copyText(emailAsCurl(me.value?.base_url ?? location.origin, email));
        toast(email.attachments.length > 0 ? 'Copied as curl: fill in the attachments' : 'Copied the email as curl');
      }),
      log && link({ key: 'log', to: `/logs/${log.id}` }, icon('logs'), 'The request that made it'),
      allows('member') && !removed && menuItem('user', 'Send to another address…', other.open),
      allows('admin') && menuItem('ban', 'Suppress this address…', suppress.open),
      allows('member') && pending && menuItem('stop', 'Cancel email', cancel),
      allows('member') && t.hr({ key: 'line' }),
      allows('member') && menuItem('trash', 'Delete…', removal.open, { danger: true }),
    ] }), asApi.view, removal.view, suppress.view, later.view, other.view);
}

/** @param {{ email: Email }} props */
function Recipients({ email }) {
  return t.section({ class: 'card', 'aria-labelledby': 'h-recipients' }, t.header(null, t.h2({ id: 'h-recipients' }, plural(email.recipients.length, 'recipient'))),
    t.ul({ class: 'list' }, email.recipients.slice(0, 100).map((one) => t.li({ key: one.email }, t.div({ class: 'item' }, t.span({ class: 'grow trunc t1' }, one.email), emailPill(one.last_event))))));
}

/** Saves an attachment: the API has it as base64. @param {string} id @param {import('../types/api.d.ts').AttachmentSummary} one */
async function download(id, one) {
  const { content } = await api.get(`/emails/${id}/attachments/${one.id}`);
  const data = Uint8Array.from(atob(content ?? ''), (char) => char.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([data], { type: 'application/octet-stream' }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = one.filename;
  anchor.click();
  URL.revokeObjectURL(url);
}
