// The state that the sidebar and the banners show: the checks of the server, the queue, and disabled endpoints.
import { signal } from '../vendor/preact.js';
import { api } from './api.js';
import { forget } from './load.js';

/** @typedef {'ok' | 'warning' | 'failing'} HealthState */

/** @type {import('../vendor/preact.js').Signal<HealthState | null>} */
export const health = signal(/** @type {HealthState | null} */ (null));
/** @type {import('../vendor/preact.js').Signal<number>} */
export const queueWaiting = signal(0);
/** Whether all deliveries are paused. */
export const queuePaused = signal(false);
/** The number of endpoints that the server has disabled, and the first one as a sentence with its page. @type {import('../vendor/preact.js').Signal<{ count: number, text: string, href: string } | null>} */
export const disabledEndpoints = signal(/** @type {{ count: number, text: string, href: string } | null} */ (null));

const EVERY_MS = 30_000;

/** @typedef {{ health: HealthState | null, queue: { waiting: number, paused: boolean }, webhooks: { disabled: number }, attention: { severity: string, text: string, href: string }[] }} StatusAnswer */

/** Takes the values of an answer of `GET /overview`. @param {StatusAnswer} overview */
export function takeStatus(overview) {
  health.value = overview.health;
  queueWaiting.value = overview.queue.waiting;
  queuePaused.value = overview.queue.paused;
  const count = overview.webhooks.disabled;
  const first = overview.attention.find(({ severity, href }) => severity === 'red' && href.startsWith('/dashboard/webhooks/'));
  disabledEndpoints.value = count > 0 && first ? { ...first, count } : null;
}

/** Number of the newest request. An earlier one can get its answer later. */
let asked = 0;

/** Takes the newest answer. After a failure, no state is known. */
async function readStatus() {
  const mine = asked += 1;
  /** @type {StatusAnswer} */
  let answer = { health: null, queue: { waiting: 0, paused: false }, webhooks: { disabled: 0 }, attention: [] };
  try { answer = await api.get('/overview'); } catch { /* The next request asks again. */ }
  if (mine === asked) takeStatus(answer);
}

/** Asks for the state after a change. The kept answer of the overview has the former state. */
export function askStatus() {
  forget('/overview');
  return readStatus();
}

/** Asks from time to time, beginning after the first page is shown. */
export function startStatus() {
  const ask = () => { if (document.visibilityState === 'visible') void readStatus(); };
  setTimeout(() => { ask(); setInterval(ask, EVERY_MS); }, 1500);
}
