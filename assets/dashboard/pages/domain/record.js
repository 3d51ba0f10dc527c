// One record as a block: the published value below the expected one. Only records with a problem are open.
import { h } from '../../vendor/preact.js';
import { cls, t } from '../../lib/h.js';
import { icon } from '../../lib/icons.js';
import { Copy } from '../../components/copy.js';
import { pill } from '../../components/pill.js';
import { lookOf, seenOf } from './text.js';

/**
 * @param {{ entry: import('./text.js').Entry, apex: string, full: boolean, open: boolean }} props
 */
export function Record({ entry, apex, full, open }) {
  const { record, title, needed } = entry;
  const [word, look] = lookOf(entry);
  const { seen, text } = seenOf(record);
  const bad = record.live === 'mismatch' || (record.live === 'missing' && needed);
  const name = full ? entry.full : record.name;
  const line = (/** @type {string} */ label, /** @type {import('../../lib/h.js').Children} */ value, /** @type {string | null} */ copy) =>
    t.div(null, t.dt(null, label), t.dd(null, t.code(null, value), copy !== null && h(Copy, { text: copy, label: `Copy the ${label.toLowerCase()} of ${title}` })));
  const foot = remark(entry, text);
  return t.details({ class: cls('rec', bad && 'is-bad'), open },
    t.summary(null, icon('right', 'rec-i'), t.h2(null, title), t.span({ class: 'tag' }, record.type), t.span({ class: 'meta' }, needed ? 'needed' : 'advised'), t.span({ class: 'grow' }), pill(word, look)),
    t.dl({ class: 'recs' },
      line('Name', t.span({ class: 'host' }, t.b(null, record.name), t.span({ class: full ? 't1' : 't3' }, `.${apex}`)), name),
      record.type === 'MX' && line('Priority', String(record.priority ?? 10), null),
      line(seen.length === 0 ? 'Value' : 'Should be', record.value, record.value),
      seen.map((value, i) => t.div({ key: `seen${i}` }, t.dt(null, i === 0 ? 'Seen now' : ''), t.dd(null, t.code({ class: 'red' }, value))))),
    foot && t.footer(null, icon(bad ? 'warn' : record.live === 'found' ? 'check' : 'clock'), t.p(null, foot)));
}

/** @param {import('./text.js').Entry} entry @param {string} text */
function remark({ record, title }, text) {
  if (record.record === 'DMARC' && record.live === 'found') {
    return record.inherited_from ? `Inherited from ${record.inherited_from}, policy ${record.policy ?? 'none'}.` : `Policy ${record.policy ?? 'none'}.${record.policy === 'none' ? ' Raise it to quarantine after two quiet weeks.' : ''}`;
  }
  if (title === 'DKIM, Ed25519' && record.live === 'missing') return 'Not there yet. Mail is signed with RSA until it is.';
  return record.live === 'found' ? 'Seen as it should be.' : text;
}
