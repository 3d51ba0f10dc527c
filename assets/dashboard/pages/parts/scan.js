// Filters that the API does not have: the page reads the list back from the newest row and keeps what matches.
// It stops after some pages and shows the time that it has reached.
import { h, useCallback, useEffect, useRef, useState } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { ApiError, api } from '../../lib/api.js';
import { exact, parseTime, plural, relative } from '../../lib/time.js';
import { now } from '../../lib/state.js';
import { Button } from '../../components/button.js';
import { empty } from '../../components/empty.js';

/**
 * @template Row
 * @typedef {object} Scan
 * @property {Row[] | null} rows null until the first answer
 * @property {ApiError | null} error
 * @property {boolean} running
 * @property {number | null} reached the time of the last row that was read; null if all are read
 * @property {(() => void) | null} further
 * @property {() => void} again
 */

/** Rows of one request, requests that follow each other by themselves, and rows after which they stop. */
const PAGE = 100, ROUNDS = 5, ENOUGH = 50;

/**
 * @template {{ id: string, created_at: string }} Row
 * @param {string | null} path null: nothing is read
 * @param {import('../../lib/api.js').Query} query
 * @param {(row: Row) => boolean} match
 * @param {string} words names the filter: another text starts again
 * @returns {Scan<Row>}
 */
export function useScan(path, query, match, words) {
  const key = JSON.stringify([path, query, words]);
  const start = { key, rows: /** @type {Row[] | null} */ (null), error: /** @type {ApiError | null} */ (null), running: true, after: /** @type {string | undefined} */ (undefined), reached: /** @type {number | null} */ (null), complete: false };
  const [state, setState] = useState(start);
  const running = useRef(/** @type {AbortController | null} */ (null));
  const matches = useRef(match);
  matches.current = match;

  const run = useCallback(async (/** @type {typeof start} */ from) => {
    running.current?.abort();
    if (path === null) return;
    const abort = running.current = new AbortController();
    let { rows, after, reached } = from;
    const goal = (rows?.length ?? 0) + ENOUGH;
    try {
      for (let round = 1; ; round += 1) {
        const page = /** @type {{ data: Row[], has_more: boolean, position?: string | null }} */ (await api.get(path, { ...query, limit: PAGE, after }, abort.signal));
        if (abort.signal.aborted) return;
        rows = [...(rows ?? []), ...page.data.filter((row) => matches.current(row))];
        const last = page.data.at(-1);
        // A page that ended early names its position, an id that starts with the time in milliseconds.
        after = page.position ?? last?.id ?? after;
        reached = page.position ? parseInt(page.position.replace('-', ''), 16) : parseTime(last?.created_at) ?? reached;
        const complete = !page.has_more;
        const done = complete || rows.length >= goal || round >= ROUNDS;
        setState({ key, rows, after, reached: complete ? null : reached, complete, error: null, running: !done });
        if (done) return;
      }
    } catch (error) {
      if (abort.signal.aborted) return;
      setState({ key, rows, after, reached, complete: false, error: error instanceof ApiError ? error : new ApiError(0, 'error', String(error), null), running: false });
    }
  }, [key]);

  useEffect(() => {
    setState((old) => (old.key === key ? old : start));
    void run(start);
    return () => running.current?.abort();
  }, [key]);

  const current = state.key === key ? state : start;
  return {
    rows: current.rows, error: current.error, running: current.running && path !== null, reached: current.complete ? null : current.reached,
    further: !current.running && !current.complete && current.rows ? () => { setState({ ...current, running: true }); void run(current); } : null,
    again: () => { setState(start); void run(start); },
  };
}

/** The reached time as a sentence. @param {Scan<any>} scan @param {string} thing such as `requests` */
export function reachedText({ reached }, thing) {
  return reached === null ? `Searched all ${thing}.` : `Searched back to ${relative(reached, now.value)}.`;
}

/**
 * Nothing matches: names the filter, clears it, and looks further.
 * @param {{ scan: Scan<any>, title: string, thing: string, words: string, clear: () => void }} props
 */
export function NoneFound({ scan, title, thing, words, clear }) {
  return empty({ title, text: `${words} ${reachedText(scan, thing)}`, actions: [
    scan.further && h(Button, { key: 'more', onClick: scan.further }, 'Search further'), h(Button, { key: 'clear', onClick: clear }, 'Clear filters')] });
}

/**
 * The rows that match with their foot, or a text that says why no row matches.
 * @template Row
 * @param {{ scan: Scan<Row>, title: string, one: string, many?: string, thing?: string, words: string, clear: () => void, rows: (rows: Row[] | null) => import('../../lib/h.js').Children }} props `rows` gets null while the first match is awaited
 */
export function found({ scan, title, one, many = `${one}s`, thing = many, words, clear, rows }) {
  const none = scan.rows?.length === 0;
  if (none && !scan.running) return h(NoneFound, { scan, title, thing, words, clear });
  return fragment(rows(none ? null : scan.rows), h(ScanFoot, { scan, one, many }));
}

/** The foot of a filtered list. @param {{ scan: Scan<any>, one: string, many?: string }} props */
export function ScanFoot({ scan, one, many = `${one}s` }) {
  return t.div({ class: 'table-foot' },
    scan.running ? t.span({ class: 'live live-wait', role: 'status' }, 'Searching')
      : t.span({ role: 'status', title: scan.reached === null ? undefined : exact(scan.reached) }, reachedText(scan, many), ' ', scan.further && t.button({ class: 'link', type: 'button', onClick: scan.further }, 'Search further')),
    t.span({ class: 'grow' }), scan.rows && t.span(null, plural(scan.rows.length, one, many)));
}
