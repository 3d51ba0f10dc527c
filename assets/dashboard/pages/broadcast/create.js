// A new draft. Everything else is set in the composer.
import { h, useState } from '../../vendor/preact.js';
import { api } from '../../lib/api.js';
import { useLoad } from '../../lib/load.js';
import { navigate } from '../../lib/router.js';
import { SelectField, TextField } from '../../components/field.js';
import { Dialog } from '../../components/dialog.js';
import { useDomains } from '../parts/domains.js';
import { copyTemplate } from './content.js';

/** Content of a new broadcast, with the placeholder that every broadcast needs. */
const START = '# A heading\n\nHello {{{FIRST_NAME|there}}},\n\nWrite your message here.\n\n[Unsubscribe]({{{UNSUBSCRIBE_URL}}})\n';

/** @param {{ onClose: () => void }} props */
export function CreateBroadcast({ onClose }) {
  const [name, setName] = useState(''), [from, setFrom] = useState(''), [subject, setSubject] = useState(''), [template, setTemplate] = useState('');
  const templates = /** @type {import('../../lib/load.js').Loaded<{ data: import('../../types/api.d.ts').ListedTemplate[] }>} */ (useLoad('/templates', { limit: 100 }));
  const { verified } = useDomains();
  const submit = async () => {
    const { id } = await api.post('/broadcasts', { from, subject, ...(name ? { name } : {}) });
    if (template) await copyTemplate(id, template); else await api.put(`/broadcasts/${id}/content`, { source: START });
    navigate(`/broadcasts/${id}/edit`);
  };
  return h(Dialog, { title: 'Create a broadcast', action: 'Create draft', fields: true, onClose, submit },
    h(TextField, { label: 'From', value: from, onInput: setFrom, placeholder: `Acme <news@${verified ?? 'example.com'}>`, hint: 'An address of a verified domain, with or without a name.' }),
    h(TextField, { label: 'Subject', value: subject, onInput: setSubject, spellcheck: true }),
    h(TextField, { label: 'Name', value: name, onInput: setName, hint: 'For this list only. Without a name, the subject is shown.' }),
    (templates.data?.data.length ?? 0) > 0 && h(SelectField, { label: 'Start with', value: template, onInput: setTemplate, options: [['', 'An empty message'], ...(templates.data?.data ?? []).map((row) => /** @type {[string, string]} */ ([row.id, `A copy of ${row.name}`]))] }));
}
