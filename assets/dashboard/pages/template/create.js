// A new template. Its content is written in the editor.
import { h, useState } from '../../vendor/preact.js';
import { api } from '../../lib/api.js';
import { navigate } from '../../lib/router.js';
import { TextField } from '../../components/field.js';
import { Dialog } from '../../components/dialog.js';

/** Content of a new template. */
const START = '<!doctype html>\n<html lang="en">\n<body style="margin:0;padding:24px;font-family:sans-serif">\n<h1>Hello {{{NAME|there}}}</h1>\n<p>Write your message here.</p>\n</body>\n</html>\n';

/** @param {{ onClose: () => void }} props */
export function CreateTemplate({ onClose }) {
  const [name, setName] = useState(''), [alias, setAlias] = useState('');
  const submit = async () => {
    const { id } = await api.post('/templates', { name, html: START, ...(alias ? { alias } : {}) });
    navigate(`/templates/${id}`);
  };
  return h(Dialog, { title: 'Create a template', action: 'Create template', fields: true, onClose, submit },
    h(TextField, { label: 'Name', value: name, onInput: setName }),
    h(TextField, { label: 'Alias', value: alias, onInput: setAlias, placeholder: 'order-confirmation', hint: 'A program can use it in place of the id. It can stay empty.' }));
}
