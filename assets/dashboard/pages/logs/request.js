// One request of the log in a drawer, with its bodies and the reason of a refusal.
import { h } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { useLoad } from '../../lib/load.js';
import { link } from '../../lib/router.js';
import { me } from '../../lib/state.js';
import { Button } from '../../components/button.js';
import { Code, json } from '../../components/code.js';
import { copyText } from '../../components/copy.js';
import { Drawer } from '../../components/drawer.js';
import { failed, note, skeleton } from '../../components/empty.js';
import { Id } from '../../components/id.js';
import { httpPill } from '../../components/pill.js';
import { Time } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { cutBytes, logAsCurl } from '../parts/curl.js';

/** @typedef {import('../../types/api.d.ts').Log} Log */

/** @param {{ id: string, keyName: (id: string) => string, onClose: () => void }} props */
export function RequestDrawer({ id, keyName, onClose }) {
  const { data: log, error, reload } = /** @type {import('../../lib/load.js').Loaded<Log>} */ (useLoad(`/logs/${encodeURIComponent(id)}`));
  const curl = () => {
    const text = logAsCurl(me.value?.base_url ?? location.origin, /** @type {Log} */ (log));
    void copyText(text);
    toast(/\[redacted\]|too large for the log/.test(text) ? 'Copied as curl: fill in what the log does not keep' : 'Copied the request as curl');
  };
  return h(Drawer, { title: log ? `${log.method} ${log.endpoint}` : 'Request', onClose, actions: log && h(Button, { size: 'sm', icon: 'copy', onClick: curl }, 'Copy as curl') },
    log ? h(Whole, { log, keyName }) : error ? failed(error, reload, 'This request') : skeleton(6));
}

/** @param {{ log: Log, keyName: (id: string) => string }} props */
function Whole({ log, keyName }) {
  const said = /** @type {{ message?: unknown, id?: unknown } | null} */ (log.response_body);
  const message = log.response_status >= 400 && typeof said?.message === 'string' ? said.message : null;
  const made = log.method === 'POST' && log.endpoint === '/emails' && log.response_status < 300 && typeof said?.id === 'string' ? said.id : null;
  const row = (/** @type {string} */ name, /** @type {import('../../lib/h.js').Children} */ value) => fragment(t.dt(null, name), t.dd(null, value));
  return fragment(
    message && note(log.response_status < 500 ? 'amber' : 'red', t.p(null, message), log.detail && t.p({ class: 'wrap-any' }, log.detail)),
    !message && log.detail && note('plain', t.p({ class: 'wrap-any' }, log.detail)),
    t.dl({ class: 'dl' },
      row('Answer', t.span({ class: 'row wrap' }, httpPill(log.response_status), `in ${log.duration_ms} ms`)),
      row('When', h(Time, { at: log.created_at, as: 'exact' })),
      row('API key', link({ class: 'link', to: `/logs?key=${encodeURIComponent(log.api_key_id)}` }, keyName(log.api_key_id))),
      row('Client', log.user_agent ?? t.span({ class: 't3' }, 'not named')),
      made && row('Email', link({ class: 'link', to: `/emails/${made}` }, 'What happened to it')),
      row('Request', h(Id, { id: log.id, whole: true }))),
    body('Request body', log.request_body, 'Copy the request body'),
    body('Response body', log.response_body, 'Copy the response body'),
    t.p({ class: 'meta' }, 'Contents of emails, attachments, tokens and secrets are not kept in the log.'));
}

/**
 * @param {string} title
 * @param {unknown} value
 * @param {string} label
 */
function body(title, value, label) {
  const cut = cutBytes(value);
  return t.section({ class: 'stack-xs', 'aria-label': title }, t.h3(null, title),
    value === null ? t.p({ class: 't3' }, 'No JSON.') : cut !== null ? t.p({ class: 't3' }, `Its ${cut} bytes are too many for the log.`) : h(Code, { text: json(value), label }));
}
