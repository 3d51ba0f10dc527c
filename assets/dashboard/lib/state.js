// State that all pages share: who is signed in, the mode of the server, the theme, the clock of relative times.
import { signal } from '../vendor/preact.js';
import { api } from './api.js';

/** @typedef {'viewer' | 'member' | 'admin' | 'owner'} Role */
/**
 * @typedef {object} Me
 * @property {{ id: string, email: string } | null} user null in `dev`
 * @property {Role} role
 * @property {{ id: string, name: string }} team
 * @property {{ id: string, name: string, role: Role }[]} teams
 * @property {'dev' | 'serve'} mode
 * @property {'capture' | 'direct' | 'relay'} delivery
 * @property {string | null} release the route of a released message; null if no route is set
 * @property {string} base_url
 * @property {string} version
 * @property {boolean} is_operator whether the team runs the server, so that it sees the queue and the checks
 */

/** @type {import('../vendor/preact.js').Signal<Me | null>} */
export const me = signal(/** @type {Me | null} */ (null));
/** @type {import('../vendor/preact.js').Signal<import('./api.js').ApiError | null>} */
export const meError = signal(/** @type {import('./api.js').ApiError | null} */ (null));

/** Asks who is signed in. */
export async function loadMe() {
  try {
    me.value = await api.get('/me');
    meError.value = null;
  } catch (error) {
    meError.value = /** @type {import('./api.js').ApiError} */ (error);
  }
}

const RANK = { viewer: 0, member: 1, admin: 2, owner: 3 };

/** Whether the role of the session includes `role`. The server decides; the page only hides. @param {Role} role */
export function allows(role) {
  return RANK[me.value?.role ?? 'viewer'] >= RANK[role];
}

/** Whether the team sees the queue and the checks of the server; false until `me` is loaded. */
export function isOperator() {
  return me.value?.is_operator ?? false;
}

/** The clock of relative times; it ticks every 15 s. */
export const now = signal(Date.now());
setInterval(() => { now.value = Date.now(); }, 15_000);
document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible') now.value = Date.now(); });

/** @typedef {'system' | 'light' | 'dark'} Theme */
const root = document.documentElement;

/** The chosen theme. @type {import('../vendor/preact.js').Signal<Theme>} */
export const theme = signal(/** @type {Theme} */ (root.dataset.theme ?? 'system'));

/** Takes the next theme: system, light, dark. */
export function nextTheme() {
  theme.value = theme.value === 'system' ? 'light' : theme.value === 'light' ? 'dark' : 'system';
  if (theme.value === 'system') delete root.dataset.theme; else root.dataset.theme = theme.value;
  store('theme', theme.value === 'system' ? null : theme.value);
}

/**
 * Reads a preference of this browser.
 * @param {string} name
 * @param {string} otherwise
 */
export function stored(name, otherwise) {
  try { return localStorage.getItem(`ringmail.${name}`) ?? otherwise; } catch { return otherwise; }
}

/**
 * Stores a preference of this browser; null deletes it.
 * @param {string} name
 * @param {string | null} value
 */
export function store(name, value) {
  try {
    if (value === null) localStorage.removeItem(`ringmail.${name}`); else localStorage.setItem(`ringmail.${name}`, value);
  } catch { /* The browser stores nothing. */ }
}

/** The list of first steps in this browser, by the id of its team: without an entry, it is shown. @type {import('../vendor/preact.js').Signal<Record<string, string>>} */
const steps = signal({});

/** The list of first steps of the team: empty for shown, `hidden`, or `done`. */
export function firstSteps() {
  const id = me.value?.team.id ?? '';
  return steps.value[id] ?? stored(`start.${id}`, '');
}

/** @param {'' | 'hidden' | 'done'} state */
export function setFirstSteps(state) {
  const id = me.value?.team.id ?? '';
  store(`start.${id}`, state || null);
  steps.value = { ...steps.value, [id]: state };
}
