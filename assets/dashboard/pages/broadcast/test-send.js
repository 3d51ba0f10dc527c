// A test of a broadcast, to a few addresses. It is not counted.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { api } from '../../lib/api.js';
import { me } from '../../lib/state.js';
import { TextField } from '../../components/field.js';
import { Dialog } from '../../components/dialog.js';
import { toast } from '../../components/toast.js';
import { addressesOf } from './settings.js';

/** @param {{ id: string, contact: string, onClose: () => void }} props `contact` is that of the preview */
export function TestSend({ id, contact, onClose }) {
  const isCaptured = me.value?.delivery === 'capture';
  const [to, setTo] = useState(me.value?.user?.email ?? 'you@example.com');
  const submit = async () => {
    await api.post(`/broadcasts/${id}/test`, { to: addressesOf(to), ...(contact ? { contact } : {}) });
    onClose();
    toast(isCaptured ? 'The test is captured' : 'The test is queued');
  };
  return h(Dialog, { title: 'Send a test', action: 'Send test', fields: true, onClose, submit },
    t.p(null, 'The test has the values of the contact in the preview, and “[Test]” in its subject.'),
    h(TextField, { label: 'To', value: to, onInput: setTo, hint: isCaptured ? 'Up to 10 addresses. The built-in mailbox keeps the email.' : 'Up to 10 addresses, separated by commas.' }));
}
