// Loading for pages: `useLoad` for one answer. A page shows four states: loading, failed, empty, loaded.
import { useCallback, useLayoutEffect, useRef, useState } from '../vendor/preact.js';
import { ApiError, api } from './api.js';
import { eventCount } from './live.js';

/**
 * @template T
 * @typedef {{ data: T | null, error: ApiError | null, loading: boolean, pending: boolean, reload: () => Promise<void>, set: (data: T) => void }} Loaded
 * `data` stays while a reload runs, and after a failed reload. `pending`: no answer is known yet; a known one can be null.
 */

/** Answers kept so that Back shows its page at once. The reload follows. @type {Map<string, unknown>} */
const kept = new Map();
const KEPT_MAX = 40;

/**
 * @param {string} key
 * @param {unknown} data
 */
function keep(key, data) {
  kept.delete(key);
  kept.set(key, data);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
}

/** @typedef {{ asked: Promise<unknown>, asked_ms: number, events: number, done: boolean }} EarlyRequest `events`: the number of events before it. `done`: its answer is kept */
/** Requests for a page that is about to be opened. @type {Map<string, EarlyRequest>} */
const early = new Map();
/** Time from an early answer until its page must load it. */
const EARLY_MS = 1000;

/** Whether no event has followed a request. @param {EarlyRequest | undefined} request */
const isCurrent = (request) => request?.events === eventCount();

/** Whether the answer is there, and no event has followed its request. @param {EarlyRequest | undefined} request */
const isAnswered = (request) => isCurrent(request) && request?.done;

/**
 * Asks for an answer that the next page loads. Resolves when an answer is kept, or has failed.
 * @param {string} path
 * @param {import('./api.js').Query} [query]
 */
export async function loadEarly(path, query = {}) {
  const key = keyOf(path, query), isKept = kept.has(key), known = early.get(key);
  const isUsable = known && isCurrent(known) && (known.done || performance.now() - known.asked_ms < EARLY_MS);
  const request = isUsable ? known : askEarly(key, path, query);
  if (!isKept) await request.asked.catch(() => {});
}

/**
 * @param {string} key
 * @param {string} path
 * @param {import('./api.js').Query} query
 */
function askEarly(key, path, query) {
  /** @type {EarlyRequest} */
  const request = { asked: api.get(path, query), asked_ms: performance.now(), events: eventCount(), done: false };
  early.set(key, request);
  request.asked.then((data) => {
    request.done = true;
    if (early.get(key) === request) keep(key, data);
  }, () => {}).then(() => { setTimeout(() => { if (early.get(key) === request) early.delete(key); }, EARLY_MS); });
  return request;
}

/** The early request for an answer; undefined without one, or if an event has followed it. @param {string} key */
function takeEarly(key) {
  const request = early.get(key);
  early.delete(key);
  return isCurrent(request) ? request?.asked : undefined;
}

/**
 * @param {string} path
 * @param {import('./api.js').Query} query
 */
const keyOf = (path, query) => `${path} ${JSON.stringify(query)}`;

/**
 * Loads `path` with `query`, and again when either changes. `path` null loads nothing.
 * @template T
 * @param {string | null} path
 * @param {import('./api.js').Query} [query]
 * @returns {Loaded<T>}
 */
export function useLoad(path, query = {}) {
  const key = path === null ? '' : keyOf(path, query);
  const first = () => ({ key, data: /** @type {T | null} */ (kept.get(key) ?? null), error: /** @type {ApiError | null} */ (null), loading: path !== null && !isAnswered(early.get(key)) });
  const [state, setState] = useState(first);
  const running = useRef(/** @type {AbortController | null} */ (null)), latest = useRef(key);
  latest.current = key;

  const load = useCallback(async (/** @type {Promise<unknown> | undefined} */ asked) => {
    // An action that ends after the filter has changed must not load the former rows.
    if (path === null || latest.current !== key) return;
    running.current?.abort();
    const abort = running.current = new AbortController();
    try {
      const data = /** @type {T} */ (await (asked ?? api.get(path, query, abort.signal)));
      if (abort.signal.aborted) return;
      // An equal answer keeps its object, so that a page that has it is not drawn again.
      const known = /** @type {T | undefined} */ (kept.get(key)), next = known && known !== data && JSON.stringify(known) === JSON.stringify(data) ? known : data;
      keep(key, next);
      setState((old) => (old.key === key && old.data === next && !old.loading && !old.error ? old : { key, data: next, error: null, loading: false }));
    } catch (error) {
      if (abort.signal.aborted) return;
      const known = error instanceof ApiError ? error : new ApiError(0, 'error', String(error), null);
      setState((old) => ({ key, data: old.key === key ? old.data : null, error: known, loading: false }));
    }
  }, [key]);
  const reload = useCallback(() => load(undefined), [load]);

  // Before the browser draws, so that it draws while the server answers.
  useLayoutEffect(() => {
    setState((old) => (old.key === key ? old : first()));
    void load(takeEarly(key));
    return () => running.current?.abort();
  }, [key]);

  const set = useCallback((/** @type {T} */ data) => {
    keep(key, data);
    setState({ key, data, error: null, loading: false });
  }, [key]);

  // Until the effect has run, the state is that of the previous key.
  const current = state.key === key ? state : first();
  return { data: current.data, error: current.error, loading: current.loading, pending: current.loading && !kept.has(key), reload, set };
}

/** Drops the kept answers of paths that start with `path`, after a change. @param {string} path */
export function forget(path) {
  for (const answers of [kept, early]) for (const key of answers.keys()) if (key.startsWith(path)) answers.delete(key);
}
