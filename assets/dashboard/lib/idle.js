/** Calls `act` when the browser has nothing else to do. Safari has no idle callbacks. @param {() => void} act */
export function whenIdle(act) {
  (window.requestIdleCallback ?? setTimeout)(act);
}
