// The composer: settings, editor and preview of a broadcast that is not sent yet. It saves by itself.
import { h, useEffect, useRef, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { forget, useLoad } from '../lib/load.js';
import { link, navigate, useTitle } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { Button } from '../components/button.js';
import { useDialog } from '../components/dialog.js';
import { failed, pageWaiting } from '../components/empty.js';
import { toast } from '../components/toast.js';
import { broadcastPill, titleOf } from './broadcast/words.js';
import { DraftMenu } from './broadcast/draft-menu.js';
import { EditorColumn } from './broadcast/editor-column.js';
import { bodyOf, lines } from './broadcast/content.js';
import { PreviewColumn } from './broadcast/preview-column.js';
import { Review, SentNotice } from './broadcast/review.js';
import { Settings, changesOf, fieldsOf } from './broadcast/settings.js';
import { TestSend } from './broadcast/test-send.js';
import { useCheck } from './broadcast/findings.js';
import { SavedAt, StaleNote, useAutosave } from './parts/autosave.js';

/** @typedef {import('../types/broadcasts.d.ts').BroadcastDraft} Broadcast */
/** @typedef {import('../types/broadcasts.d.ts').BroadcastContent} BroadcastContent */
/** @typedef {{ source: string | null, html: string | null, text: string | null }} Content */
/** @typedef {import('./broadcast/settings.js').Fields & { content: Content }} Changes */

/** @param {{ params: { id: string } }} props */
export function ComposerPage({ params: { id } }) {
  const broadcast = /** @type {import('../lib/load.js').Loaded<Broadcast>} */ (useLoad(`/broadcasts/${id}`));
  const content = /** @type {import('../lib/load.js').Loaded<BroadcastContent>} */ (useLoad(`/broadcasts/${id}/content`));
  // A kept answer may be older than the draft: the composer starts with what the server has now.
  const ready = !broadcast.loading && !content.loading;
  const isSent = ready && broadcast.data !== null && broadcast.data.status !== 'draft';
  useEffect(() => { if (isSent) navigate(`/broadcasts/${id}`, { replace: true }); }, [isSent]);
  const error = broadcast.error ?? content.error;
  const [round, setRound] = useState(0);
  const reload = async () => { await Promise.all([broadcast.reload(), content.reload()]); };
  const restart = async () => { await reload(); setRound((n) => n + 1); };
  if (error) return fragment(bar('Broadcast'), failed(error, reload, 'This broadcast'));
  if (!ready || isSent || !broadcast.data || !content.data) return pageWaiting('Broadcast');
  return h(Draft, { key: round, broadcast: broadcast.data, start: content.data, restart });
}

/** @param {string} name @param {import('../lib/h.js').Children[]} more */
function bar(name, ...more) {
  return t.div({ class: 'full-bar' }, link({ class: 'btn btn-ghost btn-icon', to: '/broadcasts', 'aria-label': 'Back to broadcasts', title: 'Back to broadcasts' }, icon('left')), t.h1({ class: 'full-name trunc' }, name), ...more);
}

/** @param {{ broadcast: Broadcast, start: BroadcastContent, restart: () => Promise<void> }} props `restart` begins with the newest version */
function Draft({ broadcast, start, restart }) {
  const { id } = broadcast, canEdit = allows('member');
  const [fields, setFields] = useState(() => fieldsOf(broadcast));
  const [content, setContent] = useState(/** @type {Content} */ ({ source: start.source === null ? null : lines(start.source), html: lines(start.html), text: lines(start.text) }));
  const [contact, setContact] = useState('');
  const [sent, setSent] = useState(/** @type {import('../types/api.d.ts').AcceptedBroadcast | null} */ (null));
  // A change between the two answers makes one of them older.
  const newest = useRef(content), revision = useRef(Math.min(broadcast.revision, start.revision));
  const handle = useRef(/** @type {import('../components/editor.js').EditorHandle | null} */ (null));
  useTitle(titleOf(fields));

  const saved = /** @type {import('./parts/autosave.js').Autosave<Changes>} */ (useAutosave(async (/** @type {Partial<Changes>} */ changes) => {
    const settings = changesOf(changes), { content: written } = changes;
    const errors = /** @type {unknown[]} */ ([]);
    const refused = (/** @type {unknown} */ error) => { errors.push(error); };
    // One after the other: each change makes the revision that the next one is based on. The text is first, because the
    // page may be going away.
    if (written) await api.put(`/broadcasts/${id}/content`, { ...bodyOf(written), revision: revision.current }).then((made) => took(written, made), refused);
    if (Object.keys(settings).length > 0) await api.patch(`/broadcasts/${id}`, { ...settings, revision: revision.current }).then((made) => { revision.current = made.revision; }, refused);
    forget('/broadcasts');
    if (errors.length > 0) throw errors[0];
  }));
  /** The HTML and the text that the server has made of Markdown. */
  const took = (/** @type {Content} */ written, /** @type {BroadcastContent} */ made) => {
    revision.current = made.revision;
    if (newest.current !== written || made.source === null) return;
    newest.current = { ...written, html: made.html, text: made.text };
    setContent(newest.current);
  };
  const change = (/** @type {Partial<import('./broadcast/settings.js').Fields>} */ changes) => { setFields((old) => ({ ...old, ...changes })); saved.change(changes); };
  const write = (/** @type {Content} */ next) => { newest.current = next; setContent(next); saved.change({ content: next }); };
  /** Content that the server has already. */
  const replaced = (/** @type {BroadcastContent} */ next) => {
    revision.current = next.revision;
    newest.current = { source: next.source === null ? null : lines(next.source), html: lines(next.html), text: lines(next.text) };
    setContent(newest.current);
    check.again();
  };
  const keepMine = async () => {
    revision.current = /** @type {Broadcast} */ (await api.get(`/broadcasts/${id}`)).revision;
    await saved.resume({ ...fields, content: newest.current });
  };
  const check = useCheck(id, saved, canEdit);

  const review = useDialog((close) => h(Review, { id, title: titleOf(fields), onClose: close, done: (/** @type {import('../types/api.d.ts').AcceptedBroadcast} */ result) => {
    forget('/broadcasts');
    if (result.warning) { close(); setSent(result); return; }
    toast('The broadcast is on its way');
    navigate(`/broadcasts/${id}`, { replace: true });
  } }));
  const test = useDialog((close) => h(TestSend, { id, contact, onClose: close }));
  const afterSave = async (/** @type {() => void} */ open) => { if (await saved.flush()) open(); };

  return fragment(
    bar(titleOf(fields), broadcastPill('draft'), canEdit && h(SavedAt, { saved }), t.span({ class: 'grow' }),
      canEdit && h(Button, { kind: 'ghost', class: 'hide-sm', onClick: () => afterSave(test.open) }, 'Send a test…'),
      canEdit && h(DraftMenu, { id, revision, content, write, replaced, flush: saved.flush, test: () => afterSave(test.open) }),
      canEdit && h(Button, { kind: 'primary', onClick: () => afterSave(review.open) }, 'Review and send…')),
    h(StaleNote, { saved, load: restart, keep: keepMine }),
    t.div({ class: 'composer' },
      h(Settings, { broadcast, fields, change, error: saved.isStale ? null : saved.error, audience: check.result?.audience ?? null, readOnly: !canEdit }),
      h(EditorColumn, { content, write, handle, check, readOnly: !canEdit, change, fields, preview: h(PreviewColumn, { id, contact, setContact, version: saved.saves + check.replacements, bytes: check.result }) }),
      t.section({ class: 'c-prev', 'aria-label': 'Preview' }, h(PreviewColumn, { id, contact, setContact, version: saved.saves + check.replacements, bytes: check.result }))),
    review.view, test.view, sent && h(SentNotice, { sent, onClose: () => navigate(`/broadcasts/${id}`, { replace: true }) }));
}
