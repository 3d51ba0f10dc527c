// Shell: sidebar, banners, page, palette, toasts.
import { h, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { ApiError } from '../lib/api.js';
import { useKeys } from '../lib/keys.js';
import { problem } from '../lib/problem.js';
import { loadView, navigate, query, route } from '../lib/router.js';
import { me, meError, nextTheme } from '../lib/state.js';
import { errorNote, pageFailed } from '../components/empty.js';
import { Notice } from '../components/dialog.js';
import { Palette } from './palette.js';
import { Banners, Sidebar, Topbar, goName, goPages } from './sidebar.js';
import { Toasts } from '../components/toast.js';

/** The frame of all pages. */
export function Shell() {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  useKeys({
    'mod+k': () => setPalette(true),
    '?': () => setHelp(true),
    ...Object.fromEntries(goPages().filter((page) => page.key).map((page) => [`g ${page.key}`, () => navigate(page.to)])),
  });
  const full = route.value?.page.full ?? false, wasFull = useRef(full);
  // The frame of the page before had the focus.
  useEffect(() => {
    if (full !== wasFull.current) document.getElementById('main')?.focus({ preventScroll: true });
    wasFull.current = full;
  }, [full]);
  return fragment(
    t.a({ class: 'skip', href: '#main' }, 'Skip to content'),
    full ? t.main({ class: 'full', id: 'main', tabIndex: -1, key: 'full' }, h(Page, null)) : t.div({ class: 'app', key: 'app' },
      h(Topbar, { search: () => setPalette(true) }),
      h(Sidebar, { search: () => setPalette(true) }),
      t.div({ class: 'main' }, h(Banners, null), t.main({ class: 'page', id: 'main', tabIndex: -1 }, h(Page, null)))),
    palette && h(Palette, { onClose: () => setPalette(false), help: () => setHelp(true), theme: nextTheme }),
    help && h(Shortcuts, { onClose: () => setHelp(false) }),
    problem.value && h(Notice, { title: 'That did not work', onClose: () => { problem.value = null; } }, errorNote(problem.value)),
    h(Toasts, null));
}

/** The page of the address. Its module is loaded when it is first shown. */
function Page() {
  const found = route.value;
  const [, again] = useState(0);
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const pattern = found?.page.path ?? '';
  // Before the effects of the page, which puts the name of its thing into the title.
  useLayoutEffect(() => { document.title = `${found?.page.title ?? 'Not found'} · Ringmail`; }, [pattern]);
  useLayoutEffect(() => {
    setError(null);
    if (!found || found.page.view) return;
    let left = false;
    loadView(found.page).then(() => again((n) => n + 1), () => { if (!left) setError('A part of this page could not be loaded. The server may have been updated.'); });
    return () => { left = true; };
  }, [pattern]);
  const reload = () => location.reload();
  if (!found) return pageFailed('Page', new ApiError(404, 'not_found', '', null), reload);
  if (error) return pageFailed('Page', new ApiError(0, 'error', error, null), reload);
  if (meError.value && !me.value && meError.value.status !== 401) return pageFailed('Page', meError.value, reload);
  const { view } = found.page;
  if (!view || !me.value) return null;
  return h(Guard, { key: pattern + JSON.stringify(found.params) }, h(view, { params: found.params, query: query.value }));
}

/** Shows a page that broke as failed, so that the frame stays. @param {{ children?: import('../lib/h.js').Children }} props */
function Guard({ children }) {
  const [error] = useErrorBoundary((thrown) => console.error(thrown));
  if (error) return pageFailed('Page', new ApiError(0, 'error', 'The page has a fault.', null), () => location.reload());
  return fragment(children);
}

/** @param {{ onClose: () => void }} props */
function Shortcuts({ onClose }) {
  /** @type {[string, string[]][]} */
  const list = [
    ['Search and commands', ['mod K']], ['Search this list', ['/']], ['Next and previous row', ['j', 'k']], ['Open the row', ['Enter']],
    ['Select the row', ['x']], ['Newer and older', ['[', ']']], ['Send the form', ['mod Enter']], ['Close', ['Esc']],
  ];
  const rows = [...list, ...goPages().filter((page) => page.key).map((page) => /** @type {[string, string[]]} */ ([`Go to ${goName(page)}`, ['g', page.key ?? '']]))];
  return h(Notice, { title: 'Shortcuts', wide: true, onClose }, t.dl({ class: 'sum sum-two' }, rows.map(([text, keys]) =>
    t.div({ key: text }, t.dt(null, text), t.dd({ class: 'row' }, keys.map((key) => t.kbd({ key }, key.replace('mod ', /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl '))))))));
}
