// One domain: its records, their state in the DNS, and the next step.
import { h, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { ApiError, api } from '../lib/api.js';
import { docsUrl } from '../lib/docs.js';
import { icon } from '../lib/icons.js';
import { usePoll } from '../lib/live.js';
import { forget, useLoad } from '../lib/load.js';
import { link, navigate, useTitle } from '../lib/router.js';
import { allows, store, stored } from '../lib/state.js';
import { Button } from '../components/button.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { errorNote, note, pageFailed, pageWaiting } from '../components/empty.js';
import { Segmented, Switch, TextField } from '../components/field.js';
import { Id } from '../components/id.js';
import { Menu, menuItem } from '../components/menu.js';
import { dot, pill } from '../components/pill.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { Record } from './domain/record.js';
import { SendTest } from './domain/test.js';
import { DOMAIN_STATUS, apexOf, entriesOf, lookOf, summaryOf, zoneFile } from './domain/text.js';
import { saveText } from './parts/save.js';
import { useAsApi } from './parts/view-as-api.js';

/** @typedef {import('./domain/text.js').DomainWithRecords} DomainWithRecords */

/** Interval of reads of a domain whose records are not found yet. */
const POLL_MS = 5000;

/** @param {{ params: { id: string } }} props */
export function DomainPage({ params: { id } }) {
  const loaded = /** @type {import('../lib/load.js').Loaded<DomainWithRecords>} */ (useLoad(`/domains/${id}`));
  const waits = loaded.data?.status === 'pending';
  usePoll(loaded.reload, waits ? POLL_MS : null);
  if (loaded.error && !loaded.data) return pageFailed('Domain', loaded.error, loaded.reload);
  if (!loaded.data) return pageWaiting('Domain');
  return h(Whole, { domain: loaded.data, reload: loaded.reload });
}

/** @param {{ domain: DomainWithRecords, reload: () => Promise<void> }} props */
function Whole({ domain, reload }) {
  useTitle(domain.name);
  const [all, setAll] = useState(false);
  const [form, setForm] = useState(stored('names', 'short'));
  const entries = entriesOf(domain), apex = apexOf(domain);
  const [word, look] = DOMAIN_STATUS[domain.status] ?? [domain.status, {}];
  const found = entries.filter((entry) => entry.record.live === 'found').length;
  const open = (/** @type {import('./domain/text.js').Entry} */ entry) => all || entry.record.live !== 'found';
  const test = useDialog((close) => h(SendTest, { domain: domain.name, onClose: close }));
  return fragment(
    t.div({ class: 'crumb' }, link({ to: '/domains' }, 'Domains'), icon('right', 'i-sm'), t.span({ class: 'trunc' }, domain.name)),
    t.div({ class: 'page-head' },
      t.div({ class: 'grow' }, t.h1({ class: 'wrap-any' }, domain.name),
        t.div({ class: 'head-meta' }, pill(word, look), h(Id, { id: domain.id }), t.span(null, 'added ', h(Time, { at: domain.created_at })))),
      h(Actions, { domain })),
    h(Steps, { domain, found, all: entries.length }),
    domain.refusal && refused(domain.refusal),
    t.div({ class: 'cols' },
      t.div({ class: 'stack recs-stack' },
        t.div({ class: 'row between wrap' },
          h(Segmented, { label: 'Form of the names', value: form, options: [['short', 'Short names'], ['full', 'Full names']], onChange: (/** @type {string} */ value) => { setForm(value); store('names', value); } }),
          t.div({ class: 'actions' }, h(Button, { kind: 'ghost', onClick: () => setAll(!all) }, all ? 'Close found' : 'Open all'),
            h(Button, { kind: 'ghost', icon: 'download', onClick: () => saveText(`${domain.name}.zone`, zoneFile(domain)) }, 'Zone file'))),
        entries.map((entry) => h(Record, { key: entry.id, entry, apex, full: form === 'full', open: open(entry) })),
        h(Tracking, { key: domain.tracking_subdomain ?? '', domain, reload })),
      t.div({ class: 'stack side-sticky side-first' },
        h(Verdict, { domain, entries, reload, test: test.open }), h(Where, { apex, full: form === 'full' }))),
    test.view);
}

/** @param {{ domain: DomainWithRecords, found: number, all: number }} props */
function Steps({ domain, found, all }) {
  const verified = domain.status === 'verified';
  const step = (/** @type {string} */ name, /** @type {import('../lib/h.js').Children} */ text, /** @type {boolean} */ done, /** @type {boolean} */ current) =>
    t.li({ key: name, class: done ? 'is-done' : undefined, 'aria-current': current ? 'step' : undefined }, t.b(null, name), t.small(null, text));
  return t.ol({ class: 'steps', 'aria-label': 'Steps' },
    step('Add the domain', h(Time, { at: domain.created_at }), true, false),
    step('Publish records', `${found} of ${all} found`, verified, !verified),
    step('Verified', verified ? 'ready to send' : 'checked automatically', verified, false),
    step('Send a test', 'to yourself', false, verified));
}

/** A refusal of the last two days, with the reply and the next step. @param {import('./domain/text.js').DomainRefusal} refusal */
function refused({ at, email_id, host, reply }) {
  return note('amber', t.p(null, t.b(null, 'The sender could not be authenticated. '), `${host ?? 'A mail server'} refused an email `, h(Time, { at }), '. Check SPF, DKIM and DMARC: publish the records of this page, then check them again.'),
    t.p(null, t.code({ class: 't1 wrap-any' }, reply)), t.p(null, link({ to: `/emails/${email_id}` }, 'The refused email')));
}

/** The state in a sentence, the records as dots, and the next step. @param {{ domain: DomainWithRecords, entries: import('./domain/text.js').Entry[], reload: () => Promise<void>, test: () => void }} props */
function Verdict({ domain, entries, reload, test }) {
  const { title, text } = summaryOf(domain);
  const verified = domain.status === 'verified';
  const check = async () => {
    await api.post(`/domains/${domain.id}/verify`);
    forget('/domains');
    await reload();
    toast('The records are looked up again');
  };
  return t.section({ class: 'card', 'aria-labelledby': 'h-st' }, t.header(null, t.h2({ id: 'h-st' }, title)),
    t.div({ class: 'pad stack-sm' }, t.p(null, text),
      t.ul({ class: 'dots' }, entries.map((entry) => {
        const [word, , tone] = lookOf(entry);
        return t.li({ key: entry.id }, dot(tone, word), entry.title, t.span(null, entry.record.policy && entry.record.live === 'found' ? `policy ${entry.record.policy}` : word.toLowerCase()));
      })),
      allows('admin') && h(Button, { kind: verified ? undefined : 'primary', icon: 'refresh', class: 'btn-block', onClick: check }, domain.status === 'not_started' ? 'Verify domain' : 'Check again'),
      allows('member') && verified && h(Button, { kind: 'primary', icon: 'send', class: 'btn-block', onClick: test }, 'Send a test email'),
      t.p({ class: 'meta', role: 'status' }, domain.checked_at && fragment('Checked ', h(Time, { at: domain.checked_at }), '. '), domain.status === 'pending' ? 'Ringmail looks by itself too. You can leave this page.' : verified ? 'Ringmail looks at the records from time to time.' : 'Ringmail begins to look as soon as you verify.')));
}

/** @param {{ apex: string, full: boolean }} props */
function Where({ apex, full }) {
  return t.section({ class: 'card', 'aria-labelledby': 'h-ns' }, t.header(null, t.h2({ id: 'h-ns' }, 'Where to publish')),
    t.div({ class: 'pad stack-sm' },
      t.p(null, 'Where the DNS of ', t.b(null, apex), ' is run. Most forms add ', t.code({ class: 't1' }, `.${apex}`), ' themselves: use the short names there.', full && ' Now the full names are copied.'),
      t.p(null, 'Switch a proxy of the provider off for these records. Any TTL will do.')));
}

/** @param {{ domain: DomainWithRecords }} props */
function Actions({ domain }) {
  const asApi = useAsApi(`/domains/${domain.id}`);
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState(false);
  const removal = useDialog((close) => h(Dialog, { title: `Delete ${domain.name}?`, action: 'Delete domain', danger: true, fields: true, onClose: close, submit: async () => {
    setWrong(typed.trim() !== domain.name);
    if (typed.trim() !== domain.name) return;
    await api.del(`/domains/${domain.id}`);
    forget('/domains');
    close();
    toast(`Deleted ${domain.name}`);
    navigate('/domains', { replace: true });
  } }, t.p(null, 'Nothing more can be sent from it, and its DKIM keys are deleted. If you add it again, it gets new keys and new records.'),
  h(TextField, { label: 'Name of the domain', value: typed, onInput: setTyped, placeholder: domain.name, error: wrong ? `Enter ${domain.name} to delete it.` : null })));
  return t.div({ class: 'actions' },
    link({ class: 'btn btn-ghost hide-sm', to: `/emails?domain=${encodeURIComponent(domain.name)}` }, 'Emails'),
    h(Menu, { class: 'btn btn-icon', label: 'More actions', button: icon('more'), end: true, children: [
      menuItem('code', 'View as API', asApi.open), menuItem('download', 'Download zone file', () => saveText(`${domain.name}.zone`, zoneFile(domain))),
      link({ key: 'emails', to: `/emails?domain=${encodeURIComponent(domain.name)}` }, icon('mail'), 'Emails from it'),
      allows('admin') && t.hr({ key: 'line' }),
      allows('admin') && menuItem('trash', 'Delete domain…', () => { setTyped(''); setWrong(false); removal.open(); }, { danger: true }),
    ] }), asApi.view, removal.view);
}

/** @param {{ domain: DomainWithRecords, reload: () => Promise<void> }} props */
function Tracking({ domain, reload }) {
  const stored = domain.tracking_subdomain ?? '';
  const [label, setLabel] = useState(stored);
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const can = allows('admin'), clean = label.trim().toLowerCase().replace(`.${domain.name}`, '');
  const change = async (/** @type {Record<string, boolean | string | null>} */ changes, /** @type {string} */ done) => {
    setError(null);
    try {
      await api.patch(`/domains/${domain.id}`, changes);
      forget('/domains');
      await reload();
      toast(done);
    } catch (thrown) {
      setError(thrown instanceof ApiError ? thrown : new ApiError(0, 'error', String(thrown), null));
    }
  };
  /** @param {'open_tracking' | 'click_tracking'} name @param {string} text @param {string} hint */
  const row = (name, text, hint) => t.div({ key: name }, can ? h(Switch, { label: `Record ${text}`, checked: domain[name], onChange: (/** @type {boolean} */ on) => { void change({ [name]: on }, on ? `Records ${text}` : `Records no ${text}`); } })
    : t.b(null, `Records ${domain[name] ? '' : 'no '}${text}`), t.p(null, hint));
  return t.section({ class: 'card', 'aria-labelledby': 'h-track' }, t.header(null, t.h2({ id: 'h-track' }, 'Tracking'), t.a({ class: 'btn btn-ghost btn-sm', href: docsUrl('tracking') }, 'Read more')),
    t.div({ class: 'pad stack-sm' },
      row('open_tracking', 'opens', 'An image of one pixel reports that a recipient has opened an email.'),
      row('click_tracking', 'clicks', 'Links lead over this server, which records the click.'),
      error && errorNote(error),
      can ? t.form({ class: 'row wrap row-end', onSubmit: (event) => { event.preventDefault(); } },
        t.div({ class: 'grow' }, h(TextField, { label: 'Tracking subdomain', value: label, onInput: setLabel, placeholder: 'links', hint: clean ? `Tracked links begin with https://${clean}.${domain.name}.` : 'Without it, tracked links begin with the address of this server.' })),
        h(Button, { type: 'submit', onClick: () => change({ tracking_subdomain: clean || null }, clean ? 'Saved the tracking subdomain' : 'Removed the tracking subdomain'), disabled: clean === stored && 'Nothing has changed.' }, 'Save')) : t.p(null, stored ? `Tracked links begin with https://${stored}.${domain.name}.` : 'Tracked links begin with the address of this server.'),
      stored && host(domain)));
}

/** The state of the record of the tracking host. @param {DomainWithRecords} domain */
function host(domain) {
  const record = domain.records.find((one) => one.record === 'Tracking'), name = `${domain.tracking_subdomain}.${domain.name}`;
  if (record?.live === 'found') return note('green', t.p(null, `${name} leads to this server, and links use it. Its certificate is that of your reverse proxy: let it serve ${name} over HTTPS.`));
  return note('amber', t.p(null, t.b(null, 'Publish its record. '), `Add a CNAME record for ${name}${record ? ` with the value ${record.value}` : ''}; it is in the list of records. Until it is found, links use the address of this server.`));
}
