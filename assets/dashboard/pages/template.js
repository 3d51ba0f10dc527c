// The editor of a template. It saves by itself; programs get the change when it is published.
import { h, useEffect, useMemo, useRef, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { ApiError, api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { forget, useLoad } from '../lib/load.js';
import { link, navigate, useTitle } from '../lib/router.js';
import { allows, me } from '../lib/state.js';
import { Button } from '../components/button.js';
import { Code } from '../components/code.js';
import { Notice, useDialog } from '../components/dialog.js';
import { errorNote, failed, pageWaiting } from '../components/empty.js';
import { Editor } from '../components/editor.js';
import { Segmented, TextField } from '../components/field.js';
import { Menu, menuItem } from '../components/menu.js';
import { pill } from '../components/pill.js';
import { Tabs } from '../components/tabs.js';
import { toast } from '../components/toast.js';
import { SavedAt, StaleNote, fieldOf, onlyReads, useAutosave } from './parts/autosave.js';
import { Preview } from './parts/content.js';
import { InsertMenu } from './parts/insert-menu.js';
import { deleteWithUndo } from './parts/undo.js';
import { useAsApi } from './parts/view-as-api.js';
import { Variables, variablesOf } from './template/variables.js';

/** @typedef {import('../types/broadcasts.d.ts').TemplateDraft} Template */
/** @typedef {{ name: string, alias: string, subject: string, html: string, text: string }} Fields */

/** Pause in the typing of sample values until the preview is loaded again. */
const TYPING_MS = 500;

/** @param {{ params: { id: string } }} props */
export function TemplatePage({ params: { id } }) {
  const template = /** @type {import('../lib/load.js').Loaded<Template>} */ (useLoad(`/templates/${encodeURIComponent(id)}`));
  const [first, setFirst] = useState(/** @type {Template | null} */ (null));
  // The editor starts with what the server has now, and keeps its own text after that.
  useEffect(() => { if (!template.loading && !template.error && template.data && !first) setFirst(template.data); }, [template.loading, template.error, template.data, first]);
  if (template.error && !first) return fragment(bar('Template'), failed(template.error, template.reload, 'This template'));
  if (!first) return pageWaiting('Template');
  const restart = async () => { await template.reload(); setFirst(null); };
  return h(Whole, { start: first, current: template.data ?? first, reload: template.reload, restart });
}

/** @param {string} name @param {import('../lib/h.js').Children[]} more */
function bar(name, ...more) {
  return t.div({ class: 'full-bar' }, link({ class: 'btn btn-ghost btn-icon', to: '/templates', 'aria-label': 'Back to templates', title: 'Back to templates' }, icon('left')), t.h1({ class: 'full-name trunc' }, name), ...more);
}

/** @param {Partial<Fields>} changes */
function bodyOf(changes) {
  const { alias, subject, text, ...rest } = changes;
  return { ...rest, ...(alias !== undefined && { alias: alias || null }), ...(subject !== undefined && { subject: subject || null }), ...(text !== undefined && { text: text || null }) };
}

/** @param {string | null} text */
function lines(text) {
  return (text ?? '').replace(/\r\n?/g, '\n');
}

/** @param {{ start: Template, current: Template, reload: () => Promise<void>, restart: () => Promise<void> }} props `restart` begins with the newest version */
function Whole({ start, current, reload, restart }) {
  const { id } = start, canEdit = allows('member');
  const [fields, setFields] = useState(/** @type {Fields} */ ({ name: start.name, alias: start.alias ?? '', subject: start.subject ?? '', html: lines(start.html), text: lines(start.text) }));
  const [tab, setTab] = useState('html'), [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const handle = useRef(/** @type {import('../components/editor.js').EditorHandle | null} */ (null)), revision = useRef(start.revision);
  useTitle(fields.name);
  const saved = /** @type {import('./parts/autosave.js').Autosave<Fields>} */ (useAutosave(async (/** @type {Partial<Fields>} */ changes) => {
    revision.current = (await api.patch(`/templates/${id}`, { ...bodyOf(changes), revision: revision.current })).revision;
    forget('/templates');
    await reload();
  }));
  const change = (/** @type {Partial<Fields>} */ changes) => { setFields((old) => ({ ...old, ...changes })); saved.change(changes); };
  const keepMine = async () => {
    revision.current = /** @type {Template} */ (await api.get(`/templates/${id}`)).revision;
    await saved.resume(fields);
  };
  const variables = useMemo(() => variablesOf([fields.subject, fields.html, fields.text]), [fields.subject, fields.html, fields.text]);
  const isPublished = current.status === 'published', isNew = !isPublished || current.has_unpublished_versions;
  const asApi = useAsApi(`/templates/${id}`);
  const use = useDialog((close) => h(UseInApi, { alias: fields.alias || id, variables: [...variables.keys()], onClose: close }));
  const publish = async () => {
    if (!await saved.flush()) throw saved.error ?? new ApiError(0, 'error', 'The last changes could not be saved.', null);
    await api.post(`/templates/${id}/publish`);
    forget('/templates');
    await reload();
    toast('Published the template');
  };
  const copy = async () => {
    const made = await api.post(`/templates/${id}/duplicate`);
    forget('/templates');
    toast('Made a copy');
    navigate(`/templates/${made.id}`);
  };
  const remove = () => { deleteWithUndo('Deleted the template', '/templates', [id]); navigate('/templates', { replace: true }); };
  const preview = h(TemplatePreview, { id, variables: values, saves: saved.saves, hasTwo: isPublished && isNew });
  const field = (/** @type {'name' | 'alias' | 'subject'} */ name) => ({ value: fields[name], name, error: fieldOf(saved.error) === name ? saved.error?.message : null, onInput: (/** @type {string} */ value) => change({ [name]: value }) });
  const isOfField = ['name', 'alias', 'subject'].includes(fieldOf(saved.error) ?? '');
  return fragment(
    bar(fields.name || 'Untitled template', isPublished ? pill(isNew ? 'Published, with changes' : 'Published', { tone: 'green' }) : pill('Draft', { hollow: true }), canEdit && h(SavedAt, { saved, since: start.updated_at }), t.span({ class: 'grow' }),
      h(Button, { kind: 'ghost', class: 'hide-sm', onClick: use.open }, 'Use in API'),
      h(Menu, { class: 'btn btn-icon', label: 'More actions', button: icon('more'), end: true, children: [
        menuItem('zap', 'Use in API', use.open), menuItem('code', 'View as API', asApi.open), canEdit && menuItem('copy', 'Duplicate', copy), canEdit && t.hr({ key: 'line' }), canEdit && menuItem('trash', 'Delete template', remove, { danger: true }),
      ] }),
      canEdit && h(Button, { kind: 'primary', onClick: publish, disabled: !isNew && !saved.dirty && 'The published version has all changes.' }, 'Publish')),
    h(StaleNote, { saved, load: restart, keep: keepMine }),
    t.div({ class: 'composer' },
      t.form({ class: 'c-set', 'aria-label': 'Settings', onSubmit: (event) => event.preventDefault() }, !canEdit && onlyReads(),
        saved.error && !saved.isStale && !isOfField && errorNote(saved.error),
        t.fieldset({ disabled: !canEdit }, h(TextField, { ...field('name'), label: 'Name' }), h(TextField, { ...field('alias'), label: 'Alias', hint: 'A program can use it in place of the id.' }),
        h(TextField, { ...field('subject'), label: 'Subject', spellcheck: true, hint: 'A send without a subject has this one.' })),
        isPublished && isNew && t.p({ class: 'meta' }, 'Programs send the published version until you publish these changes.'),
        t.hr(), h(Variables, { variables, values, set: setValues })),
      t.section({ class: 'c-ed', 'aria-label': 'Editor' },
        h(Tabs, { label: 'Editor', selected: tab, onSelect: setTab, tabs: [{ id: 'html', label: 'HTML' }, { id: 'text', label: 'Text' }, { id: 'preview', label: 'Preview', narrow: true }], panel: tab === 'preview' ? 'c-panel c-prev' : 'c-panel',
          end: canEdit && tab === 'html' && h(InsertMenu, { language: 'html', insert: (/** @type {string} */ text) => handle.current?.insert(text) }) },
        tab === 'preview' ? preview : tab === 'text' ? h(Editor, { key: 'text', label: 'Text', language: 'markdown', value: fields.text, onInput: (/** @type {string} */ text) => change({ text }), readOnly: !canEdit })
          : h(Editor, { key: 'html', label: 'HTML', language: 'html', value: fields.html, onInput: (/** @type {string} */ html) => change({ html }), handle, readOnly: !canEdit }))),
      t.section({ class: 'c-prev', 'aria-label': 'Preview' }, preview)),
    asApi.view, use.view);
}

/** @param {{ id: string, variables: Record<string, string>, saves: number, hasTwo: boolean }} props `hasTwo`: the published version differs from the newest one */
function TemplatePreview({ id, variables, saves, hasTwo }) {
  const [chosen, setChosen] = useState('draft'), version = hasTwo ? chosen : 'draft';
  const given = JSON.stringify(Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== '')));
  const [shown, setShown] = useState(given);
  useEffect(() => { const timer = setTimeout(() => setShown(given), TYPING_MS); return () => clearTimeout(timer); }, [given]);
  const [line, setLine] = useState(/** @type {import('../types/broadcasts.d.ts').TemplateRendered | null} */ (null));
  useEffect(() => {
    const abort = new AbortController();
    api.get(`/templates/${id}/rendered`, { version, variables: shown }, abort.signal).then(setLine, () => { /* The frame shows the error. */ });
    return () => abort.abort();
  }, [id, shown, version, saves]);
  return fragment(
    t.div({ class: 'inbox' }, t.div(null, t.p({ class: 'trunc t1' }, t.bdi(null, line?.subject || 'No subject')),
      t.p({ class: 'trunc t3' }, line && line.missing.length > 0 ? `Without a value: ${line.missing.join(', ')}` : 'Every variable has a value or a fallback.')),
      hasTwo && h(Segmented, { label: 'Version', small: true, value: chosen, onChange: setChosen, options: [['draft', 'Changes'], ['published', 'Published']] })),
    h(Preview, { path: `/templates/${id}`, query: { version, variables: shown, v: saves } }));
}

/** @param {{ alias: string, variables: string[], onClose: () => void }} props */
function UseInApi({ alias, variables, onClose }) {
  const body = { from: 'Acme <hello@example.com>', to: 'ada@example.net', template: { id: alias, ...(variables.length > 0 && { variables: Object.fromEntries(variables.map((name) => [name, '…'])) }) } };
  return h(Notice, { title: 'Use in the API', wide: true, onClose }, t.p(null, 'A send names the template, and gives values to its variables:'),
    h(Code, { text: `curl ${me.value?.base_url ?? location.origin}/emails \\\n  -H 'Authorization: Bearer YOUR_API_KEY' \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'` }));
}
