// The preview of a broadcast for one contact: its line in the inbox, and the message.
import { h, useEffect, useState } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { addressOf } from '../../lib/address.js';
import { api } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { useLoad } from '../../lib/load.js';
import { bytes as sizeOf } from '../../lib/time.js';
import { Modal } from '../../components/dialog.js';
import { Preview } from '../parts/content.js';

/** Contacts that the preview offers. */
const CONTACTS = 20;

/**
 * @param {{ id: string, contact: string, setContact: (contact: string) => void, version: number, bytes: { html_bytes: number, html_bytes_max: number } | null }} props
 *   `contact` is empty for the sample, `none`, or an id; another `version` loads the preview again
 */
export function PreviewColumn({ id, contact, setContact, version, bytes }) {
  const contacts = /** @type {import('../../lib/load.js').Loaded<{ data: { id: string, email: string }[] }>} */ (useLoad('/contacts', { limit: CONTACTS }));
  const [line, setLine] = useState(/** @type {import('../../types/broadcasts.d.ts').BroadcastRendered | null} */ (null));
  useEffect(() => {
    const abort = new AbortController();
    api.get(`/broadcasts/${id}/rendered`, { contact }, abort.signal).then(setLine, () => { /* The frame shows the error. */ });
    return () => abort.abort();
  }, [id, contact, version]);
  const name = line ? line.from.replace(/<[^<>]*>\s*$/, '').trim().replace(/^"|"$/g, '') || addressOf(line.from) : '';
  return fragment(
    t.div({ class: 'inbox' }, t.span({ class: 'avatar', 'aria-hidden': 'true' }, (name[0] ?? '').toUpperCase()),
      t.div(null, t.p({ class: 'trunc' }, t.b(null, name || ' ')), t.p({ class: 'trunc t1' }, t.bdi(null, line?.subject || ' ')), t.p({ class: 'trunc t3' }, t.bdi(null, line?.preview_text || ' ')))),
    h(Preview, { path: `/broadcasts/${id}`, query: { contact, v: version } }),
    t.div({ class: 'c-foot meta' },
      t.label({ class: 'row c-as' }, 'Shown as', t.select({ class: 'select select-sm', onChange: (event) => setContact(event.currentTarget.value) },
        [['', 'a sample: Ada Lovelace'], ['none', 'a contact without a name'], ...(contacts.data?.data ?? []).map((one) => [one.id, one.email])].map(([value, text]) => t.option({ key: value, value, selected: value === contact }, text)))),
      bytes && t.span({ class: bytes.html_bytes > bytes.html_bytes_max ? 'amber' : undefined }, `${sizeOf(bytes.html_bytes)} of ${sizeOf(bytes.html_bytes_max)} until Gmail clips`)));
}

/** The content that a broadcast is sent with. @param {{ id: string, onClose: () => void }} props */
export function ContentOf({ id, onClose }) {
  const [contact, setContact] = useState('');
  return h(Modal, { label: 'Content', class: 'drawer drawer-wide', onClose },
    t.header(null, t.h2(null, 'Content'), t.button({ type: 'button', class: 'btn btn-ghost btn-icon btn-sm', 'aria-label': 'Close', title: 'Close', 'data-safe': '', onClick: onClose }, icon('x'))),
    t.div({ class: 'c-prev' }, h(PreviewColumn, { id, contact, setContact, version: 0, bytes: null })));
}
