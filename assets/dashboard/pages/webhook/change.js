// The dialogs of an endpoint: create, edit, test, rotate the secret.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { api } from '../../lib/api.js';
import { forget } from '../../lib/load.js';
import { navigate } from '../../lib/router.js';
import { Dialog } from '../../components/dialog.js';
import { SelectField } from '../../components/field.js';
import { toast } from '../../components/toast.js';
import { ALL, EndpointFields, urlError } from './events.js';

/** @typedef {import('../../types/api.d.ts').Webhook} Webhook */
/** @typedef {Webhook & Partial<Pick<import('../../types/api.d.ts').WebhookWithSecret, 'signing_secret' | 'previous_secret_expires_at'>> & { disabled_by?: 'team' | 'failures' | null }} Endpoint */

/** Creates an endpoint, or changes the given one. @param {{ webhook?: Endpoint, onClose: () => void, done?: () => Promise<void> }} props */
export function EditEndpoint({ webhook, onClose, done }) {
  const [url, setUrl] = useState(webhook?.endpoint ?? '');
  const [events, setEvents] = useState(new Set(/** @type {string[]} */ (webhook?.events ?? ALL)));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const submit = async () => {
    const wrong = urlError(url);
    setError(wrong);
    if (wrong || events.size === 0) return;
    const body = { endpoint: url.trim(), events: [...events] };
    if (webhook) {
      await api.patch(`/webhooks/${webhook.id}`, body);
      forget('/webhooks');
      onClose();
      await done?.();
      toast('Changed the endpoint');
      return;
    }
    const { id } = await api.post('/webhooks', body);
    forget('/webhooks');
    toast('Added the endpoint');
    navigate(`/webhooks/${id}`, { replace: true });
  };
  return h(Dialog, { title: webhook ? 'Change the endpoint' : 'Add an endpoint', action: webhook ? 'Save endpoint' : 'Add endpoint', fields: true, onClose, submit },
    h(EndpointFields, { url, setUrl: (/** @type {string} */ next) => { setUrl(next); setError(null); }, error, events, setEvents }));
}

/** @param {{ webhook: Endpoint, onClose: () => void, sent: (id: string) => void }} props */
export function TestEvent({ webhook, onClose, sent }) {
  const types = webhook.events ?? ALL;
  const [type, setType] = useState(types.includes('email.delivered') ? 'email.delivered' : types[0] ?? 'email.delivered');
  return h(Dialog, { title: 'Send a test event', action: 'Send event', fields: true, onClose, submit: async () => {
    const { id } = /** @type {import('../../types/api.d.ts').WebhookTest} */ (await api.post(`/webhooks/${webhook.id}/test`, { type }));
    onClose();
    sent(id);
  } }, h(SelectField, { label: 'Event', value: type, onInput: setType, options: types, hint: 'It has sample values, and a signature as a real one.' }));
}

/** @param {{ webhook: Endpoint, onClose: () => void, done: () => Promise<void> }} props */
export function RotateSecret({ webhook, onClose, done }) {
  const [hours, setHours] = useState('24');
  return h(Dialog, { title: 'Rotate the signing secret', action: 'Rotate secret', fields: true, onClose, submit: async () => {
    await api.post(`/webhooks/${webhook.id}/rotate-secret`, { overlap_hours: Number(hours) });
    forget('/webhooks');
    onClose();
    await done();
    toast('The new secret signs from now on');
  } },
  t.p(null, 'Ringmail makes a new secret. During the overlap each request has two signatures, so that your program may know either.'),
  h(SelectField, { label: 'Both sign for', value: hours, onInput: setHours, options: [['1', '1 hour'], ['24', '24 hours'], ['72', '72 hours'], ['0', 'No time: the old one ends at once']] }));
}
