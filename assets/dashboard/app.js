// Start of the pages: router, shortcuts, live updates, then the frame with the page of the address.
import { h, render } from './vendor/preact.js';
import { startKeys } from './lib/keys.js';
import { startLive } from './lib/live.js';
import { startRouter } from './lib/router.js';
import { loadMe } from './lib/state.js';
import { startStatus } from './lib/status.js';
import { Shell } from './shell/shell.js';
import { PAGES } from './pages/index.js';

startRouter(PAGES);
startKeys();
void loadMe();
startLive();
startStatus();
render(h(Shell, null), /** @type {HTMLElement} */ (document.getElementById('app')));
