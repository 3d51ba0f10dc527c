// One webhook endpoint: its deliveries, and its secret.
import { h, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { ApiError, api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { forget, useLoad } from '../lib/load.js';
import { link, navigate, query, setQuery, useTitle } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { askStatus } from '../lib/status.js';
import { Button } from '../components/button.js';
import { Copy } from '../components/copy.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { note, pageFailed, pageWaiting } from '../components/empty.js';
import { Id } from '../components/id.js';
import { Menu, menuItem } from '../components/menu.js';
import { pill } from '../components/pill.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { useAsApi } from './parts/view-as-api.js';
import { EditEndpoint, RotateSecret, TestEvent } from './webhook/change.js';
import { Deliveries } from './webhook/deliveries.js';
import { DeliveryDrawer } from './webhook/delivery.js';
import { ALL, eventsInWords, shortUrl } from './webhook/events.js';

/** @typedef {import('./webhook/change.js').Endpoint} Endpoint */

/** @param {{ params: { id: string } }} props */
export function WebhookPage({ params: { id } }) {
  // The answer for one endpoint has its secret, so roles below admin read the endpoint from the list.
  const whole = allows('admin');
  const one = /** @type {import('../lib/load.js').Loaded<Endpoint>} */ (useLoad(whole ? `/webhooks/${id}` : null));
  const list = /** @type {import('../lib/load.js').Loaded<{ data: Endpoint[] }>} */ (useLoad(whole ? null : '/webhooks', { limit: 100 }));
  const loaded = whole ? one : list;
  const webhook = whole ? one.data : list.data?.data.find((row) => row.id === id) ?? null;
  if (loaded.error && !webhook) return pageFailed('Endpoint', loaded.error, loaded.reload);
  if (!webhook && list.data) return pageFailed('Endpoint', new ApiError(404, 'not_found', '', null), loaded.reload);
  if (!webhook) return pageWaiting('Endpoint');
  return h(Whole, { webhook, reload: loaded.reload });
}

/** @param {{ webhook: Endpoint, reload: () => Promise<void> }} props */
function Whole({ webhook, reload }) {
  useTitle(shortUrl(webhook.endpoint));
  const [changes, setChanges] = useState(0);
  const changed = () => setChanges((n) => n + 1);
  const enabled = webhook.status === 'enabled', delivery = query.value.delivery;
  const enable = async () => {
    await api.patch(`/webhooks/${webhook.id}`, { status: 'enabled' });
    forget('/webhooks');
    void askStatus();
    await reload();
    toast('The endpoint receives events again');
  };
  return fragment(
    t.div({ class: 'crumb' }, link({ to: '/webhooks' }, 'Webhooks'), icon('right', 'i-sm'), t.span({ class: 'trunc' }, shortUrl(webhook.endpoint))),
    t.div({ class: 'page-head page-head-long' },
      t.div({ class: 'grow' }, t.h1({ class: 'wrap-any' }, shortUrl(webhook.endpoint)),
        t.div({ class: 'head-meta' }, enabled ? pill('Enabled', { tone: 'green' }) : pill('Disabled', { tone: 'red', fill: true }), h(Id, { id: webhook.id }), t.span(null, 'added ', h(Time, { at: webhook.created_at })))),
      h(Actions, { webhook, reload })),
    !enabled && t.div({ class: 'verdict' }, t.div({ class: 'note note-red' }, icon('stop'),
      t.div({ class: 'grow' }, t.p(null, t.b(null, 'This endpoint is disabled: no event is posted to it. '), webhook.disabled_by === 'team' ? 'Your team disabled it. Events that happen meanwhile are not posted later.' : 'Ringmail disables an endpoint after twenty failed deliveries in a row. Repair it, enable it, then replay the failed events.')),
      allows('admin') && h(Button, { size: 'sm', onClick: enable }, 'Enable again'))),
    t.div({ class: 'cols' }, h(Deliveries, { key: changes, webhook }), t.div({ class: 'stack' }, h(Secret, { webhook, reload }), h(Events, { webhook }))),
    delivery && h(DeliveryDrawer, { key: delivery, webhook: webhook.id, endpoint: webhook.endpoint, enabled, id: delivery, changed, onClose: () => setQuery({ delivery: null }, { replace: true }) }));
}

/** @param {{ webhook: Endpoint, reload: () => Promise<void> }} props */
function Actions({ webhook, reload }) {
  const enabled = webhook.status === 'enabled';
  const asApi = useAsApi(`/webhooks/${webhook.id}`);
  const edit = useDialog((close) => h(EditEndpoint, { webhook, onClose: close, done: reload }));
  const test = useDialog((close) => h(TestEvent, { webhook, onClose: close, sent: (/** @type {string} */ id) => setQuery({ delivery: id }) }));
  const disable = useDialog((close) => h(Dialog, { title: 'Disable the endpoint?', action: 'Disable endpoint', danger: true, onClose: close, submit: async () => {
    await api.patch(`/webhooks/${webhook.id}`, { status: 'disabled' });
    forget('/webhooks');
    close();
    await reload();
    toast('Disabled the endpoint');
  } }, t.p(null, 'Events that happen meanwhile are not posted to it, also not later.')));
  const removal = useDialog((close) => h(Dialog, { title: 'Delete the endpoint?', action: 'Delete endpoint', danger: true, onClose: close, submit: async () => {
    await api.del(`/webhooks/${webhook.id}`);
    forget('/webhooks');
    void askStatus();
    close();
    toast('Deleted the endpoint');
    navigate('/webhooks', { replace: true });
  } }, t.p(null, `Nothing more is posted to ${webhook.endpoint}, and its deliveries are deleted. This cannot be undone.`)));
  if (!allows('admin')) return null;
  return t.div({ class: 'actions' },
    h(Button, { icon: 'send', onClick: test.open, disabled: !enabled && 'Enable the endpoint first.' }, 'Send test…'),
    h(Menu, { class: 'btn btn-icon', label: 'More actions', button: icon('more'), end: true, children: [
      menuItem('settings', 'Change…', edit.open), menuItem('code', 'View as API', asApi.open),
      t.hr({ key: 'line' }), enabled && menuItem('pause', 'Disable…', disable.open), menuItem('trash', 'Delete…', removal.open, { danger: true }),
    ] }), asApi.view, edit.view, test.view, disable.view, removal.view);
}

/** @param {{ webhook: Endpoint, reload: () => Promise<void> }} props */
function Secret({ webhook, reload }) {
  const [shown, setShown] = useState(false);
  const rotate = useDialog((close) => h(RotateSecret, { webhook, onClose: close, done: reload }));
  const secret = webhook.signing_secret;
  if (!secret) return null;
  return t.section({ class: 'card', 'aria-labelledby': 'h-secret' }, t.header(null, t.h2({ id: 'h-secret' }, 'Signing secret')),
    t.div({ class: 'pad stack-sm' },
      t.div({ class: 'token' }, t.code({ class: shown ? undefined : 'trunc' }, shown ? secret : `whsec_${'•'.repeat(20)}`), h(Copy, { text: secret, label: 'Copy the signing secret' })),
      webhook.previous_secret_expires_at ? note('amber', t.p(null, 'Two secrets sign. The previous one ends ', h(Time, { at: webhook.previous_secret_expires_at }), '.')) : t.p(null, 'With it your program checks that a request comes from here.'),
      t.div({ class: 'actions' }, h(Button, { size: 'sm', onClick: () => setShown(!shown) }, shown ? 'Hide secret' : 'Show secret'), h(Button, { size: 'sm', kind: 'ghost', onClick: rotate.open }, 'Rotate secret…'))), rotate.view);
}

/** @param {{ webhook: Endpoint }} props */
function Events({ webhook }) {
  const events = webhook.events ?? ALL;
  return t.section({ class: 'card', 'aria-labelledby': 'h-events' }, t.header(null, t.h2({ id: 'h-events' }, 'Events'), t.span({ class: 'meta push-r' }, eventsInWords(webhook.events) === 'All events' ? 'all' : String(events.length))),
    t.ul({ class: 'pad tags' }, events.map((type) => t.li({ key: type, class: 'tag' }, type))));
}
