// Live updates: one event stream for a browser. The tab that holds a lock reads the stream and sends its
// events to the other tabs. Without a secure context there are no locks: each tab then asks every 5 s.
import { signal, useEffect, useRef } from '../vendor/preact.js';
import { readEvents } from './api.js';

/** @typedef {{ type: string, data: any }} LiveEvent `data` is the event as a webhook receives it. */
/** @typedef {'live' | 'reconnecting' | 'polling'} LiveState */

const NAME = 'ringmail-live';
const POLL_MS = 5000;
/** Time without the stream until the page says so. */
const GRACE_MS = 3000;
const RETRY_MAX_S = 30;

/** The state of the stream. @type {import('../vendor/preact.js').Signal<LiveState>} */
export const liveState = signal(/** @type {LiveState} */ ('live'));

/** @type {Set<(event: LiveEvent) => void>} */
const listeners = new Set();

/** The stream was away, or a poll is due: pages ask for what they do not have. */
const REFRESH = 'ringmail.refresh';

let dispatched = 0;
/** The number of events so far, with gaps in the stream. An answer from before an event may be without it. */
export const eventCount = () => dispatched;

/** @param {LiveEvent} event */
function dispatch(event) {
  dispatched += 1;
  for (const listener of listeners) listener(event);
}

/** Starts the live updates of this tab. */
export function startLive() {
  if (!navigator.locks || typeof BroadcastChannel === 'undefined') {
    liveState.value = 'polling';
    setInterval(() => { if (document.visibilityState === 'visible') dispatch({ type: REFRESH, data: null }); }, POLL_MS);
    return;
  }
  const channel = new BroadcastChannel(NAME);
  let leads = false;
  const send = (/** @type {LiveEvent} */ event) => { dispatch(event); channel.postMessage({ event }); };
  const publish = (/** @type {LiveState} */ state) => { liveState.value = state; channel.postMessage({ state }); };
  channel.onmessage = ({ data }) => {
    if (data.event) dispatch(data.event);
    if (data.state && !leads) liveState.value = data.state;
    if (data.ask && leads) channel.postMessage({ state: liveState.value });
  };
  channel.postMessage({ ask: true });
  void navigator.locks.request(NAME, async () => {
    leads = true;
    await lead(send, publish);
  });
}

/**
 * Reads the stream as long as the tab lives.
 * @param {(event: LiveEvent) => void} send
 * @param {(state: LiveState) => void} publish
 */
async function lead(send, publish) {
  const away = () => setTimeout(() => publish('reconnecting'), GRACE_MS);
  let late = away();
  for (let failures = 0; ;) {
    let wait = 0;
    try {
      wait = await readEvents({
        onOpen() {
          clearTimeout(late);
          late = failures = 0;
          publish('live');
          // This stream has no earlier events, such as those while another tab handed over its lock.
          send({ type: REFRESH, data: null });
        },
        onEvent: (type, data) => send({ type: type === 'ringmail.missed' ? REFRESH : type, data }),
      });
    } catch { /* The connection broke. */ }
    failures += 1;
    // Once for a gap: shorter waits than `GRACE_MS` do not start it again.
    late ||= away();
    await new Promise((resolve) => setTimeout(resolve, Math.max(wait, Math.min(RETRY_MAX_S, 2 ** (failures - 1))) * 1000 * (0.75 + Math.random() / 2)));
    // The server refuses streams, but answers: the pages ask meanwhile.
    if (wait > 0) send({ type: REFRESH, data: null });
  }
}

/**
 * Calls `refresh` soon after an event of one of the types, and after each gap in the stream. A type ends with
 * `.` for all of its group: `email.`. Events that follow each other closely cause one call.
 * @param {string[]} types
 * @param {(event: LiveEvent) => void} refresh
 * @param {number} [delay_ms]
 * @param {(event: LiveEvent) => boolean} [wants] leaves out further events
 */
export function useLive(types, refresh, delay_ms = 250, wants = undefined) {
  const wanted = useRef(wants);
  wanted.current = wants;
  useEffect(() => {
    let timer = 0;
    const listener = (/** @type {LiveEvent} */ event) => {
      if (event.type !== REFRESH) {
        if (!types.some((type) => (type.endsWith('.') ? event.type.startsWith(type) : event.type === type))) return;
        if (wanted.current && !wanted.current(event)) return;
      }
      if (!timer) timer = setTimeout(() => { timer = 0; refresh(event); }, delay_ms);
    };
    listeners.add(listener);
    return () => { listeners.delete(listener); clearTimeout(timer); };
  }, [types.join(), refresh]);
}

/**
 * Calls `refresh` at an interval while the tab is visible: for facts that no event reports.
 * @param {() => unknown} refresh
 * @param {number | null} every_ms null: never
 */
export function usePoll(refresh, every_ms) {
  useEffect(() => {
    if (every_ms === null) return undefined;
    const timer = setInterval(() => { if (document.visibilityState === 'visible') refresh(); }, every_ms);
    return () => clearInterval(timer);
  }, [refresh, every_ms]);
}
