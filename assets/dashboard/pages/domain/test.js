// A test email from a domain, to yourself: the last step of the wizard.
import { h, useState } from '../../vendor/preact.js';
import { api } from '../../lib/api.js';
import { navigate } from '../../lib/router.js';
import { me } from '../../lib/state.js';
import { Dialog } from '../../components/dialog.js';
import { TextField } from '../../components/field.js';
import { toast } from '../../components/toast.js';

/** @param {{ domain: string, onClose: () => void }} props */
export function SendTest({ domain, onClose }) {
  const [from, setFrom] = useState(`hello@${domain}`);
  const [to, setTo] = useState(me.value?.user?.email ?? '');
  const [missing, setMissing] = useState(false);
  const submit = async () => {
    setMissing(!to.trim());
    if (!to.trim()) return;
    const { id } = await api.post('/emails', { from, to: [to.trim()], subject: `A test from ${domain}`, text: `${domain} can send emails.` });
    onClose();
    toast('The email is queued');
    navigate(`/emails/${id}`);
  };
  return h(Dialog, { title: `Send a test from ${domain}`, action: 'Send email', fields: true, onClose, submit },
    h(TextField, { label: 'From', type: 'email', value: from, onInput: setFrom }),
    h(TextField, { label: 'To', type: 'email', value: to, onInput: setTo, error: missing ? 'Enter your own address.' : null, hint: 'The page of the email shows how its server took it.' }));
}
