// Adding and removing: the dialogs of the suppression list.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { ApiError, api } from '../../lib/api.js';
import { forget } from '../../lib/load.js';
import { plural } from '../../lib/time.js';
import { Dialog } from '../../components/dialog.js';
import { note } from '../../components/empty.js';
import { Radio, TextArea } from '../../components/field.js';
import { toast } from '../../components/toast.js';
import { REASONS, addressesIn, isAddress } from './text.js';

/** @typedef {import('./text.js').Suppression} Suppression */

/** Addresses in one request. */
const BATCH_MAX = 1000;

/** @param {{ onClose: () => void, done: () => void, start?: string }} props */
export function AddAddresses({ onClose, done, start = '' }) {
  const [text, setText] = useState(start);
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const submit = async () => {
    const emails = addressesIn(text);
    const wrong = emails.find((one) => !isAddress(one.replace(/^.*<([^<>]*)>$/, '$1')));
    if (emails.length === 0) { setError('Enter at least one address.'); return; }
    if (wrong) { setError(`“${wrong.slice(0, 80)}” is no address.`); return; }
    if (emails.length > BATCH_MAX) { setError(`At most ${BATCH_MAX} addresses at once; these are ${emails.length}.`); return; }
    await api.post('/suppressions/batch/add', { emails });
    forget('/suppressions');
    onClose();
    done();
    toast(emails.length === 1 ? `Suppressed ${emails[0]}` : `Suppressed ${plural(emails.length, 'address', 'addresses')}`);
  };
  return h(Dialog, { title: 'Suppress addresses', action: 'Suppress addresses', fields: true, onClose, submit },
    t.p(null, 'Nothing is sent to these addresses until somebody removes them.'),
    h(TextArea, { label: 'Addresses', value: text, rows: 6, placeholder: 'ada@example.net', onInput: (/** @type {string} */ next) => { setText(next); setError(null); }, error, hint: 'One a line, or separated by commas. Addresses that are listed already stay as they are.' }));
}

/** @param {{ rows: Suppression[], onClose: () => void, done: () => void }} props */
export function RemoveAddresses({ rows, onClose, done }) {
  const origins = [...new Set(rows.map((row) => row.origin))];
  const complaint = origins.includes('complaint');
  // After a complaint, only a request of the recipient is a reason.
  const reasons = complaint ? REASONS.complaint : REASONS[origins[0] ?? 'manual'];
  const [reason, setReason] = useState('');
  const one = rows.length === 1 ? rows[0] : null;
  const submit = async () => {
    if (!reason) throw new ApiError(0, 'missing', 'Choose the reason first.', null);
    if (one) await api.del(`/suppressions/${one.id}`); else await api.post('/suppressions/batch/remove', { ids: rows.map((row) => row.id) });
    forget('/suppressions');
    onClose();
    done();
    toast(one ? `Removed ${one.email}` : `Removed ${plural(rows.length, 'address', 'addresses')}`);
  };
  return h(Dialog, { title: one ? `Remove ${one.email}?` : `Remove ${plural(rows.length, 'address', 'addresses')}?`, action: one ? 'Remove address' : 'Remove addresses', danger: true, fields: true, onClose, submit },
    complaint && note('amber', t.p(null, one ? 'The recipient reported an email as spam.' : 'Some recipients reported an email as spam.', ' Write again only if they asked for it themselves.')),
    t.fieldset({ class: 'stack-xs' }, t.legend({ class: 'label' }, 'Why may emails be sent to it again?'),
      reasons.map(([value, label]) => h(Radio, { key: value, name: 'reason', label, checked: reason === value, onChange: () => setReason(value) }))),
    t.p({ class: 'meta' }, 'An opt-out of the recipient stays: then the entry remains as unsubscribed.'));
}
