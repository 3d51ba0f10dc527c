// An email that did not arrive: send it to the right address, and find its address on the suppression list.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { addressOf, isSimulated, likelyAddress } from '../../lib/address.js';
import { api } from '../../lib/api.js';
import { useLoad } from '../../lib/load.js';
import { link, navigate } from '../../lib/router.js';
import { Button } from '../../components/button.js';
import { Dialog, useDialog } from '../../components/dialog.js';
import { TextField } from '../../components/field.js';
import { toast } from '../../components/toast.js';

/** @typedef {import('../../lib/outcome.js').Email} Email */

/** Whether the email has one recipient, who did not get it. @param {Email} email */
export function isRefused(email) {
  return email.recipients.length === 1 && ['bounced', 'suppressed'].includes(email.last_event) && !email.to.every(isSimulated);
}

/**
 * Asks whether the address is right, after a bounce, or if the address is on the suppression list because of one. If the
 * server does not name the reason, the card is shown. A complaint or an opt-out proves that the address is right.
 * @param {{ email: Email, removed: boolean }} props
 */
export function CorrectCard({ email, removed }) {
  const isSuppressed = email.last_event === 'suppressed';
  const entry = /** @type {import('../../lib/load.js').Loaded<import('../../types/api.d.ts').Suppression>} */ (useLoad(isSuppressed ? `/suppressions/${encodeURIComponent(addressOf(email.to[0] ?? '').toLowerCase())}` : null));
  const dialog = useDialog((close) => h(Correct, { email, onClose: close }));
  const address = addressOf(email.to[0] ?? ''), likely = likelyAddress(address);
  if (isSuppressed && (entry.data ? entry.data.origin !== 'bounce' : !entry.error || entry.error.status === 404)) return null;
  return t.div({ class: 'card fix' },
    t.div({ class: 'grow' }, t.h2(null, likely ? `Did you mean ${likely.slice(likely.lastIndexOf('@') + 1)}?` : 'Is the address right?'),
      t.p(null, likely ? `${address} is close to ${likely}.` : 'If it was mistyped, correct it, and the same email is sent to the other address.')),
    t.div({ class: 'actions' }, link({ class: 'btn', to: `/suppressions?q=${encodeURIComponent(address)}` }, 'See the suppression'),
      h(Button, { kind: 'primary', onClick: dialog.open, disabled: removed && 'The content was removed by retention.' }, 'Correct and send again…')), dialog.view);
}

/** Sends the content of an email to another address, as a new email. @param {{ email: Email, onClose: () => void }} props */
export function Correct({ email, onClose }) {
  const address = addressOf(email.to[0] ?? '');
  const [to, setTo] = useState(isRefused(email) ? likelyAddress(address) ?? address : '');
  const [wrong, setWrong] = useState(/** @type {string | null} */ (null));
  const submit = async () => {
    const mistake = !to.trim() ? 'Enter an address.' : isRefused(email) && addressOf(to).toLowerCase() === address.toLowerCase() ? 'This is the address that did not get it. Correct it first.' : null;
    setWrong(mistake);
    if (mistake) return;
    const files = [];
    for (const one of email.attachments) files.push({ filename: one.filename, content: (await api.get(`/emails/${email.id}/attachments/${one.id}`)).content });
    const { id } = await api.post('/emails', {
      from: email.from, to: [to.trim()], reply_to: email.reply_to ?? undefined, subject: email.subject, html: email.html ?? undefined, text: email.text ?? undefined,
      tags: email.tags.length > 0 ? email.tags : undefined, topic_id: email.topic_id ?? undefined, attachments: files.length > 0 ? files : undefined,
    });
    onClose();
    toast('Sent, as a new email');
    navigate(`/emails/${id}`);
  };
  return h(Dialog, { title: 'Send to another address', action: 'Send email', fields: true, onClose, submit },
    h(TextField, { label: 'To', type: 'email', value: to, onInput: (/** @type {string} */ next) => { setTo(next); setWrong(null); }, error: wrong, hint: 'The same sender, subject and content. Carbon copies are left out.' }));
}
