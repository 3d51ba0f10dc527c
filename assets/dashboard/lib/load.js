// Loading for pages: `useLoad` for one answer. A page shows four states: loading, failed, empty, loaded.
import { useCallback, useLayoutEffect, useRef, useState } from '../vendor/preact.js';
import { ApiError, api } from './api.js';

/**
 * @template T
 * @typedef {{ data: T | null, error: ApiError | null, loading: boolean, reload: () => Promise<void>, set: (data: T) => void }} Loaded
 * `data` stays while a reload runs, and after a failed reload.
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

/** Requests for a page that is about to be opened. @type {Map<string, Promise<unknown>>} */
const early = new Map();
const EARLY_MS = 1000;

/**
 * Asks for an answer that the next page loads.
 * @param {string} path
 * @param {import('./api.js').Query} [query]
 */
export function loadEarly(path, query = {}) {
  const key = keyOf(path, query), asked = api.get(path, query);
  early.set(key, asked);
  asked.then((data) => { if (early.get(key) === asked) keep(key, data); }, () => {});
  setTimeout(() => { if (early.get(key) === asked) early.delete(key); }, EARLY_MS);
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
  const [state, setState] = useState(() => ({ key, data: /** @type {T | null} */ (kept.get(key) ?? null), error: /** @type {ApiError | null} */ (null), loading: path !== null }));
  const running = useRef(/** @type {AbortController | null} */ (null)), latest = useRef(key);
  latest.current = key;

  const reload = useCallback(async () => {
    // An action that ends after the filter has changed must not load the former rows.
    if (path === null || latest.current !== key) return;
    running.current?.abort();
    const abort = running.current = new AbortController();
    try {
      const asked = early.get(key) ?? api.get(path, query, abort.signal);
      early.delete(key);
      const data = /** @type {T} */ (await asked);
      if (abort.signal.aborted) return;
      keep(key, data);
      setState({ key, data, error: null, loading: false });
    } catch (error) {
      if (abort.signal.aborted) return;
      const known = error instanceof ApiError ? error : new ApiError(0, 'error', String(error), null);
      setState((old) => ({ key, data: old.key === key ? old.data : null, error: known, loading: false }));
    }
  }, [key]);

  // Before the browser draws, so that it draws while the server answers.
  useLayoutEffect(() => {
    setState((old) => (old.key === key ? old : { key, data: /** @type {T | null} */ (kept.get(key) ?? null), error: null, loading: path !== null }));
    void reload();
    return () => running.current?.abort();
  }, [key]);

  const set = useCallback((/** @type {T} */ data) => {
    keep(key, data);
    setState({ key, data, error: null, loading: false });
  }, [key]);

  // Until the effect has run, the state is that of the previous key.
  const current = state.key === key ? state : { data: /** @type {T | null} */ (kept.get(key) ?? null), error: null, loading: path !== null };
  return { data: current.data, error: current.error, loading: current.loading, reload, set };
}

/** Drops the kept answers of paths that start with `path`, after a change. @param {string} path */
export function forget(path) {
  for (const key of kept.keys()) if (key.startsWith(path)) kept.delete(key);
}
