// The state that the sidebar and the banners show: the checks of the server, the queue, and disabled endpoints.
import { signal } from '../vendor/preact.js';
import { api } from './api.js';

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

/** @typedef {{ health: HealthState | null, queue: { waiting: number, paused: boolean }, webhooks: { failing: number }, attention: { text: string, href: string }[] }} StatusAnswer */

/** Takes the values of an answer of `GET /overview`. @param {StatusAnswer} overview */
export function takeStatus(overview) {
  health.value = overview.health;
  queueWaiting.value = overview.queue.waiting;
  queuePaused.value = overview.queue.paused;
  const first = overview.attention.find(({ href }) => href.startsWith('/dashboard/webhooks/'));
  disabledEndpoints.value = first ? { ...first, count: overview.webhooks.failing } : null;
}

/** Asks for the state, such as after a change. */
export async function askStatus() {
  try { takeStatus(await api.get('/overview')); } catch { health.value = null; }
}

/** Asks from time to time, beginning after the first page is shown. */
export function startStatus() {
  const ask = () => { if (document.visibilityState === 'visible') void askStatus(); };
  setTimeout(() => { ask(); setInterval(ask, EVERY_MS); }, 1500);
}
