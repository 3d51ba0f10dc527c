// "View as API": the request of the API that a page shows.
import { h } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { me } from '../../lib/state.js';
import { Button } from '../../components/button.js';
import { Code } from '../../components/code.js';
import { Notice, useDialog } from '../../components/dialog.js';
import { readAsCurl } from './curl.js';

/** The opener of the dialog, for a menu, and the dialog. @param {string} path */
export function useAsApi(path) {
  return useDialog((onClose) => h(Notice, { title: 'View as API', onClose }, t.p(null, 'A program gets the same with one request:'), h(Code, { text: readAsCurl(me.value?.base_url ?? location.origin, path) })));
}

/** The button with its dialog, for the head of a page. @param {{ path: string }} props */
export function ViewAsApi({ path }) {
  const asApi = useAsApi(path);
  return fragment(h(Button, { kind: 'ghost', icon: 'code', class: 'hide-sm', onClick: asApi.open }, 'View as API'), asApi.view);
}
