// The editor of a broadcast: Markdown with the HTML that it becomes, or HTML and text.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { icon } from '../../lib/icons.js';
import { Button } from '../../components/button.js';
import { Dialog, useDialog } from '../../components/dialog.js';
import { Editor } from '../../components/editor.js';
import { Tabs } from '../../components/tabs.js';
import { InsertMenu } from '../parts/insert-menu.js';
import { AltText } from './alt-text.js';
import { Findings, useMarks } from './findings.js';
import { repairOf } from './repair.js';

/** @typedef {import('../composer.js').Content} Content */
/** @typedef {import('../../types/broadcasts.d.ts').Finding} Finding */

/**
 * @param {{ content: Content, write: (content: Content) => void, handle: { current: import('../../components/editor.js').EditorHandle | null }, check: import('./findings.js').Check, readOnly: boolean, fields: import('./settings.js').Fields, change: (changes: Partial<import('./settings.js').Fields>) => void, preview: import('../../lib/h.js').Children }} props
 */
export function EditorColumn({ content, write, handle, check, readOnly, fields, change, preview }) {
  const isMarkdown = content.source !== null;
  const tabs = isMarkdown ? [{ id: 'markdown', label: 'Markdown' }, { id: 'html', label: 'HTML' }] : [{ id: 'html', label: 'HTML' }, { id: 'text', label: 'Text' }];
  const [asked, setAsked] = useState('');
  const [image, setImage] = useState(/** @type {Finding | null} */ (null));
  const all = [...tabs, { id: 'preview', label: 'Preview', narrow: true }];
  const tab = all.some((one) => one.id === asked) ? asked : tabs[0]?.id ?? '';
  const part = tab === 'markdown' ? 'source' : tab === 'text' ? 'text' : 'html';
  const marks = useMarks(check.result, part);
  const convert = useDialog((close) => h(Dialog, { title: 'Go on in HTML?', action: 'Edit the HTML', onClose: close, submit: () => { close(); write({ ...content, source: null }); } },
    t.p(null, 'You edit the HTML that the Markdown has become. This broadcast cannot return to this Markdown.')));

  const show = (/** @type {Finding} */ { part: where, at, length }) => {
    if (where === 'subject' || where === 'preview_text') { const field = document.querySelector(`.c-set [name="${where}"]`); if (field instanceof HTMLInputElement) { field.focus(); field.setSelectionRange(at ?? 0, (at ?? 0) + (length ?? 0)); } return; }
    const select = () => handle.current?.select(at ?? 0, length ?? 0);
    if (where === part) { select(); return; }
    setAsked(where === 'source' ? 'markdown' : where ?? '');
    // The editor of another tab is there after the next frame.
    requestAnimationFrame(() => requestAnimationFrame(select));
  };
  /** Returns whether the finding still has its place in the text. */
  const repair = (/** @type {Finding} */ finding, /** @type {string} */ words) => {
    const { part: where } = finding, isField = where === 'subject' || where === 'preview_text';
    const text = isField ? fields[where] : where ? content[where] ?? '' : '', made = repairOf(finding, text, words);
    if (!made || !where) return false;
    const after = () => text.slice(0, made.at) + made.text + text.slice(made.at + made.length);
    if (isField) change({ [where]: after() });
    else if (where === part && handle.current) handle.current.replace(made.at, made.length, made.text);
    else write({ ...content, [where]: after() });
    return true;
  };
  // The editor, or the list of the findings if the preview is shown instead.
  const focusAfterRepair = () => requestAnimationFrame(() => (tab === 'preview' ? document.getElementById('h-lint') : handle.current)?.focus());
  const editor = tab === 'markdown' ? h(Editor, { key: 'markdown', label: 'Markdown', language: 'markdown', value: content.source ?? '', onInput: (/** @type {string} */ source) => write({ ...content, source }), marks, handle, readOnly })
    : tab === 'text' ? h(Editor, { key: 'text', label: 'Text', language: 'markdown', value: content.text ?? '', onInput: (/** @type {string} */ text) => write({ ...content, text }), marks, handle, readOnly })
      : h(Editor, { key: 'html', label: 'HTML', language: 'html', value: content.html ?? '', onInput: (/** @type {string} */ html) => write({ ...content, html }), marks, handle, readOnly: readOnly || isMarkdown });
  return t.section({ class: 'c-ed', 'aria-label': 'Editor' },
    h(Tabs, { label: 'Editor', tabs: all, selected: tab, onSelect: setAsked, panel: tab === 'preview' ? 'c-panel c-prev' : 'c-panel', end: !readOnly && (tab === 'markdown' || (tab === 'html' && !isMarkdown)) && h(InsertMenu, { language: tab === 'html' ? 'html' : 'markdown', insert: (/** @type {string} */ text) => handle.current?.insert(text), unsubscribe: true }) },
      tab === 'preview' ? preview : [
        isMarkdown && tab === 'html' && !readOnly && t.div({ key: 'note', class: 'editor-note' }, icon('info'), t.p(null, 'The Markdown becomes this HTML.'), h(Button, { size: 'sm', onClick: convert.open }, 'Edit as HTML…')),
        !isMarkdown && tab === 'text' && t.div({ key: 'note', class: 'editor-note' }, icon('info'), t.p(null, 'Mail programs without HTML show this text. If it is empty, it is made from the HTML.')),
        editor,
      ]),
    !readOnly && h(Findings, { check, show, addFallback: (/** @type {Finding} */ finding) => { const isRepaired = repair(finding, 'there'); if (isRepaired) focusAfterRepair(); return isRepaired; }, addAlt: setImage }), convert.view,
    image && h(AltText, { onClose: () => setImage(null), add: (/** @type {string} */ words) => repair(image, words), added: () => { setImage(null); focusAfterRepair(); } }));
}
