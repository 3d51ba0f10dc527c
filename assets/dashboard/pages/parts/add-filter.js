// "Filter": a filter of the list of emails that has no control of its own.
import { h, useState } from '../../vendor/preact.js';
import { ApiError } from '../../lib/api.js';
import { useLoad } from '../../lib/load.js';
import { setQuery } from '../../lib/router.js';
import { parseTime } from '../../lib/time.js';
import { Dialog } from '../../components/dialog.js';
import { SelectField, TextField } from '../../components/field.js';

/** Names in the query, their label, and an example. @type {[string, string, string][]} */
const VALUE_FILTERS = [
  ['domain', 'From domain', 'mail.acme.com'], ['from', 'From', 'billing@'], ['to', 'To', 'ada@example.net'], ['subject', 'Subject', 'invoice'],
  ['tag', 'Tag', 'category:invoice'], ['key', 'API key', ''], ['since', 'Since', '2026-11-21 09:00'], ['until', 'Until', '2026-11-21 18:00'],
];

/** @param {{ onClose: () => void }} props */
export function AddFilter({ onClose }) {
  const [name, setName] = useState('domain');
  const [value, setValue] = useState('');
  const keys = /** @type {import('../../lib/load.js').Loaded<{ data: { id: string, name: string }[] }>} */ (useLoad(name === 'key' ? '/api-keys' : null, { limit: 100 }));
  const [, label = '', example = ''] = VALUE_FILTERS.find(([one]) => one === name) ?? [];
  const isTime = name === 'since' || name === 'until';
  const chosen = name === 'key' ? value || keys.data?.data[0]?.id || '' : value.trim();
  const submit = async () => {
    const at = isTime ? parseTime(chosen.replace(/^(\d{4}-\d\d-\d\d)$/, '$1T00:00')) : null;
    if (!chosen || (isTime && at === null)) throw new ApiError(422, 'validation_error', isTime ? `Give a date, or a date and a time in UTC: ${example}` : 'Give a value.', null);
    onClose();
    setQuery({ after: null, before: null, [name]: at === null ? chosen : new Date(at).toISOString() });
  };
  return h(Dialog, { title: 'Add a filter', action: 'Add filter', fields: true, onClose, submit },
    h(SelectField, { label: 'Field', value: name, onInput: (/** @type {string} */ next) => { setName(next); setValue(''); }, options: VALUE_FILTERS.map(([one, text]) => /** @type {[string, string]} */ ([one, text])) }),
    name === 'key' ? h(SelectField, { label: 'API key', value: chosen, onInput: setValue, options: (keys.data?.data ?? []).map((key) => /** @type {[string, string]} */ ([key.id, key.name])) })
      : h(TextField, { label, value, onInput: setValue, hint: `${isTime ? 'In UTC' : 'For example'}: ${example}` }));
}
