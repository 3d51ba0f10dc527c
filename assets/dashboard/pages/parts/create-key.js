// A new API key: its permission, then its token, which is shown once.
import { h, useState } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { api } from '../../lib/api.js';
import { forget } from '../../lib/load.js';
import { me } from '../../lib/state.js';
import { Button } from '../../components/button.js';
import { Copy } from '../../components/copy.js';
import { Dialog, Modal } from '../../components/dialog.js';
import { note } from '../../components/empty.js';
import { Radio, SelectField, TextField } from '../../components/field.js';
import { useDomains } from './domains.js';
import { SdkTabs } from './sdk.js';

/** @typedef {import('../../types/api.d.ts').CreateApiKeyRequest} CreateApiKeyRequest */

/** @param {{ onClose: () => void, done: (token: string) => void }} props `done` is called when the list has a new key */
export function CreateKey({ onClose, done }) {
  const [name, setName] = useState('');
  const [permission, setPermission] = useState(/** @type {'sending_access' | 'full_access'} */ ('sending_access'));
  const [domain, setDomain] = useState('');
  const [missing, setMissing] = useState(false);
  const [token, setToken] = useState(/** @type {string | null} */ (null));
  const { domains = [] } = useDomains();
  if (token) return h(NewToken, { token, name, onClose });
  const submit = async () => {
    setMissing(!name.trim());
    if (!name.trim()) return;
    const request = /** @type {CreateApiKeyRequest} */ ({ name: name.trim(), permission, ...(permission === 'sending_access' && domain ? { domain_id: domain } : {}) });
    const made = /** @type {import('../../types/api.d.ts').CreateApiKeyResponse} */ (await api.post('/api-keys', request));
    forget('/api-keys');
    setToken(made.token);
    done(made.token);
  };
  const options = domains.map((one) => /** @type {[string, string]} */ ([one.id, one.name]));
  return h(Dialog, { title: 'Create an API key', action: 'Create API key', fields: true, onClose, submit },
    h(TextField, { label: 'Name', value: name, onInput: setName, placeholder: 'Production', autofocus: true, spellcheck: true, error: missing ? 'Enter a name: it says which program has the key.' : null }),
    t.fieldset({ class: 'stack-xs' }, t.legend({ class: 'label' }, 'Permission'),
      h(Radio, { name: 'permission', label: 'Sending', hint: 'It sends emails, and reads nothing else.', checked: permission === 'sending_access', onChange: () => setPermission('sending_access') }),
      h(Radio, { name: 'permission', label: 'Full access', hint: 'It reads and changes everything of the team.', checked: permission === 'full_access', onChange: () => setPermission('full_access') })),
    permission === 'sending_access' && h(SelectField, { label: 'Domain', value: domain, onInput: setDomain, options: [['', 'Every domain of the team'], ...options], hint: 'A key for one domain sends from its addresses alone.' }));
}

/** The token of a new key. It closes by its button alone, so that the token is not lost. @param {{ token: string, name: string, onClose: () => void }} props */
function NewToken({ token, name, onClose }) {
  return h(Modal, { label: `The key ${name}`, class: 'dialog dialog-wide', onClose: () => {}, outside: false }, fragment(
    t.header(null, t.h2(null, `The key “${name}”`)),
    t.div({ class: 'dialog-body' },
      note('amber', t.p(null, t.b(null, 'Copy it now. '), 'It is shown once and cannot be read again.')),
      t.div({ class: 'token' }, t.code({ id: 'new-token' }, token), h(Copy, { text: token, label: 'Copy the API key' })),
      h(SdkTabs, { base: me.value?.base_url ?? location.origin, token })),
    t.footer(null, h(Button, { kind: 'primary', onClick: onClose }, 'I have copied the key'))));
}
