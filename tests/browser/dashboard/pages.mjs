// Every page in its states: axe, width, policy, and a screenshot. The answers of the API come from tests/browser/fake,
// so that each state is the same on every run. The page and its policy come from the server.
import { assert } from '../check.mjs';
import { answer } from '../fake/fixtures.mjs';
import { uuid } from '../fake/lists.mjs';
import { BROADCASTS } from './broadcast-pages.mjs';
import { PICTURES, inContexts, inspect } from './inspect.mjs';
import { OPERATE } from './operate-pages.mjs';
import { REPORTS } from './report-pages.mjs';

const FULL = process.argv.includes('--full');
const EMAIL = '0199c000-6b0d-7f53-9a3e-d2c81b7e0000', BOUNCED = '0199bffc-6b0d-7f53-9a3e-d2c81b7e0004', CAPTURED = '0199d004-6b0d-7f53-9a3e-d2c81b7e0000', CAPTURED_LONGEST = '0199d002-6b0d-7f53-9a3e-d2c81b7e0000';

/** [name, path, selector of the loaded page, path of its first request in the API, its states beside those of every page] */
export const PAGES = [
  ['emails', '/emails', 'a.cell', '/emails'],
  ['emails-found', '/emails?q=invoice', 'a.cell', '/search'],
  ['email', `/emails/${EMAIL}`, '.tl', `/emails/${EMAIL}`],
  ['email-bounced', `/emails/${BOUNCED}`, '.tl', `/emails/${BOUNCED}`],
  ...[['failed', 11], ['suppressed', 10], ['scheduled', 12], ['removed', 129], ['longest', 7], ['emoji', 30]].map(([name, n]) => [`email-${name}`, `/emails/${uuid('6b0d', n)}`, '.tl', `/emails/${uuid('6b0d', n)}`]),
  ['captured', '/captured', 'a.cell', '/captured', ['one', 'hundred']],
  ['captured-email', `/captured/${CAPTURED}`, '.preview-bar', `/captured/${CAPTURED}`],
  ['captured-longest', `/captured/${CAPTURED_LONGEST}`, '.preview-bar', `/captured/${CAPTURED_LONGEST}`],
  ['connect', '/connect', '.creds', '/connect'],
  ['kit', '/kit?status=sent', '.cm-content', null],
  ...OPERATE,
  ...BROADCASTS,
  ...REPORTS,
];

/** The answers of each state, and the selector of its content. */
const STATES = {
  loaded: { state: 'full' },
  empty: { state: 'empty', selector: '.first, .empty, .calm, .tl, .creds, .preview-bar', only: ['emails', 'captured', 'connect'] },
  // A server that captures nothing, and one that captures.
  new: { state: 'new', selector: '.first, [aria-labelledby="h-start"]', only: ['emails', 'connect'] },
  capture: { state: 'capture', selector: '[aria-labelledby="h-start"]', only: [] },
  nothing: { state: 'full', query: 'q=zzzz', selector: '.empty', only: ['emails', 'captured'] },
  one: { state: 'one', only: ['emails'] },
  hundred: { state: 'hundred', rows: '100', only: ['emails'] },
  viewer: { state: 'viewer' },
  warning: { state: 'warning', only: [] },
  paused: { state: 'paused', only: [] },
  observed: { state: 'observed', only: [] },
  region: { state: 'region', only: [] },
  few: { state: 'few', only: [] },
  error: { state: 'error', selector: '.note-red', expected: /500/ },
  forbidden: { state: 'forbidden', selector: '.empty', expected: /403/ },
  loading: { state: 'loading', selector: '.sk, .page-head' },
};
/** Pages that load the code editor. */
const WITH_EDITOR = ['kit', 'composer', 'composer-html', 'template'];
/** Pages whose first request is for a part, so that the page around it is there before. */
const OF_PARTS = ['queue-open', 'broadcast-bounced', 'connect'];
/** Whether a page has a state. A page that loads nothing has one. */
const hasState = ([name, , , first, more], state) => (first !== null || state === 'loaded')
  && (!STATES[state].only || STATES[state].only.includes(name) || Boolean(more?.includes(state)));
/** The states of a page that a run without `--full` looks at, if the page has them. */
const shortStates = (page) => ['loaded', 'error', hasState(page, 'empty') ? 'empty' : 'loading'];

/** Answers the requests of a page. Without an answer, the request waits forever. */
async function respond(route, { state, path }) {
  const request = route.request(), url = new URL(request.url());
  const call = { method: request.method(), path: decodeURIComponent(url.pathname.slice('/dashboard/api'.length)), query: Object.fromEntries(url.searchParams), body: request.postDataJSON(), state };
  const isFirst = call.path === path;
  // The stream of the server stays open, because an ended stream makes a page load its data again.
  if (call.path === '/events') return route.continue();
  if (isFirst && state === 'loading') return undefined;
  const refusal = { error: [500, 'internal_server_error', 'The store could not be read.'], forbidden: [403, 'invalid_access', 'Your role is viewer, and this needs admin.'] }[state];
  if (isFirst && refusal) return route.fulfill({ status: refusal[0], json: { statusCode: refusal[0], name: refusal[1], message: refusal[2] } });
  const said = answer(call);
  // The banner of a disabled endpoint would come after some of the pictures.
  if (PICTURES && !isFirst && call.path === '/overview') said.json.attention = [];
  if (!said) return route.fulfill({ status: 404, json: { statusCode: 404, name: 'not_found', message: 'Not found.' } });
  if ('html' in said) return route.fulfill({ contentType: 'text/html', body: said.html });
  if ('text' in said) return route.fulfill({ contentType: said.type ?? 'text/plain', body: said.text });
  return route.fulfill({ status: said.status ?? 200, json: said.json });
}

/** Opens a tab whose requests get the answers of `page.state`. */
async function openTab(world, options) {
  const context = await world.session(options);
  const page = await world.tab(context);
  await context.route('**/dashboard/api/**', (route) => respond(route, page.state));
  return page;
}

/** Looks at one page in one state. A run that is not full has one tab for each worker, because a new one takes time. */
async function look(world, worker, [name, path, selector, first], state) {
  const { query, rows, expected, ...wanted } = STATES[state];
  await inContexts(async (widths, options) => {
    const page = FULL ? await openTab(world, options) : (world.tabs[worker] ??= await openTab(world, options));
    // The page before must not ask for data in the next state.
    await page.goto('about:blank');
    page.state = { state: wanted.state, path: query ? null : first };
    page.expected = expected;
    if (rows) await page.addInitScript((n) => localStorage.setItem('ringmail.rows', n), rows);
    await page.setViewportSize(options.viewport);
    await page.show(query ? `${path}?${query}` : path);
    await page.waitForSelector(wanted.selector ?? selector);
    if (state === 'loading' && !OF_PARTS.includes(name)) assert.equal(await page.locator(`main :is(${selector})`).count(), 0, `${name} shows data before it has any`);
    await inspect(page, state === 'loaded' ? name : `${name}-${state}`, { widths, part: state === 'loaded' ? undefined : 'main' });
    assert.equal(await page.locator('h1').count(), 1, `${name} has one heading of the first level`);
    const hasEditor = await page.evaluate(() => performance.getEntriesByType('resource').some(({ name: url }) => url.endsWith('/vendor/codemirror.js')));
    if (!WITH_EDITOR.includes(name)) assert.ok(!hasEditor, `${name} loads the code editor`);
    else if (state === 'loaded') assert.ok(hasEditor, `${name} does not load the code editor`);
    page.assertClean();
    if (FULL) await page.context().close();
  });
}

const chosen = (page) => (PICTURES ? ['loaded'] : FULL ? Object.keys(STATES) : shortStates(page)).filter((state) => hasState(page, state));

/** Whether the documentation has a picture of a page: not of one that shows long values, or another state of a pictured page. */
const hasPicture = ([name]) => !/-(longest|emoji)$|^deliveries|^health-/.test(name);

export const pages = PAGES.filter((page) => !PICTURES || hasPicture(page)).flatMap((page) => chosen(page)
  .map((state) => [`dashboard: the page ${page[0]}, ${state}`, (world, worker) => look(world, worker, page, state)]));
