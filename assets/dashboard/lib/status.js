// The state of the server that the sidebar shows: the checks of its health, and the size of the queue.
import { signal } from '../vendor/preact.js';
import { api } from './api.js';

/** @typedef {'ok' | 'warning' | 'failing'} HealthState */

/** @type {import('../vendor/preact.js').Signal<HealthState | null>} */
export const health = signal(/** @type {HealthState | null} */ (null));
/** @type {import('../vendor/preact.js').Signal<number>} */
export const queueWaiting = signal(0);

const EVERY_MS = 30_000;

/** Takes the values of an answer of `GET /overview`. @param {{ health: HealthState | null, queue: { waiting: number } }} overview */
export function takeStatus(overview) {
  health.value = overview.health;
  queueWaiting.value = overview.queue.waiting;
}

/** Asks from time to time, beginning after the first page is shown. */
export function startStatus() {
  const ask = async () => {
    if (document.visibilityState !== 'visible') return;
    try { takeStatus(await api.get('/overview')); } catch { health.value = null; }
  };
  setTimeout(() => { void ask(); setInterval(ask, EVERY_MS); }, 1500);
}
