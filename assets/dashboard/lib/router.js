// Router: the page for an address below /dashboard. Filters, tabs and cursors live in the query.
import { computed, signal, useEffect } from '../vendor/preact.js';
import { t } from './h.js';
import { loadEarly } from './load.js';
import { scrollToTop, viewport } from './viewport.js';

export const BASE = '/dashboard';
/** Paths that the server renders. A link there is an ordinary one. */
const SERVER = /^\/dashboard\/(login|logout|setup|link|open|account|api|a)(\/|$)/;

/** @typedef {[path: string, query?: import('./api.js').Query]} Read a request of `useLoad` */
/**
 * @typedef {{ path: string, load: () => Promise<Record<string, unknown>>, title: string, full?: boolean, reads?: (id: string, query: Record<string, string>) => Read[], view?: import('../vendor/preact.js').FunctionComponent<any> }} PageRoute
 * `full`: the page has the whole window, without the sidebar. `reads`: what the page loads first, with the id of its row and the query of its address.
 * `view`: the page, once its module is loaded
 */

/** @type {PageRoute[]} */
let routes = [];
const address = signal(read());

/** @param {Location | HTMLAnchorElement} [at] */
function read(at = location) {
  const path = at.pathname.slice(BASE.length).replace(/\/+$/, '') || '/';
  return { path, query: Object.fromEntries(new URLSearchParams(at.search)) };
}

/** The path below /dashboard. */
export const path = computed(() => address.value.path);
/** The query of the address. */
export const query = computed(() => address.value.query);
/** The route of the address with its parameters; null if no page has this address. */
export const route = computed(() => routeOf(address.value.path));

/** @param {string} path */
function routeOf(path) {
  for (const page of routes) {
    const params = match(page.path, path);
    if (params) return { page, params };
  }
  return null;
}

/**
 * The parameters of `path` after `pattern`, such as `/emails/:id`; null without a match.
 * @param {string} pattern
 * @param {string} path
 */
function match(pattern, path) {
  const want = pattern.split('/'), have = path.split('/');
  if (want.length !== have.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [i, part] of want.entries()) {
    const value = have[i] ?? '';
    if (part.startsWith(':') && value) {
      try { params[part.slice(1)] = decodeURIComponent(value); } catch { return null; }
    } else if (part !== value) return null;
  }
  return params;
}

/**
 * Goes to a path below /dashboard, such as `/emails?status=bounced` or `/connect#live`.
 * @param {string} to
 * @param {{ replace?: boolean }} [options]
 */
export function navigate(to, { replace = false } = {}) {
  // A filter that follows the typing does not stop a link.
  if (!replace) moves += 1;
  const before = address.peek().path;
  remember();
  history[replace ? 'replaceState' : 'pushState']({}, '', BASE + to);
  address.value = read();
  if (address.peek().path !== before) {
    scrollToTop();
    document.getElementById('main')?.focus({ preventScroll: true });
  }
  const id = decodeURIComponent(location.hash.slice(1));
  if (id) whenShown(() => document.getElementById(id) !== null, () => { const part = document.getElementById(id); part?.scrollIntoView(); part?.focus({ preventScroll: true }); });
}

/** Time that a link waits for the first answers of its page. To draw the page without them takes as long as with them. */
const ANSWERS_WITHIN_MS = 100;
/** Number of pressed links and changes of the address. */
let moves = 0;

/** Goes to a page when its module and its first answers are loaded, after at most `ANSWERS_WITHIN_MS`. @param {HTMLAnchorElement} at */
async function follow(at) {
  // A drawing meanwhile can give the link another address.
  const to = (at.pathname.slice(BASE.length) || '/') + at.search + at.hash, move = moves += 1;
  if (at.href !== location.href) await Promise.race([loadPageEarly(at), new Promise((resolve) => { setTimeout(resolve, ANSWERS_WITHIN_MS); })]);
  // A later move wins.
  if (moves === move) navigate(to);
}

/** Time within which a page shows the target of a link or of Back. */
const SHOWN_WITHIN_MS = 1000;

/**
 * Calls `act` as soon as `isShown` holds, or after a while.
 * @param {() => boolean} isShown
 * @param {() => void} act
 */
function whenShown(isShown, act) {
  const until = performance.now() + SHOWN_WITHIN_MS;
  const step = () => { if (isShown() || performance.now() > until) act(); else requestAnimationFrame(step); };
  requestAnimationFrame(step);
}

/**
 * Changes the query and stays on the page. Null or an empty text removes a name.
 * @param {Record<string, string | null | undefined>} changes
 * @param {{ replace?: boolean }} [options]
 */
export function setQuery(changes, options) {
  navigate(address.peek().path + search({ ...address.peek().query, ...changes }), options);
}

/** `?a=b` of the values that are not empty. @param {Record<string, string | null | undefined>} values */
export function search(values) {
  const pairs = Object.entries(values).filter(([, value]) => value);
  const text = new URLSearchParams(/** @type {[string, string][]} */ (pairs)).toString();
  return text && `?${text}`;
}

/** Stores the place on the page that is left, so that Back returns to it. */
function remember() {
  const row = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.getAttribute('href') : null;
  // The row may have been scrolled into the window since the last frame.
  history.replaceState({ top: row === null ? viewport.top : scrollY, row }, '');
}

/**
 * The place on the page that Back returns to: scroll position and address of the focused row.
 * @returns {{ top: number, row: string | null }}
 */
export function placeOfEntry() {
  return { top: 0, row: null, ...history.state };
}

/** Returns to the stored place as soon as the page is high enough. */
function restore() {
  const { top, row } = placeOfEntry();
  const link = () => row && document.querySelector(`#main a[href="${CSS.escape(row)}"]`);
  whenShown(() => document.documentElement.scrollHeight - innerHeight >= top && (!row || link() !== null), () => {
    scrollTo(0, top);
    const found = link();
    if (found instanceof HTMLElement) found.focus({ preventScroll: true });
  });
}

/** Loads the module and the first answers of the page at an address. Resolves when they are loaded or have failed. @param {Location | HTMLAnchorElement} at */
export function loadPageEarly(at) {
  const { path, query } = read(at), found = routeOf(path);
  const answers = (found?.page.reads?.(found.params.id ?? '', query) ?? []).map((one) => loadEarly(...one));
  return Promise.all([found && loadView(found.page).catch(() => {}), ...answers]);
}

/** Loads the module of a page. @param {PageRoute} page */
export async function loadView(page) {
  const module = await page.load();
  page.view = /** @type {any} */ (Object.entries(module).find(([name]) => name.endsWith('Page'))?.[1]);
}

/** Starts the router. @param {PageRoute[]} pages */
export function startRouter(pages) {
  routes = pages;
  history.scrollRestoration = 'manual';
  address.value = read();
  // A link to a part of the page makes an entry without a stored place. The browser scrolls to the part.
  addEventListener('popstate', () => { moves += 1; address.value = read(); if (history.state !== null) restore(); });
  addEventListener('pagehide', () => { moves += 1; remember(); });
  // The answer is there sooner if it is asked for before the button is released. A touch can begin a scroll.
  document.addEventListener('pointerdown', (event) => {
    const anchor = event.pointerType === 'mouse' && linked(event);
    if (anchor && anchor.href !== location.href) void loadPageEarly(anchor);
  });
  document.addEventListener('click', (event) => {
    const anchor = linked(event);
    if (!anchor) return;
    event.preventDefault();
    void follow(anchor);
  });
}

/** The link to another page that is pressed; null for a link that the browser follows. @param {MouseEvent} event */
function linked(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null;
  const anchor = event.target instanceof Element ? event.target.closest('a[href]') : null;
  if (!(anchor instanceof HTMLAnchorElement) || anchor.target || anchor.hasAttribute('download')) return null;
  if (anchor.origin !== location.origin || !(anchor.pathname + '/').startsWith(`${BASE}/`) || SERVER.test(anchor.pathname)) return null;
  return anchor.hash && anchor.pathname + anchor.search === location.pathname + location.search ? null : anchor;
}

/**
 * A link to a page: `link({ to: '/emails' }, 'Emails')`.
 * @param {import('./h.js').Tags['a'] & { to: string }} props
 * @param {import('./h.js').Children[]} children
 */
export function link({ to, ...props }, ...children) {
  return t.a(/** @type {import('./h.js').Tags['a']} */ ({ ...props, href: BASE + to }), ...children);
}

/** Puts the name of the thing that a page shows into the title of the tab. @param {string} name */
export function useTitle(name) {
  useEffect(() => { if (name) document.title = `${name} · Ringmail`; }, [name]);
}
