// The state of a domain and its records in words.
import { plural } from '../../lib/time.js';

/** @typedef {import('../../types/api.d.ts').DomainRecord & { seen?: string[] }} DomainRecord `seen` are the published values that differ */
/** @typedef {{ at: string, email_id: string, host: string | null, reply: string }} DomainRefusal an email whose sender a mail server could not authenticate */
/** @typedef {Omit<import('../../types/api.d.ts').DomainWithRecords, 'records' | 'recommended_records'> & { records: DomainRecord[], recommended_records: DomainRecord[], checked_at?: string | null, refusal?: DomainRefusal | null }} DomainWithRecords */
/** @typedef {import('../../components/pill.js').Tone} Tone */
/** @typedef {import('../../components/pill.js').PillLook} PillLook */
/**
 * @typedef {object} Entry a record with its words
 * @property {string} id
 * @property {DomainRecord} record
 * @property {string} title
 * @property {boolean} needed whether the domain is verified only with it
 * @property {string} full the complete name
 */

/** Word and look of the status of a domain. @type {Record<string, [string, PillLook]>} */
export const DOMAIN_STATUS = {
  verified: ['Verified', { tone: 'green' }], pending: ['Pending', { tone: 'amber', fill: true }],
  not_started: ['Not checked', { hollow: true }], failed: ['Failed', { tone: 'red', fill: true }],
};

/** Meaning of each status. @type {Record<string, string>} */
export const DOMAIN_MEANS = {
  verified: 'Emails can be sent from it.', pending: 'Its records are being looked for.',
  not_started: 'Publish its records, then verify it.', failed: 'Records are wrong or missing: nothing is sent from it.',
};

/** Word, look and dot of the last lookup of a record. @param {Entry} entry @returns {[string, PillLook, Tone]} */
export function lookOf({ record, needed }) {
  if (record.live === 'found') return ['Found', { tone: 'green' }, 'green'];
  if (record.live === 'mismatch') return ['Differs', { tone: 'red', fill: true }, 'red'];
  if (record.live === 'missing') return ['Missing', { tone: needed ? 'red' : 'amber', fill: true }, needed ? 'red' : 'amber'];
  return ['Not looked up', { hollow: true }, 'gray'];
}

/** The part of the names that the form of a provider adds itself: the registrable domain. @param {DomainWithRecords} domain */
export function apexOf(domain) {
  const [dmarc] = domain.recommended_records;
  const full = `_dmarc.${domain.name}`;
  return dmarc && full.startsWith(`${dmarc.name}.`) ? full.slice(dmarc.name.length + 1) : domain.name;
}

/** @param {DomainRecord} record */
function titleOf(record) {
  if (record.record === 'SPF') return record.type === 'MX' ? 'Bounces' : 'SPF';
  if (record.record === 'DKIM') return `DKIM, ${/k=ed25519/.test(record.value) ? 'Ed25519' : 'RSA-2048'}`;
  return record.record === 'Tracking' ? 'Tracked links' : record.record;
}

/** The records, the needed ones first. @param {DomainWithRecords} domain @returns {Entry[]} */
export function entriesOf(domain) {
  const apex = apexOf(domain);
  const entry = (/** @type {DomainRecord} */ record, /** @type {boolean} */ asked) => {
    const title = titleOf(record);
    return { id: `${record.type}-${record.name}`, record, title, needed: asked && record.record !== 'Tracking' && title !== 'DKIM, Ed25519', full: `${record.name}.${apex}` };
  };
  return [...domain.records.map((record) => entry(record, true)), ...domain.recommended_records.map((record) => entry(record, false))];
}

/**
 * The published values with their meaning. `detail` is the line of the last lookup: `NAME: The MX record has priority 20; set it to 10.`
 * @param {DomainRecord} record
 * @returns {{ seen: string[], text: string }}
 */
export function seenOf({ detail, live, type, seen = [] }) {
  const line = (detail ?? '').replace(/^[^\s:]+: /, '');
  if (live === 'found') return { seen: [], text: '' };
  if (live === 'unknown') return { seen: [], text: /not looked up yet/.test(line) || !line ? 'Not looked up yet.' : line };
  if (live === 'missing') return { seen: [], text: 'Nothing is published at this name.' };
  if (seen.length > 1 || !/^(Another|The CNAME)/.test(line)) return { seen, text: line };
  if (type === 'MX') return { seen, text: 'Another mail server receives the bounces of this domain. Replace the record; do not add a second one.' };
  return { seen, text: 'Replace the published value; do not add a second record.' };
}

/**
 * The state of the domain as a heading and a sentence.
 * @param {DomainWithRecords} domain
 * @returns {{ title: string, text: string }}
 */
export function summaryOf(domain) {
  const entries = entriesOf(domain), needed = entries.filter((entry) => entry.needed);
  const wrong = needed.filter((entry) => entry.record.live === 'mismatch'), missing = needed.filter((entry) => entry.record.live === 'missing');
  const advised = entries.filter((entry) => !entry.needed && entry.record.live !== 'found' && entry.record.live !== 'unknown');
  if (domain.status === 'verified') {
    if (wrong.length + missing.length > 0) return { title: 'Verified, and a record has changed', text: `Repair ${list([...wrong, ...missing])}. Ringmail looks again, and stops sending from the domain if it stays so.` };
    return { title: 'Verified', text: advised.length > 0 ? `Emails can be sent from it. ${list(advised)} would help them to arrive.` : 'Emails can be sent from it.' };
  }
  if (wrong.length > 0) return { title: wrong.length === 1 ? 'One record is wrong' : `${wrong.length} records are wrong`, text: wrong.length === 1 && wrong[0] ? wrongText(wrong[0]) : `${list(wrong)} have other values. The domain is verified as soon as they are replaced.` };
  if (missing.length > 0) return { title: missing.length === 1 ? 'One record is missing' : `${missing.length} records are missing`, text: 'Publish them where the DNS of the domain is run. It can take some minutes until they are seen.' };
  if (domain.status === 'not_started') return { title: 'Publish the records', text: `Add the ${plural(needed.length, 'needed record')} where the DNS of the domain is run, then verify the domain.` };
  return { title: 'Looking for the records', text: 'It can take some minutes until a new record is seen everywhere.' };
}

/** @param {Entry} entry */
function wrongText({ full, record }) {
  const { text } = seenOf(record);
  const what = text.startsWith('Another mail server') ? `The MX record of ${full} leads to another server.` : text.startsWith('Replace') ? `The ${record.type} record of ${full} has another value.` : `${full}: ${text}`;
  return `${what} The domain is verified as soon as it is replaced.`;
}

/** @param {Entry[]} entries */
function list(entries) {
  return entries.map((entry) => entry.title).join(' and ');
}

/** The records as lines of a zone file. @param {DomainWithRecords} domain */
export function zoneFile(domain) {
  const quoted = (/** @type {string} */ text) => (text.match(/.{1,255}/g) ?? []).map((part) => `"${part.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(' ');
  const lines = entriesOf(domain).map(({ full, record, needed }) => {
    const value = record.type === 'TXT' ? quoted(record.value) : `${record.type === 'MX' ? `${record.priority ?? 10} ` : ''}${record.value}.`;
    return `${full}. 3600 IN ${record.type} ${value}${needed ? '' : ' ; advised'}`;
  });
  return `; Records of ${domain.name} for Ringmail\n${lines.join('\n')}\n`;
}
