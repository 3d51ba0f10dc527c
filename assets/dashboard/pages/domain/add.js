// The wizard's first step: the name of the domain. The page of the domain shows the next ones.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { api } from '../../lib/api.js';
import { forget } from '../../lib/load.js';
import { navigate } from '../../lib/router.js';
import { Dialog } from '../../components/dialog.js';
import { TextField } from '../../components/field.js';

/** @param {{ onClose: () => void }} props */
export function AddDomain({ onClose }) {
  const [name, setName] = useState('');
  const [path, setPath] = useState('send');
  const [missing, setMissing] = useState(false);
  const clean = name.trim().toLowerCase().replace(/^https?:\/\//, '').replace(/\/.*$/, '');
  const bare = clean.split('.').length === 2 && !clean.endsWith('.');
  const submit = async () => {
    setMissing(!clean);
    if (!clean) return;
    const { id } = await api.post('/domains', { name: clean, ...(path.trim() && path.trim() !== 'send' ? { custom_return_path: path.trim() } : {}) });
    forget('/domains');
    navigate(`/domains/${id}`, { replace: true });
  };
  return h(Dialog, { title: 'Add a domain', action: 'Add domain', fields: true, onClose, submit },
    t.p(null, 'Emails are sent from addresses of this domain. The next step shows the records to publish.'),
    h(TextField, { label: 'Domain', value: name, onInput: setName, placeholder: 'mail.example.com', autofocus: true, error: missing ? 'Enter the name of the domain, such as mail.example.com.' : null,
      hint: bare ? `A subdomain such as mail.${clean} keeps the reputation of ${clean} apart.` : 'A subdomain of your own domain is best.' }),
    t.details({ class: 'smtp' }, t.summary(null, 'More settings'),
      h(TextField, { label: 'Label of the bounce address', value: path, onInput: setPath, hint: `Bounces are received at ${path.trim() || 'send'}.${clean || 'mail.example.com'}.` })));
}
