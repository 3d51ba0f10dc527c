// Connect: the setting of each SDK with this address and key. A row is lit when its SDK is first seen.
import { h, useCallback } from '../vendor/preact.js';
import { docsUrl } from '../lib/docs.js';
import { fragment, t } from '../lib/h.js';
import { useLive } from '../lib/live.js';
import { useLoad } from '../lib/load.js';
import { link } from '../lib/router.js';
import { me } from '../lib/state.js';
import { Copy } from '../components/copy.js';
import { pageFailed } from '../components/empty.js';
import { pill } from '../components/pill.js';
import { Time } from '../components/time.js';
import { Credentials, Hints, PLACEHOLDER } from './parts/first-email.js';
import { OTHERS, SDKS, settingOf } from './parts/samples.js';

/** @typedef {import('./parts/first-email.js').ConnectAnswer} ConnectAnswer */

export function ConnectPage() {
  const connect = /** @type {import('../lib/load.js').Loaded<ConnectAnswer>} */ (useLoad('/connect'));
  useLive(['email.'], useCallback(() => { void connect.reload(); }, [connect.reload]), 1000);
  if (connect.error && !connect.data) return pageFailed('Connect', connect.error, connect.reload);
  const base = connect.data?.base_url ?? me.value?.base_url ?? location.origin;
  const seen = (/** @type {string[]} */ names) => connect.data?.sdks.find((sdk) => names.includes(sdk.name)) ?? null;
  const key = connect.data?.first_key ?? PLACEHOLDER;
  const known = new Set([...SDKS, ...OTHERS].flatMap((sdk) => sdk.seen));
  const further = connect.data?.sdks.filter((sdk) => !known.has(sdk.name)) ?? [];
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Connect')),
      t.p({ class: 'sub' }, 'Point a program at this server: its SDK stays the same, and two settings change. ', t.a({ class: 'link', href: docsUrl('clients') }, 'All clients and versions'))),
    t.div({ class: 'cols' },
      t.div({ class: 'stack' },
        t.section({ class: 'first', 'aria-label': 'Settings' }, h(Credentials, { connect: connect.data })),
        t.section({ class: 'card', 'aria-labelledby': 'h-sdks' }, t.header(null, t.h2({ id: 'h-sdks' }, 'SDKs'), t.span({ class: 'meta' }, 'by their user agent'), t.span(null)),
          t.ul({ class: 'list' }, SDKS.map((sdk) => row(sdk.label, settingOf(sdk, base, key), seen(sdk.seen))),
            OTHERS.map((other) => row(other.label, other.setting(base, key), seen(other.seen))),
            further.map((sdk) => row(sdk.name, base, sdk))))),
      me.value?.mode === 'dev' ? h(Hints, null) : h(Live, null)));
}

/**
 * @param {string} label
 * @param {string} setting
 * @param {{ seen_at: string } | null} seen
 */
function row(label, setting, seen) {
  return t.li({ key: label }, t.div({ class: 'item' }, t.span({ class: 'grow' }, t.span({ class: 't1 dblock' }, label), t.code({ class: 'trunc dblock t3', title: setting }, setting)),
    seen ? pill('Seen', { tone: 'green' }) : pill('Not seen', { hollow: true }), t.span({ class: 'num t3 w-72 hide-sm' }, seen && h(Time, { at: seen.seen_at })), h(Copy, { text: setting, label: `Copy the setting of ${label}` })));
}

/** The next steps of a server. */
function Live() {
  return t.ul({ class: 'hints', id: 'live' },
    t.li(null, t.h3(null, 'Read the answers'), t.p(null, 'Each request is in the ', link({ class: 'link', to: '/logs' }, 'logs'), ', with its body and the reason of a refusal.')),
    t.li(null, t.h3(null, 'Try how it fails'), t.p(null, 'Send to ', t.code(null, 'bounced@resend.dev'), ' or ', t.code(null, 'complained@resend.dev'), ': no email leaves the server. ', t.a({ class: 'link', href: docsUrl('simulated') }, 'All such addresses'))),
    me.value?.delivery === 'capture' && t.li(null, t.h3(null, 'Deliver for real'), t.p(null, link({ class: 'link', to: '/domains' }, 'Verify a domain'), ', then start the server with ', t.code(null, '--delivery direct'), '.')),
    t.li(null, t.h3(null, 'Documentation'), t.p(null, t.a({ class: 'link', href: '/docs' }, 'The documents of this version'), ' are on this server.')));
}
