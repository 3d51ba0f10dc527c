// Lists with cursors, kept up to date. Rows never move by themselves: a chip counts the new ones.
import { useCallback, useEffect, useRef, useState } from '../vendor/preact.js';
import { useLoad } from './load.js';
import { api } from './api.js';
import { useLive, usePoll } from './live.js';
import { query, setQuery } from './router.js';
import { store, stored } from './state.js';
import { scrollToTop } from './viewport.js';

/**
 * @template Row
 * @typedef {object} List
 * @property {Row[] | null} rows null while the first answer is awaited
 * @property {import('./api.js').ApiError | null} error
 * @property {() => Promise<void>} reload
 * @property {number} fresh how many rows wait behind the chip
 * @property {() => void} showFresh
 * @property {(() => void) | null} newer
 * @property {(() => void) | null} older
 * @property {number} size
 * @property {(size: number) => void} setSize
 * @property {any} page the whole answer
 */

/** Rows on a page, remembered by the browser. */
const pageSize = () => Number(stored('rows', '50')) || 50;

/** @returns {[number, (size: number) => void]} */
function usePageSize() {
  const [size, setSize] = useState(pageSize);
  return [size, (next) => { store('rows', String(next)); setSize(next); }];
}

/**
 * The first request of an unfiltered list, for the route of its page.
 * @param {string} path
 * @returns {(id: string, query: Record<string, string>) => import('./router.js').Read[]} none for an address with filters
 */
export function listReads(path) {
  return (_id, { after, before, ...filters }) => Object.keys(filters).length > 0 ? [] : [[path, { limit: pageSize(), after, before }]];
}

/**
 * A list of the API. The cursors `after` and `before` live in the query of the address.
 * @template {{ id: string }} Row
 * @param {string} path
 * @param {{ query?: import('./api.js').Query, live?: string[], poll_ms?: number | null }} [options]
 *   `live`: types of events after which the list is asked again. `poll_ms`: interval, for rows that no event reports
 * @returns {List<Row>}
 */
export function useList(path, { query: extra = {}, live = [], poll_ms = null } = {}) {
  const [size, setSize] = usePageSize();
  const { after, before } = query.value;
  const page = /** @type {import('./load.js').Loaded<{ data: Row[], has_more: boolean, position?: string | null }>} */ (useLoad(path, { ...extra, limit: size, after, before }));
  const [fresh, setFresh] = useState(/** @type {Row[]} */ ([]));
  const key = JSON.stringify([path, extra, size, after, before]);
  const shown = useRef(page.data), missed = useRef(false);
  shown.current = page.data;
  useEffect(() => setFresh((old) => (old.length > 0 ? [] : old)), [key]);

  const refresh = useCallback(async () => {
    const old = shown.current;
    missed.current = old === null;
    if (!old) return;
    let next;
    try { next = await api.get(path, { ...extra, limit: size, after, before }); } catch { return; }
    if (shown.current !== old) return;
    if (old.data.length === 0 || after || before) { page.set(after || before ? { ...old, data: merge(old.data, next.data) } : next); return; }
    const known = new Set(old.data.map((row) => row.id));
    const firstKnown = next.data.findIndex((/** @type {Row} */ row) => known.has(row.id));
    setFresh(next.data.slice(0, firstKnown < 0 ? next.data.length : firstKnown));
    page.set({ ...old, data: merge(old.data, next.data) });
  }, [key, page.set]);
  useLive(live, refresh);
  usePoll(refresh, poll_ms);
  // An event came while the first answer was awaited, which may be without it.
  useEffect(() => { if (page.data && missed.current) void refresh(); }, [page.data, refresh]);

  const rows = page.data?.data ?? null;
  const first = rows?.[0], last = rows?.at(-1), more = page.data?.has_more ?? false;
  // A page that ended early names its position; its rows may be none.
  const next = before ? last?.id : page.data?.position ?? last?.id;
  const hasNewer = before ? more : Boolean(after), hasOlder = before ? true : more;
  return {
    rows, error: page.error, reload: page.reload, page: page.data, size,
    setSize: (next) => { setSize(next); setQuery({ after: null, before: null }); },
    fresh: fresh.length,
    showFresh: () => { setFresh([]); scrollToTop(); void page.reload(); },
    newer: hasNewer && first ? () => { setQuery({ after: null, before: first.id }); scrollToTop(); } : null,
    older: hasOlder && next ? () => { setQuery({ before: null, after: next }); scrollToTop(); } : null,
  };
}

/**
 * The old rows with the values of the new answer, in the old order.
 * @template {{ id: string }} Row
 * @param {Row[]} old
 * @param {Row[]} next
 */
export function merge(old, next) {
  const byId = new Map(next.map((row) => [row.id, row]));
  return old.map((row) => byId.get(row.id) ?? row);
}
