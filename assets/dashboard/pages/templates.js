// Templates: content with variables, for sends of the API and for broadcasts.
import { h, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { useList } from '../lib/list.js';
import { navigate, query, setQuery } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { Button } from '../components/button.js';
import { Dialog } from '../components/dialog.js';
import { empty, failed } from '../components/empty.js';
import { TextField } from '../components/field.js';
import { OneFilter, SearchField, useFilters } from '../components/filters.js';
import { pill } from '../components/pill.js';
import { Pager, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { found, useScan } from './parts/scan.js';
import { hidden } from './parts/undo.js';
import { ViewAsApi } from './parts/view-as-api.js';

/** @typedef {import('../types/api.d.ts').ListedTemplate} TemplateRow */

/** Content of a new template. */
const START = '<!doctype html>\n<html lang="en">\n<body style="margin:0;padding:24px;font-family:sans-serif">\n<h1>Hello {{{NAME|there}}}</h1>\n<p>Write your message here.</p>\n</body>\n</html>\n';

export function TemplatesPage() {
  const filters = useFilters(['q', 'status']);
  const add = () => setQuery({ create: '1' });
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Templates')),
      t.div({ class: 'actions' }, h(ViewAsApi, { path: '/templates' }),
        allows('member') && h(Button, { kind: 'primary', onClick: add }, 'Create template'))),
    filters.any ? h(Found, { values: filters.values, clear: filters.clear }) : h(All, { add }),
    query.value.create && allows('member') && h(CreateTemplate, { onClose: () => setQuery({ create: null }, { replace: true }) }));
}

function Filters() {
  return t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search templates', placeholder: 'Name, alias or id' }),
    h(OneFilter, { name: 'status', label: 'Any status', none: 'Any status', options: [['draft', 'Draft'], ['published', 'Published']] }));
}

/** @param {{ add: () => void }} props */
function All({ add }) {
  const list = /** @type {import('../lib/list.js').List<TemplateRow>} */ (useList('/templates'));
  if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
  if (list.rows?.length === 0 && !list.newer) {
    return empty({ docs: 'templates', title: 'No templates yet', text: 'A template has a subject and a message with variables. A program sends it by its alias, and a broadcast can start as a copy of it.',
      actions: allows('member') && h(Button, { onClick: add }, 'Create template') });
  }
  return fragment(h(Filters, null), rows(list.rows), h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize, live: false }));
}

/** @param {{ values: Record<string, string>, clear: () => void }} props */
function Found({ values, clear }) {
  const text = values.q?.toLowerCase();
  const scan = /** @type {import('./parts/scan.js').Scan<TemplateRow>} */ (useScan('/templates', {}, (row) => (!values.status || row.status === values.status)
    && (!text || row.name.toLowerCase().includes(text) || (row.alias ?? '').toLowerCase().includes(text) || row.id === text), JSON.stringify(values)));
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The list');
  const words = [values.q && `No name or alias has “${values.q}”.`, values.status && `Filtered by status ${values.status}.`].filter(Boolean).join(' ');
  return fragment(h(Filters, null), found({ scan, title: 'No template matches', one: 'template', words, clear, rows }));
}

/** @param {TemplateRow[] | null} templates */
function rows(templates) {
  return t.div({ class: 'table-wrap' }, table({ label: 'Templates, newest first', rows: templates?.filter((row) => !hidden.value.has(row.id)) ?? null, id: (row) => row.id, to: (row) => `/templates/${row.id}`, columns: [
    { head: 'Status', class: 'c-status', width: 'w-128', cell: (row) => templatePill(row.status) },
    { head: 'Template', class: 'c-to', link: true, cell: (row) => t.bdi(null, row.name) },
    { head: 'Alias', class: 'c-subject trunc', width: 'w-36p', cell: (row) => (row.alias ? t.code(null, row.alias) : t.span({ class: 't3' }, '–')) },
    { head: 'Changed', class: 'c-time num', width: 'w-128', cell: (row) => h(Time, { at: row.updated_at }) },
  ] }));
}

/** @param {TemplateRow['status']} status */
function templatePill(status) {
  return status === 'published' ? pill('Published', { tone: 'green' }) : pill('Draft', { hollow: true });
}

/** A new template. Its content is written in the editor. @param {{ onClose: () => void }} props */
function CreateTemplate({ onClose }) {
  const [name, setName] = useState(''), [alias, setAlias] = useState('');
  const submit = async () => {
    const { id } = await api.post('/templates', { name, html: START, ...(alias ? { alias } : {}) });
    navigate(`/templates/${id}`);
  };
  return h(Dialog, { title: 'Create a template', action: 'Create template', fields: true, onClose, submit },
    h(TextField, { label: 'Name', value: name, onInput: setName }),
    h(TextField, { label: 'Alias', value: alias, onInput: setAlias, placeholder: 'order-confirmation', hint: 'A program can use it in place of the id. It can stay empty.' }));
}
