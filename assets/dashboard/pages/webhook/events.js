// The types of events that an endpoint can subscribe to, and the fields that choose them.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { icon } from '../../lib/icons.js';
import { Checkbox, Radio, TextField } from '../../components/field.js';

/** @typedef {import('../../types/api.d.ts').CreateWebhookRequest['events'][number]} EventType */

/** Types by group. @type {[string, EventType[]][]} */
const GROUPS = [
  ['Emails', ['email.scheduled', 'email.sent', 'email.delivered', 'email.delivery_delayed', 'email.bounced', 'email.complained', 'email.opened', 'email.clicked', 'email.prefetched', 'email.failed']],
  ['Contacts', ['contact.created', 'contact.updated', 'contact.deleted', 'contact.unsubscribed', 'contact.resubscribed', 'contact.topic_opt_in', 'contact.topic_opt_out']],
  ['Suppressions', ['suppression.added', 'suppression.removed']],
  ['Deliverability', ['deliverability.warning', 'deliverability.paused']],
  ['Limits', ['quota.warning', 'quota.reached', 'quota.paused']],
];

/** The types of an endpoint without a choice: all but `email.prefetched`. */
export const ALL = GROUPS.flatMap(([, types]) => types).filter((type) => type !== 'email.prefetched');

/** The types as words: `All events`, `3 events`. @param {string[] | null} events */
export function eventsInWords(events) {
  if (events === null || ALL.every((type) => events.includes(type))) return 'All events';
  return events.length <= 2 ? events.join(', ') : `${events[0]} and ${events.length - 1} more`;
}

/** The URL without its protocol. @param {string} url */
export function shortUrl(url) {
  return url.replace(/^https:\/\//, '');
}

/** The problem of an endpoint's URL; null if it is valid. @param {string} url */
export function urlError(url) {
  if (!url.trim()) return 'Enter the URL that receives the events.';
  if (!/^https?:\/\/[^\s/]+/.test(url.trim())) return 'The URL begins with https:// and names a host.';
  return null;
}

/**
 * @param {{ url: string, setUrl: (url: string) => void, error: string | null, events: Set<string>, setEvents: (events: Set<string>) => void }} props
 */
export function EndpointFields({ url, setUrl, error, events, setEvents }) {
  const all = ALL.every((type) => events.has(type)) && events.size === ALL.length;
  const toggle = (/** @type {string} */ type, /** @type {boolean} */ on) => {
    const next = new Set(events);
    if (on) next.add(type); else next.delete(type);
    setEvents(next);
  };
  return [
    h(TextField, { key: 'url', label: 'Endpoint', type: 'url', value: url, onInput: setUrl, placeholder: 'https://api.example.com/hooks/ringmail', autofocus: true, error, hint: 'Each event is posted to it as JSON, with a signature.' }),
    t.fieldset({ key: 'events', class: 'stack-xs' }, t.legend({ class: 'label' }, 'Events'),
      h(Radio, { name: 'events', label: 'All events', checked: all, onChange: () => setEvents(new Set(ALL)) }),
      h(Radio, { name: 'events', label: 'Some events', checked: !all, onChange: () => setEvents(new Set(['email.delivered', 'email.bounced', 'email.complained'])) }),
      events.size === 0 && t.p({ class: 'error-line' }, icon('stop', 'i-sm'), 'Choose at least one event.'),
      !all && t.div({ class: 'pick' }, GROUPS.map(([name, types]) => t.fieldset({ key: name, class: 'stack-xs' }, t.legend({ class: 'meta' }, name),
        types.map((type) => h(Checkbox, { key: type, label: type, checked: events.has(type), onChange: (/** @type {boolean} */ on) => toggle(type, on) })))))),
  ];
}
