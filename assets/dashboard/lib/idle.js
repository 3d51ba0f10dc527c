/** Time after which a busy browser makes the call too. */
const WITHIN_MS = 200;

/** Calls `act` when the browser has nothing else to do, or soon. @param {() => void} act */
export function whenIdle(act) {
  // Safari has no idle callbacks.
  if (window.requestIdleCallback) window.requestIdleCallback(act, { timeout: WITHIN_MS }); else setTimeout(act);
}
