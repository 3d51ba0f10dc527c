// Editor: text with line numbers and marks at findings. CodeMirror runs in a shadow root, where its constructed style
// sheets obey the policy of the pages. Until it is loaded, and if it cannot be loaded, a plain field does the same.
import { useEffect, useRef, useState } from '../vendor/preact.js';
import { t } from '../lib/h.js';
import { setUp } from '../lib/code-mirror.js';

/** @typedef {'markdown' | 'html'} EditorLanguage */
/** @typedef {{ at: number, length: number, severity: 'error' | 'warning', message: string }} EditorMark `at` and `length` count UTF-16 code units */
/**
 * @typedef {object} EditorHandle
 * @property {() => void} focus
 * @property {(at: number, length: number) => void} select shows a part of the text and moves the focus there
 * @property {(at: number, length: number, text: string) => void} replace
 * @property {(text: string) => void} insert puts text at the cursor
 */
/**
 * @typedef {object} EditorProps
 * @property {string} label
 * @property {string} value with line ends of one character
 * @property {EditorLanguage} language
 * @property {(value: string) => void} [onInput]
 * @property {EditorMark[]} [marks]
 * @property {boolean} [readOnly]
 * @property {{ current: EditorHandle | null }} [handle]
 */

/** Texts that are kept for a page that does not give them back. */
const SENT_MAX = 50;

const load = () => import('../vendor/codemirror.js');

/** @param {EditorProps} props */
export function Editor({ label, value, language, onInput, marks, readOnly = false, handle }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const editor = useRef(/** @type {import('../lib/code-mirror.js').CodeEditor | null} */ (null));
  const latest = useRef({ value, language, readOnly, label, onInput });
  latest.current = { value, language, readOnly, label, onInput };
  /** Texts that the page has got and has not given back yet, oldest first. */
  const sent = useRef(/** @type {string[]} */ ([]));
  const [isPlain, setPlain] = useState(true);

  useEffect(() => {
    let ended = false;
    load().then((library) => {
      if (ended || !host.current) return;
      const hadFocus = document.activeElement === field.current, at = field.current?.selectionStart ?? 0;
      editor.current = setUp(library, host.current, latest.current, (text) => {
        sent.current = [...sent.current.slice(-SENT_MAX), text];
        latest.current.onInput?.(text);
      });
      if (hadFocus) editor.current.select(at, 0);
      setPlain(false);
    }, () => { /* The plain field stays. */ });
    return () => { ended = true; editor.current?.end(); editor.current = null; };
  }, []);
  useEffect(() => {
    // A person who types is ahead of the page. Only a text from elsewhere replaces the one in the editor.
    const at = sent.current.indexOf(value);
    sent.current = sent.current.slice(at + 1);
    if (at < 0) editor.current?.setText(value);
  }, [value, isPlain]);
  useEffect(() => { editor.current?.setForm(language, readOnly, label); }, [language, readOnly, label, isPlain]);
  useEffect(() => { editor.current?.setMarks(marks ?? []); }, [marks, isPlain]);
  useEffect(() => {
    if (!handle) return undefined;
    handle.current = isPlain ? plainHandle(field) : editor.current;
    return () => { handle.current = null; };
  }, [handle, isPlain]);

  return t.div({ class: 'editor' },
    isPlain && t.textarea({ ref: field, class: 'editor-plain', 'aria-label': label, value, readOnly, spellcheck: language === 'markdown', onInput: (event) => onInput?.(event.currentTarget.value) }),
    t.div({ ref: host, class: 'editor-code', hidden: isPlain }));
}

/**
 * @param {{ current: HTMLTextAreaElement | null }} field
 * @returns {EditorHandle}
 */
function plainHandle(field) {
  const replace = (/** @type {number} */ at, /** @type {number} */ length, /** @type {string} */ text) => {
    field.current?.setRangeText(text, at, at + length, 'end');
    field.current?.dispatchEvent(new Event('input', { bubbles: true }));
    field.current?.focus();
  };
  return {
    focus: () => field.current?.focus(),
    select: (at, length) => { field.current?.focus(); field.current?.setSelectionRange(at, at + length); },
    replace,
    insert: (text) => replace(field.current?.selectionStart ?? 0, (field.current?.selectionEnd ?? 0) - (field.current?.selectionStart ?? 0), text),
  };
}
