// Start of the pages: router, shortcuts, live updates, then the frame with the page of the address.
import { h, render } from './vendor/preact.js';
import { startKeys } from './lib/keys.js';
import { startLive } from './lib/live.js';
import { loadPageEarly, startRouter } from './lib/router.js';
import { loadMe } from './lib/state.js';
import { startStatus } from './lib/status.js';
import { Shell } from './shell/shell.js';
import { PAGES } from './pages/index.js';

/** Time that the first frame waits for the data of the page. A frame without data is drawn as long as one with it. */
const FIRST_FRAME_MS = 150;

const app = /** @type {HTMLElement} */ (document.getElementById('app'));
startRouter(PAGES);
startKeys();
void loadMe();
// The page is loaded while the frame is built. The page itself reports a failure.
void loadPageEarly(location);
render(h(Shell, null), app);
const changes = new MutationObserver(() => { if (app.querySelector('h1') && !app.querySelector('.sk')) show(); });
changes.observe(app, { subtree: true, childList: true });
const waited = setTimeout(show, FIRST_FRAME_MS);

/** Draws the page. */
function show() {
  changes.disconnect();
  clearTimeout(waited);
  app.hidden = false;
  startLive();
  startStatus();
}
