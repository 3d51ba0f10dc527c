// One captured message: the content, the place it would have gone to, and its release.
import { h } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api, apiUrl } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { useLoad } from '../lib/load.js';
import { link, navigate, useTitle } from '../lib/router.js';
import { allows, me } from '../lib/state.js';
import { bytes, plural } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Copy } from '../components/copy.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { note, pageFailed, pageWaiting } from '../components/empty.js';
import { Id } from '../components/id.js';
import { Menu, menuItem } from '../components/menu.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { capturedPill } from './captured.js';
import { Content } from './parts/content.js';
import { useEmail } from './parts/email-reads.js';
import { useKeyNames } from './parts/key-names.js';
import { Deliveries, RequestCard } from './parts/related.js';
import { Steps } from './parts/steps.js';
import { Timeline } from './parts/timeline.js';
import { deleteWithUndo } from './parts/undo.js';

/**
 * @typedef {object} CapturedDetail
 * @property {[string, string][]} headers
 * @property {string | null} text
 * @property {boolean} html
 * @property {string | null} [html_source]
 * @property {{ index: number, filename: string | null, content_type: string, size: number, content_id: string | null }[]} attachments
 * @property {string[]} [links] the links of the text
 * @property {string | null} [code] the first code of the text, such as a sign-in code
 * @property {{ route: string, hosts: string[] } | null} would_go_to `hosts` are the domains of the recipients
 * @property {string | null} released_at
 */
/** @typedef {import('./captured.js').CapturedRow & CapturedDetail} Captured */

/** @param {{ params: { id: string } }} props */
export function CapturedOnePage({ params: { id } }) {
  const loaded = /** @type {import('../lib/load.js').Loaded<Captured>} */ (useLoad(`/captured/${id}`));
  if (loaded.error && !loaded.data) return pageFailed('Captured email', loaded.error, loaded.reload);
  if (!loaded.data) return pageWaiting('Captured email');
  return h(Whole, { key: id, message: loaded.data, reload: loaded.reload });
}

/** @param {string} route */
function routeName(route) {
  return route === 'direct' ? 'direct delivery' : `the smarthost ${route}`;
}

/** The code and the first link of a message: the parts that a test or a sign-in needs. @param {Captured} message */
function found({ code, links = [] }) {
  const first = links[0];
  if (!code && !first) return null;
  return t.div({ class: 'card fix' }, code && t.div({ class: 'row' }, t.span({ class: 't3' }, 'Code'), t.b({ class: 'mono' }, code), h(Copy, { text: code, label: 'Copy the code' })),
    first && t.div({ class: 'row grow' }, t.span({ class: 't3 nowrap' }, links.length > 1 ? `First of ${links.length} links` : 'Link'), t.a({ class: 'link trunc', href: first, target: '_blank', rel: 'noreferrer noopener' }, first), h(Copy, { text: first, label: 'Copy the link' })));
}

/** The timeline, the request and the webhook deliveries of the email. Nothing if it is deleted. @param {{ id: string }} props */
function Origin({ id }) {
  const { email, attempts, request } = useEmail(id);
  const { nameOf } = useKeyNames(Boolean(request.data));
  if (!email.data || attempts.pending || request.pending) return null;
  return fragment(
    h(Timeline, { email: email.data, attempts: attempts.data?.data ?? [], waiting: attempts.data?.waiting ?? [] }),
    request.data && h(RequestCard, { log: request.data, keyName: nameOf(request.data.api_key_id) }),
    h(Deliveries, { id }));
}

/** @param {{ message: Captured, reload: () => Promise<void> }} props */
function Whole({ message, reload }) {
  useTitle(message.subject);
  const path = `/captured/${message.id}`;
  const removal = () => {
    deleteWithUndo('Deleted the captured email', '/captured', [message.id], () => navigate(path));
    navigate('/captured', { replace: true });
  };
  const release = useDialog((close) => h(Dialog, { title: 'Deliver this email for real?', action: 'Release email', onClose: close, submit: async () => {
    await api.post(`${path}/release`);
    close();
    await reload();
    toast('Released: the email is queued');
  } }, t.p(null, `Ringmail sends it to ${message.to.join(', ')}`, message.would_go_to && ` by ${routeName(message.would_go_to.route)}`, '. This cannot be undone.')));
  const cannot = message.released_at ? 'It was released already.' : me.value?.release === null ? 'No route is set: start the server with --release.' : false;
  const fact = (/** @type {string} */ name, /** @type {import('../lib/h.js').Children} */ value) => t.div({ key: name }, t.dt(null, name), t.dd(null, value));
  const goal = message.would_go_to;
  return fragment(
    t.div({ class: 'crumb' }, link({ to: '/captured' }, 'Captured'), icon('right', 'i-sm'), t.span({ class: 'trunc' }, t.bdi(null, message.subject || '(no subject)')), h(Steps, { path: '/captured', id: message.id })),
    t.div({ class: 'page-head page-head-long' },
      t.div({ class: 'grow' }, t.h1({ class: 'wrap-any' }, t.bdi(null, message.subject || '(no subject)')),
        t.div({ class: 'head-meta' }, capturedPill(message), h(Id, { id: message.id }), t.span(null, h(Time, { at: message.received_at })))),
      t.div({ class: 'actions' },
        message.email_id && link({ class: 'btn', to: `/emails/${message.email_id}` }, 'Open email'),
        allows('member') && h(Button, { kind: 'primary', onClick: release.open, disabled: cannot }, 'Release…'),
        h(Menu, { class: 'btn btn-icon', label: 'More actions', button: icon('more'), end: true, children: [
          t.a({ key: 'eml', href: apiUrl(`${path}/raw`), download: `${message.id}.eml` }, icon('download'), 'Download .eml'),
          allows('member') && menuItem('trash', 'Delete', removal, { danger: true }),
        ] }))),
    message.released_at && t.div({ class: 'verdict' }, note('green', t.p(null, 'Released ', h(Time, { at: message.released_at }), ': it was sent to its recipients.'))),
    t.div({ class: 'card facts-bar' }, t.dl({ class: 'facts facts-grid' },
      fact('From', t.bdi(null, message.from)), fact('To', message.to.join(', ')),
      fact('Would have gone to', goal ? `${goal.hosts.slice(0, 2).join(', ')}${goal.hosts.length > 2 ? ` and ${goal.hosts.length - 2} more` : ''}, by ${routeName(goal.route)}` : t.span({ class: 't3' }, 'unknown')),
      fact('Size', `${bytes(message.size)}${message.attachments.length > 0 ? `, ${plural(message.attachments.length, 'attachment')}` : ''}`))),
    found(message),
    h(Content, { path, hasHtml: message.html, text: message.text, html: message.html_source ?? null, headers: message.headers,
      attachments: message.attachments.map((one) => ({ ...one, id: String(one.index), filename: one.filename ?? `part-${one.index}`, href: apiUrl(`${path}/parts/${one.index}`) })) }),
    message.email_id && h(Origin, { id: message.email_id }),
    release.view);
}
