// CodeMirror for `components/editor.js`: its look, its keys, and the marks of Markdown, HTML and merge fields.

/** @typedef {typeof import('../vendor/codemirror.js')} Library */
/** @typedef {import('../components/editor.js').EditorHandle & { setText: (text: string) => void, setForm: (language: import('../components/editor.js').EditorLanguage, readOnly: boolean, label: string) => void, setMarks: (marks: import('../components/editor.js').EditorMark[]) => void, end: () => void }} CodeEditor */

/** Parts of the text that are coloured, by language. A part may be inside another one. */
const PARTS = {
  markdown: /(?<head>^#{1,6} .*$)|(?<strong>\*\*[^*\n]+\*\*)|(?<link>!?\[[^\]\n]*\]\([^)\n]*\)\]?|\[\[(?:button:|columns?\]\]|end\]\]))|(?<quiet>`[^`\n]+`|^ {0,3}(?:[-*+]|\d{1,9}[.)]|>) )/gm,
  html: /(?<quiet><!--[\s\S]*?-->|<!doctype[^>]*>)|(?<tag><\/?[a-z][^<>]*>)|(?<link>&(?:[a-z]+|#x?[\da-f]+);)/gi,
};
const STRINGS = /"[^"]*"|'[^']*'/g;
const FIELDS = /\{\{\{[^{}\n]*\}\}\}/g;
/** Text before the visible part that is read too, so that a comment that begins there is marked. */
const BEFORE_CHARS = 2000;

/**
 * The coloured parts of a piece of text: position, end and class.
 * @param {string} text
 * @param {import('../components/editor.js').EditorLanguage} language
 * @returns {[number, number, string][]}
 */
function coloured(text, language) {
  /** @type {[number, number, string][]} */
  const found = [];
  for (const match of text.matchAll(PARTS[language])) {
    const kind = Object.entries(match.groups ?? {}).find(([, part]) => part !== undefined)?.[0] ?? '';
    found.push([match.index, match.index + match[0].length, `rm-${kind}`]);
    if (kind === 'tag') for (const string of match[0].matchAll(STRINGS)) found.push([match.index + string.index, match.index + string.index + string[0].length, 'rm-string']);
  }
  for (const field of text.matchAll(FIELDS)) found.push([field.index, field.index + field[0].length, 'rm-field']);
  return found;
}

/**
 * Colours what is visible.
 * @param {Library} library
 * @param {import('../components/editor.js').EditorLanguage} language
 */
function colours({ Decoration, ViewPlugin }, language) {
  const decorate = (/** @type {import('../vendor/codemirror.js').EditorView} */ view) => Decoration.set(view.visibleRanges.flatMap(({ from, to }) => {
    const start = view.state.doc.lineAt(Math.max(0, from - BEFORE_CHARS)).from;
    return coloured(view.state.doc.sliceString(start, to), language).map(([at, end, name]) => Decoration.mark({ class: name }).range(start + at, start + end));
  }), true);
  return ViewPlugin.define((view) => ({
    decorations: decorate(view),
    update(update) { if (update.docChanged || update.viewportChanged) this.decorations = decorate(update.view); },
  }), { decorations: (plugin) => plugin.decorations });
}

/** The look, from the tokens of the pages: custom properties reach into the shadow root. */
const LOOK = {
  '&': { height: '100%', color: 'var(--text-2)', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: '0' },
  '.cm-scroller': { fontFamily: 'var(--mono)', fontSize: '12px', lineHeight: '22px', overflow: 'auto' },
  '.cm-content': { padding: '12px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 16px 0 8px' },
  '.cm-gutters': { color: 'var(--text-3)', backgroundColor: 'transparent', border: '0', fontSize: '11px' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '36px', padding: '0 4px 0 8px' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '.cm-content ::selection, .cm-line::selection, .cm-line ::selection': { backgroundColor: 'color-mix(in srgb, var(--accent) 26%, transparent)' },
  '.cm-searchMatch': { backgroundColor: 'var(--amber-soft)', outline: '1px solid var(--dot-amber)' },
  '.cm-searchMatch-selected': { backgroundColor: 'color-mix(in srgb, var(--accent) 26%, transparent)' },
  '.rm-head, .rm-strong': { color: 'var(--text)', fontWeight: '600' },
  '.rm-link, .rm-field': { color: 'var(--accent)' },
  '.rm-tag': { color: 'var(--text)' },
  '.rm-string': { color: 'var(--green)' },
  '.rm-quiet': { color: 'var(--text-3)' },
  '.cm-lintRange': { backgroundImage: 'none', paddingBottom: '0', textUnderlineOffset: '4px' },
  '.cm-lintRange-warning': { textDecoration: 'underline wavy var(--dot-amber) 1px' },
  '.cm-lintRange-error': { textDecoration: 'underline wavy var(--dot-red) 1px' },
  '.cm-gutter-lint': { width: '14px' },
  '.cm-gutter-lint .cm-gutterElement': { display: 'grid', placeItems: 'center', padding: '0' },
  '.cm-lint-marker': { width: '6px', height: '6px', borderRadius: '50%', overflow: 'hidden' },
  '.cm-lint-marker-warning': { content: '""', backgroundColor: 'var(--dot-amber)' },
  '.cm-lint-marker-error': { content: '""', backgroundColor: 'var(--dot-red)' },
  '.cm-tooltip': { border: '0', borderRadius: 'var(--r-control)', backgroundColor: 'var(--surface)', color: 'var(--text)', boxShadow: 'var(--shadow-menu)', fontFamily: 'var(--font)', fontSize: '12px', lineHeight: '16px' },
  '.cm-diagnostic': { padding: '6px 10px', border: '0' },
  '.cm-panels': { color: 'var(--text-2)', backgroundColor: 'var(--bg)', border: '0', fontFamily: 'var(--font)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '8px 32px 8px 12px' },
  '.cm-panel.cm-search label': { fontSize: '12px' },
  '.cm-panel.cm-search [name=close]': { color: 'var(--text-2)', width: '24px', height: '24px', cursor: 'pointer' },
  '.cm-textfield': { backgroundColor: 'var(--surface)', border: '1px solid var(--line-input)', borderRadius: 'var(--r-control)', height: 'var(--h-sm)', padding: '0 8px', color: 'var(--text)', fontSize: '13px' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--surface)', border: '1px solid var(--line-2)', borderRadius: 'var(--r-control)', height: 'var(--h-sm)', color: 'var(--text)', fontSize: '13px', cursor: 'pointer' },
  ':focus-visible:not(.cm-content)': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
};

/**
 * Makes an editor in the shadow root of an element.
 * @param {Library} library
 * @param {HTMLElement} host
 * @param {{ value: string, language: import('../components/editor.js').EditorLanguage, readOnly: boolean, label: string }} start
 * @param {(text: string) => void} changed
 * @returns {CodeEditor}
 */
export function setUp(library, host, start, changed) {
  const { Compartment, EditorState, EditorView, defaultKeymap, highlightActiveLine, highlightSpecialChars, history, historyKeymap, keymap, lineNumbers, lintGutter, nextDiagnostic, previousDiagnostic, search, searchKeymap, setDiagnostics } = library;
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const form = new Compartment();
  const formOf = (/** @type {import('../components/editor.js').EditorLanguage} */ language, /** @type {boolean} */ readOnly, /** @type {string} */ label) => [
    colours(library, language), EditorState.readOnly.of(readOnly),
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0', spellcheck: String(language === 'markdown' && !readOnly), ...(readOnly ? { 'aria-readonly': 'true' } : {}) }),
  ];
  /** The text that the page knows. */
  let known = start.value;
  const view = new EditorView({
    root, parent: root,
    state: EditorState.create({ doc: start.value, extensions: [
      lintGutter(), lineNumbers(), history(), search(), highlightSpecialChars(), highlightActiveLine(), EditorView.lineWrapping, EditorView.theme(LOOK),
      // Tab moves the focus, as in every field.
      keymap.of([{ key: 'F8', run: nextDiagnostic, shift: previousDiagnostic }, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
      form.of(formOf(start.language, start.readOnly, start.label)),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        const text = update.state.doc.toString();
        if (text !== known) { known = text; changed(text); }
      }),
    ] }),
  });
  const inText = (/** @type {number} */ at) => Math.max(0, Math.min(at, view.state.doc.length));
  const replace = (/** @type {number} */ at, /** @type {number} */ length, /** @type {string} */ text) => {
    const from = inText(at);
    view.dispatch({ changes: { from, to: inText(at + length), insert: text }, selection: { anchor: from + text.length }, scrollIntoView: true, userEvent: 'input' });
    view.focus();
  };
  return {
    focus: () => view.focus(),
    select(at, length) {
      view.dispatch({ selection: { anchor: inText(at), head: inText(at + length) }, effects: EditorView.scrollIntoView(inText(at), { y: 'center' }) });
      view.focus();
    },
    replace,
    insert(text) { const { from, to } = view.state.selection.main; replace(from, to - from, text); },
    setText(text) {
      if (text === known) return;
      known = text;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    setForm: (language, readOnly, label) => view.dispatch({ effects: form.reconfigure(formOf(language, readOnly, label)) }),
    setMarks: (marks) => view.dispatch(setDiagnostics(view.state, marks.map(({ at, length, severity, message }) => ({ from: inText(at), to: inText(at + length), severity, message })))),
    end: () => view.destroy(),
  };
}
