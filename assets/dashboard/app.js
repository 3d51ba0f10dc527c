// Start of the pages: router, shortcuts, live updates, then the frame with the page of the address.
import { h, render } from './vendor/preact.js';
import { startKeys } from './lib/keys.js';
import { startLive } from './lib/live.js';
import { route, startRouter } from './lib/router.js';
import { loadMe } from './lib/state.js';
import { startStatus } from './lib/status.js';
import { Shell } from './shell/shell.js';
import { PAGES } from './pages/index.js';

startRouter(PAGES);
startKeys();
void loadMe();
// The module of the page is loaded while the frame is drawn. The page itself reports a failure.
route.value?.page.load().catch(() => {});
startLive();
startStatus();
render(h(Shell, null), /** @type {HTMLElement} */ (document.getElementById('app')));
