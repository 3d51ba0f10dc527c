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

/** @typedef {{ token: string, domain?: string }} NewKey `domain` is the only one whose addresses the key can use */

/** @param {{ onClose: () => void, done: (key: NewKey) => void, isKept?: boolean }} props `done` gets the token of the new key, and `isKept` says that the page keeps it */
export function CreateKey({ onClose, done, isKept = false }) {
  const [name, setName] = useState('');
  const [permission, setPermission] = useState(/** @type {'sending_access' | 'full_access'} */ ('sending_access'));
  const [domain, setDomain] = useState('');
  const [missing, setMissing] = useState(false);
  const [made, setMade] = useState(/** @type {NewKey | null} */ (null));
  const { domains = [] } = useDomains();
  if (made) return h(NewToken, { made, name, isKept, onClose });
  const submit = async () => {
    setMissing(!name.trim());
    if (!name.trim()) return;
    const request = /** @type {CreateApiKeyRequest} */ ({ name: name.trim(), permission, ...(permission === 'sending_access' && domain ? { domain_id: domain } : {}) });
    const { token } = /** @type {import('../../types/api.d.ts').CreateApiKeyResponse} */ (await api.post('/api-keys', request));
    const key = { token, domain: domains.find(({ id }) => id === request.domain_id)?.name };
    forget('/api-keys');
    setMade(key);
    done(key);
  };
  const options = domains.map((one) => /** @type {[string, string]} */ ([one.id, one.name]));
  return h(Dialog, { title: 'Create an API key', action: 'Create API key', fields: true, onClose, submit },
    h(TextField, { label: 'Name', value: name, onInput: setName, placeholder: 'Production', autofocus: true, spellcheck: true, error: missing ? 'Enter a name: it says which program has the key.' : null }),
    t.fieldset({ class: 'stack-xs' }, t.legend({ class: 'label' }, 'Permission'),
      h(Radio, { name: 'permission', label: 'Sending', hint: 'It sends emails, and reads nothing else.', checked: permission === 'sending_access', onChange: () => setPermission('sending_access') }),
      h(Radio, { name: 'permission', label: 'Full access', hint: 'It reads and changes everything of the team.', checked: permission === 'full_access', onChange: () => setPermission('full_access') })),
    permission === 'sending_access' && h(SelectField, { label: 'Domain', value: domain, onInput: setDomain, options: [['', 'Every domain of the team'], ...options], hint: 'A key for one domain sends from its addresses alone.' }));
}

/** The token of a new key. It closes by its button alone, so that the token is not lost. @param {{ made: NewKey, name: string, isKept: boolean, onClose: () => void }} props */
function NewToken({ made: { token, domain }, name, isKept, onClose }) {
  return h(Modal, { label: `The key ${name}`, class: 'dialog dialog-wide', onClose: () => {}, outside: false }, fragment(
    t.header(null, t.h2(null, `The key “${name}”`)),
    t.div({ class: 'dialog-body' },
      note('amber', t.p(null, t.b(null, 'Copy it now. '), isKept ? 'It stays in the samples until you leave this page.' : 'It is shown once and cannot be read again.')),
      t.div({ class: 'token' }, t.code({ id: 'new-token' }, token), h(Copy, { text: token, label: 'Copy the API key' })),
      h(SdkTabs, { base: me.value?.base_url ?? location.origin, token, domain })),
    t.footer(null, h(Button, { kind: 'primary', onClick: onClose }, 'I have copied the key'))));
}
