// "View as API": the request of the API that this page shows.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { me } from '../../lib/state.js';
import { Code } from '../../components/code.js';
import { Notice } from '../../components/dialog.js';
import { readAsCurl } from './curl.js';

/** @param {{ path: string, onClose: () => void }} props */
export function ViewAsApi({ path, onClose }) {
  return h(Notice, { title: 'View as API', onClose }, t.p(null, 'A program gets the same with one request:'), h(Code, { text: readAsCurl(me.value?.base_url ?? location.origin, path) }));
}
