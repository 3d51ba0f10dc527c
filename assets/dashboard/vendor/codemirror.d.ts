// Types of codemirror.js: those of the packages it is made from. Only the type check reads this file.
export { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
export { lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics } from '@codemirror/lint';
export type { Diagnostic } from '@codemirror/lint';
export { search, searchKeymap } from '@codemirror/search';
export { Compartment, EditorState } from '@codemirror/state';
export { Decoration, EditorView, ViewPlugin, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
export type { DecorationSet, ViewUpdate } from '@codemirror/view';
