// A test email, sent from the page.
import { h, useState } from '../../vendor/preact.js';
import { api } from '../../lib/api.js';
import { link, navigate } from '../../lib/router.js';
import { me } from '../../lib/state.js';
import { TextField } from '../../components/field.js';
import { Dialog } from '../../components/dialog.js';
import { toast } from '../../components/toast.js';
import { useDomains } from './domains.js';

/** @param {{ onClose: () => void }} props */
export function TestEmail({ onClose }) {
  const captured = me.value?.delivery === 'capture';
  const { domains, verified } = useDomains();
  const [typed, setFrom] = useState(/** @type {string | null} */ (null));
  const from = typed ?? (verified ? `hello@${verified}` : '');
  const [to, setTo] = useState(me.value?.user?.email ?? 'you@example.com');
  const [subject, setSubject] = useState('Hello');
  const submit = async () => {
    const { id } = await api.post('/emails', { from, to: [to], subject, text: 'It works.', html: '<h1>It works.</h1><p>This email was sent from the dashboard.</p>' });
    onClose();
    toast(captured ? 'The email is captured' : 'The email is queued');
    navigate(`/emails/${id}`);
  };
  return h(Dialog, { title: 'Send a test email', action: 'Send email', fields: true, onClose, submit },
    h(TextField, { label: 'From', value: from, onInput: setFrom, type: 'email', hint: domains && !verified ? ['No domain is verified yet: see ', link({ class: 'link', to: '/domains' }, 'Domains'), '.'] : 'An address of a verified domain.' }),
    h(TextField, { label: 'To', value: to, onInput: setTo, type: 'email', hint: captured ? 'It is kept in the built-in mailbox.' : undefined }),
    h(TextField, { label: 'Subject', value: subject, onInput: setSubject, spellcheck: true }));
}
