// Sending from a program through this server: the tabs of the SDKs, with this address and key.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { store, stored } from '../../lib/state.js';
import { Code } from '../../components/code.js';
import { Tabs } from '../../components/tabs.js';
import { useDomains } from './domains.js';
import { SDKS, exportsOf } from './samples.js';

/**
 * The tabs of the SDKs: the settings for a shell and the program, each to copy.
 * @param {{ base: string, token: string, domain?: string, sdk?: string, onSelect?: (id: string) => void }} props `domain` is that of the key, `sdk` that of the address
 */
export function SdkTabs({ base, token, domain, sdk, onSelect }) {
  const [own, setOwn] = useState(stored('sdk', 'node'));
  const { verified = 'example.com' } = useDomains();
  const chosen = SDKS.find((one) => one.id === (sdk ?? own)) ?? SDKS[0];
  return chosen && t.div({ class: 'sdk' }, h(Tabs, { label: 'Language', tabs: SDKS, selected: chosen.id, onSelect: (/** @type {string} */ id) => { store('sdk', id); setOwn(id); onSelect?.(id); } },
    chosen.variable && h(Code, { text: exportsOf(chosen, base, token), label: 'Copy the settings' }),
    h(Code, { text: chosen.code(`hello@${domain ?? verified}`, base, token) })));
}
