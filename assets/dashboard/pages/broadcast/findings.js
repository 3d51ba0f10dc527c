// The check of a broadcast: runs after each save, marks its findings in the editor, and lists them.
import { useCallback, useEffect, useMemo, useRef, useState } from '../../vendor/preact.js';
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { ApiError, api } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { plural } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { errorNote, note } from '../../components/empty.js';
import { isRepairable } from './repair.js';
import { messageOf } from './words.js';

/** @typedef {import('../../types/broadcasts.d.ts').BroadcastCheck} BroadcastCheck */
/** @typedef {import('../../types/broadcasts.d.ts').Finding} Finding */
/**
 * @typedef {object} Check
 * @property {BroadcastCheck | null} result of the last saved state
 * @property {ApiError | null} error
 * @property {boolean} running
 * @property {boolean} hasCheckedLinks whether a check of this visit has requested the links
 * @property {(options?: { links?: boolean }) => Promise<void>} run
 * @property {() => void} again the content was replaced on the server
 * @property {number} replacements how often that happened
 */

/** Time after a save until the check runs. */
const SETTLE_MS = 600;

/**
 * @param {string} id
 * @param {import('../parts/autosave.js').Autosave<any>} saved
 * @param {boolean} isAllowed
 * @returns {Check}
 */
export function useCheck(id, saved, isAllowed) {
  const [state, setState] = useState({ result: /** @type {BroadcastCheck | null} */ (null), error: /** @type {ApiError | null} */ (null), running: false, hasCheckedLinks: false });
  const [replacements, setReplacements] = useState(0);
  const dirty = useRef(saved.dirty), number = useRef(0);
  dirty.current = saved.dirty;
  useEffect(() => () => { number.current += 1; }, []);

  const run = useCallback(async (/** @type {{ links?: boolean }} */ { links = false } = {}) => {
    const mine = number.current += 1;
    setState((old) => ({ ...old, running: true }));
    try {
      const result = /** @type {BroadcastCheck} */ (await api.post(`/broadcasts/${id}/check`, links ? { links } : {}));
      // Positions of a text that has changed meanwhile are wrong. The next save brings the next check.
      if (mine === number.current) setState((old) => ({ result: dirty.current ? old.result : result, error: null, running: false, hasCheckedLinks: links || old.hasCheckedLinks }));
    } catch (thrown) {
      if (mine === number.current) setState((old) => ({ ...old, error: thrown instanceof ApiError ? thrown : new ApiError(0, 'error', String(thrown), null), running: false }));
    }
  }, [id]);
  useEffect(() => {
    if (!isAllowed) return undefined;
    const timer = setTimeout(() => { void run(); }, saved.saves + replacements === 0 ? 0 : SETTLE_MS);
    return () => clearTimeout(timer);
  }, [run, isAllowed, saved.saves, replacements]);
  return { ...state, run, again: () => setReplacements((n) => n + 1), replacements };
}

/**
 * The marks of the findings in one part of the content.
 * @param {BroadcastCheck | null} result
 * @param {'source' | 'html' | 'text'} part
 * @returns {import('../../components/editor.js').EditorMark[]}
 */
export function useMarks(result, part) {
  return useMemo(() => (result?.findings ?? []).flatMap(({ part: of, at, length, severity, message }) => (of === part && at !== null ? [{ at, length: length ?? 0, severity, message }] : [])), [result, part]);
}

/**
 * The list of the findings below the editor.
 * @param {{ check: Check, show: (finding: Finding) => void, addFallback: (finding: Finding) => boolean, addAlt: (finding: Finding) => void }} props
 *   `addFallback` returns whether the finding still had its place
 */
export function Findings({ check, show, addFallback, addAlt }) {
  const { result, error, running } = check, findings = result?.findings ?? [];
  const links = result?.links;
  const [isRefused, setRefused] = useState(false);
  useEffect(() => setRefused(false), [result]);
  const title = !result ? (running ? 'Checking' : 'Check') : findings.length === 0 ? 'Nothing to change' : plural(findings.length, 'thing to check', 'things to check');
  return t.section({ class: 'lints', 'aria-labelledby': 'h-lint' },
    t.header(null, t.h2({ id: 'h-lint', tabIndex: -1 }, title), t.span({ class: 'sr', role: 'status' }, running ? '' : title),
      links && t.span({ class: 'meta' }, links.checked < links.found ? `${links.checked} of ${plural(links.found, 'link')} checked` : `${plural(links.checked, 'link')} checked`),
      h(Button, { size: 'sm', kind: 'ghost', onClick: () => check.run({ links: true }) }, 'Check links')),
    !links && check.hasCheckedLinks && t.p({ class: 'meta' }, 'Links were not checked since the last change.'),
    error && errorNote(error),
    isRefused && note('red', t.p(null, 'The content has changed since the check. Try again in a moment.')),
    findings.length > 0 && t.ul(null, findings.map((finding, i) => t.li({ key: i },
      icon(finding.severity === 'error' ? 'stop' : 'warn', finding.severity === 'error' ? 'red' : 'amber'),
      t.span(null, finding.at !== null && finding.part && t.button({ type: 'button', class: 'link', onClick: () => show(finding) }, placeOf(finding)), finding.at !== null && ' ', result && messageOf(finding, result.audience)),
      isRepairable(finding) && (finding.kind === 'alt_missing' ? h(Button, { size: 'sm', onClick: () => addAlt(finding) }, 'Add text…') : h(Button, { size: 'sm', onClick: () => setRefused(!addFallback(finding)) }, 'Add “there”'))))));
}

/** Returns the place of a finding as text. @param {Finding} finding */
function placeOf({ part, line }) {
  if (part === 'subject') return 'Subject';
  if (part === 'preview_text') return 'Preview text';
  return `${part === 'text' ? 'Text, line' : 'Line'} ${line ?? 1}`;
}
