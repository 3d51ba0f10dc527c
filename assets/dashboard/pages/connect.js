// Connect: the setting of each SDK with this address and key. A row is lit when its SDK is first seen.
import { h, useCallback } from '../vendor/preact.js';
import { docsUrl } from '../lib/docs.js';
import { fragment, t } from '../lib/h.js';
import { useLive } from '../lib/live.js';
import { useLoad } from '../lib/load.js';
import { me } from '../lib/state.js';
import { Copy } from '../components/copy.js';
import { pageFailed } from '../components/empty.js';
import { pill } from '../components/pill.js';
import { Time } from '../components/time.js';
import { useDomains } from './parts/domains.js';
import { Credentials, PLACEHOLDER, hints, useFirstKey } from './parts/first-email.js';
import { OTHERS, SDKS, settingOf } from './parts/samples.js';

/** @typedef {import('./parts/first-email.js').ConnectAnswer} ConnectAnswer */

export function ConnectPage() {
  const connect = /** @type {import('../lib/load.js').Loaded<ConnectAnswer>} */ (useLoad('/connect'));
  useLive(['email.'], useCallback(() => { void connect.reload(); }, [connect.reload]), 1000);
  const first = useFirstKey(connect.data);
  const { verified = 'example.com' } = useDomains();
  if (connect.error && !connect.data) return pageFailed('Connect', connect.error, connect.reload);
  const base = connect.data?.base_url ?? me.value?.base_url ?? location.origin;
  const seen = (/** @type {string[]} */ names) => connect.data ? connect.data.sdks.find((sdk) => names.includes(sdk.name)) ?? null : undefined;
  const key = first.key ?? PLACEHOLDER, from = `hello@${first.domain ?? verified}`;
  const known = new Set([...SDKS, ...OTHERS].flatMap((sdk) => sdk.seen));
  const further = connect.data?.sdks.filter((sdk) => !known.has(sdk.name)) ?? [];
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Connect')),
      t.p({ class: 'sub' }, 'Point a program at this server: its SDK stays the same, and two settings change. ', t.a({ class: 'link', href: docsUrl('clients') }, 'All clients and versions'))),
    t.div({ class: 'cols' },
      t.div({ class: 'stack' },
        t.section({ class: 'first', 'aria-label': 'Settings' }, h(Credentials, { connect: connect.data, first })),
        t.section({ class: 'card', 'aria-labelledby': 'h-sdks' }, t.header(null, t.h2({ id: 'h-sdks' }, 'SDKs'), t.span({ class: 'meta' }, 'by their user agent'), t.span(null)),
          t.ul({ class: 'list' }, SDKS.map((sdk) => row(sdk.label, settingOf(sdk, base, key, from), seen(sdk.seen))),
            OTHERS.map((other) => row(other.label, other.setting(base, key, from), seen(other.seen))),
            further.map((sdk) => row(sdk.name, base, sdk))))),
      hints()));
}

/**
 * @param {string} label
 * @param {string} setting
 * @param {{ seen_at: string } | null | undefined} seen Undefined before it is known.
 */
function row(label, setting, seen) {
  return t.li({ key: label }, t.div({ class: 'item' }, t.span({ class: 'grow' }, t.span({ class: 't1 dblock' }, label), t.code({ class: 'trunc dblock t3' }, setting)),
    seen ? pill('Seen', { tone: 'green' }) : seen === null && pill('Not seen', { hollow: true }), t.span({ class: 'num t3 w-72 hide-sm' }, seen && h(Time, { at: seen.seen_at })), h(Copy, { text: setting, label: `Copy the setting of ${label}` })));
}
