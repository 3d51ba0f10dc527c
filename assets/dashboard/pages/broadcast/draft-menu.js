// The menu of a draft: its content from a template, another form, a copy, deletion.
import { h, useState } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { ApiError, api } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { forget, useLoad } from '../../lib/load.js';
import { navigate } from '../../lib/router.js';
import { Dialog, useDialog } from '../../components/dialog.js';
import { failed } from '../../components/empty.js';
import { SelectField } from '../../components/field.js';
import { Menu, menuItem } from '../../components/menu.js';
import { toast } from '../../components/toast.js';
import { deleteWithUndo } from '../parts/undo.js';
import { useAsApi } from '../parts/view-as-api.js';
import { copyTemplate } from './content.js';

/** Duplicates a broadcast and opens the copy. @param {string} id */
export async function duplicate(id) {
  const copy = await api.post(`/broadcasts/${id}/duplicate`);
  forget('/broadcasts');
  toast('Made a copy');
  navigate(`/broadcasts/${copy.id}/edit`);
}

const NOT_SAVED = 'The last changes could not be saved. Correct them first.';

/**
 * @param {{ id: string, revision: { current: number }, content: import('../composer.js').Content, write: (content: import('../composer.js').Content) => void, replaced: (content: import('../../types/broadcasts.d.ts').BroadcastContent) => void, test: () => unknown, flush: () => Promise<boolean> }} props
 *   `flush` saves the pending changes
 */
export function DraftMenu({ id, revision, content, write, replaced, test, flush }) {
  const isMarkdown = content.source !== null;
  const template = useDialog((close) => h(FromTemplate, { id, revision, replaced, flush, onClose: close }));
  const asApi = useAsApi(`/broadcasts/${id}`);
  const again = useDialog((close) => h(Dialog, { title: 'Start again in Markdown?', action: 'Start in Markdown', onClose: close, submit: () => { close(); write({ source: content.text ?? '', html: null, text: null }); } },
    t.p(null, 'The HTML is removed. The text of the message is the beginning of the Markdown.')));
  const remove = () => { deleteWithUndo('Deleted the draft', '/broadcasts', [id]); navigate('/broadcasts', { replace: true }); };
  return fragment(h(Menu, { class: 'btn btn-icon', label: 'More actions', button: icon('more'), end: true, children: [
    menuItem('send', 'Send a test…', test), menuItem('template', 'Copy a template…', template.open), !isMarkdown && menuItem('code', 'Start again in Markdown…', again.open),
    menuItem('copy', 'Duplicate', async () => { if (await flush()) await duplicate(id); else toast(NOT_SAVED); }), menuItem('code', 'View as API', asApi.open), t.hr({ key: 'line' }), menuItem('trash', 'Delete draft', remove, { danger: true }),
  ] }), template.view, again.view, asApi.view);
}

/** Saves the pending changes. @param {() => Promise<boolean>} flush */
async function saved(flush) {
  if (!(await flush())) throw new ApiError(0, 'error', NOT_SAVED, null);
}

/** @param {{ id: string, revision: { current: number }, replaced: (content: import('../../types/broadcasts.d.ts').BroadcastContent) => void, flush: () => Promise<boolean>, onClose: () => void }} props */
function FromTemplate({ id, revision, replaced, flush, onClose }) {
  const list = /** @type {import('../../lib/load.js').Loaded<{ data: import('../../types/api.d.ts').ListedTemplate[] }>} */ (useLoad('/templates', { limit: 100 }));
  const rows = list.data?.data ?? [];
  const [chosen, setChosen] = useState('');
  const submit = async () => {
    const template = chosen || rows[0]?.id;
    if (!template) { onClose(); return; }
    // A save that waits would replace the copy again.
    await saved(flush);
    replaced(await copyTemplate(id, template, revision.current));
    onClose();
    toast('Copied the template');
  };
  return h(Dialog, { title: 'Copy a template', action: 'Replace the content', fields: true, onClose, submit },
    t.p(null, 'Its HTML and text replace the content of this broadcast. Later changes of the template have no effect here.'),
    list.error ? failed(list.error, list.reload, 'The list') : rows.length === 0 && !list.loading ? t.p({ class: 't1' }, 'There are no templates yet.')
      : h(SelectField, { label: 'Template', value: chosen || (rows[0]?.id ?? ''), onInput: setChosen, options: rows.map((row) => /** @type {[string, string]} */ ([row.id, row.alias ? `${row.name} (${row.alias})` : row.name])) }));
}
