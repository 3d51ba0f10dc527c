// Saves the changes of a page by itself, soon after the last one. The page shows when. If another window has changed the
// same draft, the page asks which version to keep.
import { h, useCallback, useEffect, useRef, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { ApiError } from '../../lib/api.js';
import { Button } from '../../components/button.js';
import { note } from '../../components/empty.js';
import { Time } from '../../components/time.js';

/** Pause in the typing after which changes are saved. */
const TYPING_MS = 800;
/** Name of the error of a change that is based on an older revision. */
const STALE = 'stale_revision';

/**
 * @template {object} Fields
 * @typedef {object} Autosave
 * @property {(changes: Partial<Fields>) => void} change
 * @property {() => Promise<boolean>} flush saves at once; false if that failed
 * @property {boolean} dirty whether changes wait
 * @property {string | null} at time of the last save on this page
 * @property {number} saves how often the page was saved
 * @property {ApiError | null} error why the changes are not saved
 * @property {boolean} isStale another window has changed the draft: nothing is saved until `resume`
 * @property {(changes: Partial<Fields>) => Promise<boolean>} resume saves these and the waiting changes at once
 */

/**
 * @template {object} Fields
 * @param {(changes: Partial<Fields>) => Promise<unknown>} save called with all changes since the last save, never twice at a time
 * @returns {Autosave<Fields>}
 */
export function useAutosave(save) {
  const [state, setState] = useState({ dirty: false, at: /** @type {string | null} */ (null), saves: 0, error: /** @type {ApiError | null} */ (null) });
  const waiting = useRef(/** @type {Partial<Fields> | null} */ (null));
  const running = useRef(/** @type {Promise<boolean> | null} */ (null));
  const timer = useRef(0), isHalted = useRef(false);
  const latest = useRef(save);
  latest.current = save;

  const flush = useCallback(async () => {
    clearTimeout(timer.current);
    while (running.current) await running.current;
    const changes = waiting.current;
    if (isHalted.current) return false;
    if (!changes) return true;
    waiting.current = null;
    running.current = latest.current(changes).then(() => {
      setState((old) => ({ dirty: waiting.current !== null, at: new Date().toISOString(), saves: old.saves + 1, error: null }));
      return true;
    }, (error) => {
      // Changes since the request are newer.
      waiting.current = { ...changes, ...waiting.current };
      const known = error instanceof ApiError ? error : new ApiError(0, 'error', String(error), null);
      isHalted.current = known.name === STALE;
      setState((old) => ({ ...old, dirty: true, error: known }));
      return false;
    });
    const saved = await running.current;
    running.current = null;
    return saved;
  }, []);

  const change = useCallback((/** @type {Partial<Fields>} */ changes) => {
    waiting.current = /** @type {Partial<Fields>} */ ({ ...waiting.current, ...changes });
    setState((old) => ({ ...old, dirty: true }));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => { void flush(); }, TYPING_MS);
  }, [flush]);

  const resume = useCallback((/** @type {Partial<Fields>} */ changes) => {
    waiting.current = /** @type {Partial<Fields>} */ ({ ...changes, ...waiting.current });
    isHalted.current = false;
    return flush();
  }, [flush]);

  useEffect(() => {
    // The browser asks before it leaves a page with changes, and the page saves them meanwhile.
    const leave = (/** @type {BeforeUnloadEvent} */ event) => { if (waiting.current) { event.preventDefault(); void flush(); } };
    addEventListener('beforeunload', leave);
    return () => { removeEventListener('beforeunload', leave); void flush(); };
  }, [flush]);
  return { ...state, isStale: state.error?.name === STALE, change, flush, resume };
}

/** Time of the last save of the page. @param {{ saved: Autosave<any>, since?: string }} props `since` is the time of
 *  the state that the page has loaded, if it is known */
export function SavedAt({ saved, since }) {
  if (saved.error) return t.span({ class: 'row red', role: 'status' }, 'Not saved', !saved.isStale && h(Button, { size: 'sm', onClick: saved.flush }, 'Save again'));
  if (saved.dirty) return t.span({ class: 'meta nowrap' }, 'Saving…');
  const at = saved.at ?? since;
  return t.span({ class: 'meta nowrap' }, 'Saved', at && ' ', at && h(Time, { at }));
}

/**
 * The choice after another window has changed the draft.
 * @param {{ saved: Autosave<any>, load: () => Promise<void>, keep: () => Promise<unknown> }} props `load` discards the changes of this page, `keep` saves all of its text
 */
export function StaleNote({ saved, load, keep }) {
  if (!saved.isStale) return null;
  return note('red', t.div({ class: 'stack-sm' },
    t.p(null, t.b(null, 'This draft was changed in another window. '), 'Your last changes are not saved. Load the newer version without them, or replace it with your text.'),
    t.div({ class: 'actions' }, h(Button, { size: 'sm', onClick: load }, 'Load the newer version'), h(Button, { size: 'sm', onClick: keep }, 'Keep mine'))));
}

/** Says why nothing can be changed. */
export function onlyReads() {
  return note('plain', t.p(null, 'You can read this. To change it, you need the role member.'));
}

/** The field that an error of the API is about: its message names it in backticks. @param {ApiError | null} error */
export function fieldOf(error) {
  return error && /`(\w+)`/.exec(error.message)?.[1];
}
