// The first email: where it is awaited, with this server's address and key. It flips when the email arrives.
import { h, useCallback, useEffect, useRef, useState } from '../../vendor/preact.js';
import { docsUrl } from '../../lib/docs.js';
import { fragment, t } from '../../lib/h.js';
import { api } from '../../lib/api.js';
import { useLive } from '../../lib/live.js';
import { useLoad } from '../../lib/load.js';
import { link, query, setQuery } from '../../lib/router.js';
import { allows, isOperator, me } from '../../lib/state.js';
import { parseTime, relative, span } from '../../lib/time.js';
import { Button } from '../../components/button.js';
import { Copy } from '../../components/copy.js';
import { useDialog } from '../../components/dialog.js';
import { emailPill, pill } from '../../components/pill.js';
import { CreateKey } from './create-key.js';
import { SdkTabs } from './sdk.js';

/**
 * @typedef {object} ConnectAnswer
 * @property {string} base_url
 * @property {string | null} smtp
 * @property {string | null} first_key of `dev`
 * @property {{ name: string, seen_at: string }[]} sdks
 */

/** The key in the examples, where the server names none. */
export const PLACEHOLDER = 'rm_YOUR_API_KEY';

/**
 * The key of the examples: that of the server, or one that the page creates. The page keeps a created key until the user leaves it.
 * @param {ConnectAnswer | null} connect
 */
export function useFirstKey(connect) {
  const [made, setMade] = useState(/** @type {import('./create-key.js').NewKey | null} */ (null));
  const create = useDialog((close) => h(CreateKey, { onClose: close, done: setMade, isKept: true }));
  return { key: connect?.first_key ?? made?.token, domain: made?.domain, create };
}

/** The address, the key, and the code of each SDK. @param {{ connect: ConnectAnswer | null, first: ReturnType<typeof useFirstKey> }} props */
export function Credentials({ connect, first: { key, domain, create } }) {
  const base = connect?.base_url ?? me.value?.base_url ?? location.origin;
  return fragment(
    t.dl({ class: 'creds' },
      t.div(null, t.dt(null, 'Base URL'), t.dd(null, t.code(null, base), h(Copy, { text: base, label: 'Copy the base URL' }))),
      t.div(null, t.dt(null, 'API key'), key ? t.dd(null, t.code(null, key), h(Copy, { text: key, label: 'Copy the API key' }))
        : t.dd(null, t.span({ class: 't3 trunc grow-1' }, 'Shown once, when it is created'), allows('admin') && h(Button, { kind: 'ghost', size: 'sm', onClick: create.open }, 'Create API key')))),
    h(SdkTabs, { base, token: key ?? PLACEHOLDER, domain, sdk: query.value.sdk, onSelect: (/** @type {string} */ id) => setQuery({ sdk: id }, { replace: true }) }), create.view);
}

/** Interval of changes of the time in "Listening for". */
const LISTEN_MS = 1000;

/**
 * @param {{ test: () => void, done: () => void }} props `done` shows the list instead
 */
export function FirstEmail({ test, done }) {
  const connect = /** @type {import('../../lib/load.js').Loaded<ConnectAnswer>} */ (useLoad('/connect'));
  const started = useRef(Date.now());
  const first = useFirstKey(connect.data), captured = me.value?.delivery === 'capture';
  const [, tick] = useState(0);
  const [got, setGot] = useState(/** @type {import('../../types/api.d.ts').EmailSummary | null} */ (null));
  const look = useCallback(async () => {
    try {
      const { data } = await api.get('/emails', { limit: 1 });
      if (data[0]) setGot(data[0]);
    } catch { /* The next event asks again. */ }
  }, []);
  useLive(['email.'], look, 50);
  useEffect(() => {
    if (got) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), LISTEN_MS);
    return () => clearInterval(timer);
  }, [got]);
  const waited = Math.max(LISTEN_MS, Math.floor((Date.now() - started.current) / 1000) * 1000);
  const at = parseTime(got?.created_at);
  return t.div({ class: 'cols' },
    t.section({ class: 'first', 'aria-labelledby': 'first-h' },
      t.header(null, t.div(null, t.h2({ class: 'first-h', id: 'first-h' }, got ? 'Your first email is here' : 'Waiting for your first email'),
        t.p({ class: 'body' }, captured ? 'Every email sent to this address is kept here, readable at once. Nothing leaves this machine.' : 'The first email that a program sends through this server appears here at once.')),
      got && at ? t.p({ class: 'live', role: 'status' }, `Received ${relative(at, Date.now())}`) : t.p({ class: 'live live-wait' }, `Listening for ${waited < 60_000 ? `${waited / 1000}s` : span(waited)}`)),
      got && t.div({ class: 'got' }, captured ? pill('Captured', { tone: 'green' }) : emailPill(got.last_event),
        t.span({ class: 'grow' }, t.span({ class: 't1 medium trunc dblock' }, got.subject || '(no subject)'), t.span({ class: 'trunc dblock' }, `${got.from} to ${got.to[0]}`)),
        t.button({ type: 'button', class: 'btn btn-ghost hide-sm', onClick: done }, 'Show the list'), link({ class: 'btn', to: `/emails/${got.id}` }, 'Open email')),
      h(Credentials, { connect: connect.data, first }),
      t.footer(null, allows('member') && h(Button, { kind: got ? undefined : 'primary', icon: 'send', onClick: test }, 'Send a test email'),
        t.p({ class: 't3' }, 'or run ', t.code({ class: 't2' }, 'ringmail send --to you@example.com')))),
    hints());
}

/** The advice after the first email: of a development server, or of any other one. */
export function hints() {
  if (me.value?.mode !== 'dev') return nextSteps();
  return t.ul({ class: 'hints', id: 'live' },
    t.li(null, t.h3(null, 'Try how it fails'), t.p(null, 'Send to ', t.code(null, 'bounced@'), ', ', t.code(null, 'complained@'), ' or ', t.code(null, 'suppressed@'), ' at ', t.code(null, 'resend.dev'), ' to see each outcome. ', t.a({ class: 'link', href: docsUrl('simulated') }, 'All such addresses'))),
    t.li(null, t.h3(null, 'Wait for it in a test'), t.p(null, t.code(null, 'ringmail inbox wait --to you@example.com --link'), ' prints the first link of the next email. ', t.a({ class: 'link', href: docsUrl('captured') }, 'More for tests'))),
    t.li(null, t.h3(null, 'Deliver for real'), t.p(null, link({ class: 'link', to: '/domains' }, 'Add a domain'), ', publish its records, then start with ', t.code(null, 'ringmail serve'), '.')));
}

/** The next steps of a server. */
function nextSteps() {
  return t.ul({ class: 'hints', id: 'live' },
    t.li(null, t.h3(null, 'Read the answers'), t.p(null, 'Each request is in the ', link({ class: 'link', to: '/logs' }, 'logs'), ', with its body and the reason of a refusal.')),
    t.li(null, t.h3(null, 'Try how it fails'), t.p(null, 'Send to ', t.code(null, 'bounced@resend.dev'), ' or ', t.code(null, 'complained@resend.dev'), ': no email leaves the server. ', t.a({ class: 'link', href: docsUrl('simulated') }, 'All such addresses'))),
    me.value?.delivery === 'capture' && isOperator() && t.li(null, t.h3(null, 'Deliver for real'), t.p(null, link({ class: 'link', to: '/domains' }, 'Verify a domain'), ', then start the server with ', t.code(null, '--delivery direct'), '.')),
    t.li(null, t.h3(null, 'Documentation'), t.p(null, t.a({ class: 'link', href: '/docs' }, 'The documents of this version'), ' are on this server.')));
}
