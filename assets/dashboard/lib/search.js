// Search: the server stops after a time budget and returns the position it reached. The page continues from there until
// it has enough rows, and names the time of the oldest row that it has read.
import { useCallback, useEffect, useRef, useState } from '../vendor/preact.js';
import { ApiError, api } from './api.js';
import { merge } from './list.js';
import { useLive, usePoll } from './live.js';
import { parseTime } from './time.js';
import { scrollToTop } from './viewport.js';

/** @typedef {import('../types/api.d.ts').EmailSummary & { tags?: { name: string, value: string }[] }} EmailRow */
/**
 * @template Row
 * @typedef {object} Search
 * @property {Row[] | null} rows null until the first answer
 * @property {ApiError | null} error
 * @property {boolean} running
 * @property {number | null} reached how far back the search has looked; null if all is searched
 * @property {(() => void) | null} further continues the search
 * @property {() => void} again
 * @property {number} fresh
 * @property {() => void} showFresh
 */

/** Requests that follow each other by themselves. */
const ROUNDS = 8;
/** Rows after which the search waits for `further`. */
const ENOUGH = 50;

/**
 * A filtered list of the server, newest first.
 * @template {{ id: string, created_at: string }} Row
 * @param {string} path
 * @param {import('./api.js').Query} query the filters
 * @param {{ live?: string[], poll_ms?: number | null }} [options]
 *   `live`: types of events after which the newest rows are asked again. `poll_ms`: interval, for rows that no event reports
 * @returns {Search<Row>}
 */
export function useSearch(path, query, { live = [], poll_ms = null } = {}) {
  const key = JSON.stringify([path, query]);
  const start = { key, until: /** @type {string | null} */ (null), rows: /** @type {Row[] | null} */ (null), error: /** @type {ApiError | null} */ (null), running: true, position: /** @type {string | null} */ (null), complete: false };
  const [state, setState] = useState(start);
  const [fresh, setFresh] = useState(/** @type {Row[]} */ ([]));
  const held = useRef(state);
  held.current = state;
  const running = useRef(/** @type {AbortController | null} */ (null));
  const missed = useRef(false);

  const run = useCallback(async (/** @type {typeof start} */ from) => {
    running.current?.abort();
    const abort = running.current = new AbortController();
    let { rows, position, until } = from;
    const goal = (rows?.length ?? 0) + ENOUGH;
    try {
      for (let round = 1; ; round += 1) {
        const page = await api.get(path, { ...query, after: position }, abort.signal);
        if (abort.signal.aborted) return;
        rows = [...(rows ?? []), ...page.data];
        position = page.position;
        const complete = position === null;
        const done = complete || rows.length >= goal || round >= ROUNDS;
        until = page.searched_until ?? null;
        setState({ key, until, rows, position, complete, error: null, running: !done });
        if (done) return;
      }
    } catch (error) {
      if (abort.signal.aborted) return;
      const known = error instanceof ApiError ? error : new ApiError(0, 'error', String(error), null);
      setState({ key, until, rows, position, complete: false, error: known, running: false });
    }
  }, [key]);

  useEffect(() => {
    setState((old) => (old.key === key ? old : { ...start, rows: null }));
    setFresh([]);
    void run(start);
    return () => running.current?.abort();
  }, [key]);

  const refresh = useCallback(async () => {
    const old = held.current;
    missed.current = !old.rows || old.running;
    if (!old.rows || old.running) return;
    let page;
    try { page = await api.get(path, query); } catch { return; }
    if (held.current !== old) return;
    const known = new Set(old.rows.map((row) => row.id));
    const news = page.data.filter((/** @type {Row} */ row) => !known.has(row.id) && (!old.rows?.[0] || row.id > old.rows[0].id));
    if (old.rows.length === 0) setState({ ...old, rows: news }); else { setFresh(news); setState({ ...old, rows: merge(old.rows, page.data) }); }
  }, [key]);
  useLive(live, refresh, 1000);
  usePoll(refresh, poll_ms);
  // An event came while the search ran, which may be without it.
  useEffect(() => { if (!state.running && missed.current) void refresh(); }, [state.running, refresh]);

  const current = state.key === key ? state : start;
  return {
    rows: current.rows, error: current.error, running: current.running, fresh: fresh.length,
    reached: current.complete ? null : parseTime(current.until) ?? parseTime(current.rows?.at(-1)?.created_at),
    further: !current.running && !current.complete && current.position !== null ? () => { setState({ ...current, running: true }); void run(current); } : null,
    again: () => { setState(start); void run(start); },
    showFresh: () => { setState({ ...current, rows: [...fresh, ...(current.rows ?? [])] }); setFresh([]); scrollToTop(); },
  };
}
