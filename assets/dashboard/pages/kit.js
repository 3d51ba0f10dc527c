// Every component. The tests look at this page in both themes.
import { h, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { ApiError } from '../lib/api.js';
import { icon, mark } from '../lib/icons.js';
import { Button } from '../components/button.js';
import { Chart } from '../components/chart.js';
import { Code } from '../components/code.js';
import { Copy } from '../components/copy.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { Drawer } from '../components/drawer.js';
import { Editor } from '../components/editor.js';
import { banner, empty, errorNote, failed, note, skeleton } from '../components/empty.js';
import { Checkbox, Radio, Segmented, SelectField, Switch, TextArea, TextField } from '../components/field.js';
import { FilterOn, MultiFilter, OneFilter, SearchField } from '../components/filters.js';
import { Id } from '../components/id.js';
import { Menu, menuItem } from '../components/menu.js';
import { EMAIL_STATUS, dot, emailPill, httpPill, pill, tag } from '../components/pill.js';
import { Bulk, Live, NewChip, Pager, middle, table } from '../components/table.js';
import { Tabs } from '../components/tabs.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';

const COLOURS = ['bg', 'surface', 'sunken', 'press', 'line', 'line-2', 'line-input', 'text', 'text-2', 'text-3', 'accent', 'green', 'blue', 'violet', 'amber', 'red', 'gray'];

export function KitPage() {
  const sections = [colours(), type(), buttons(), h(Fields, { key: 'field' }), h(EditorPart, { key: 'editor' }), pills(), filters(), h(Tables, { key: 'table' }), h(TabsPart, { key: 'tabs' }), h(Layers, { key: 'layers' }), states(), charts(), texts()];
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Components')), t.p({ class: 'sub' }, 'Pages are made of these parts and nothing else.')),
    sections);
}

/**
 * @param {string} id
 * @param {string} title
 * @param {string} about
 * @param {import('../lib/h.js').Children[]} parts
 */
function section(id, title, about, ...parts) {
  return t.section({ key: id, class: 'kit-s', id, 'aria-labelledby': `k-${id}` }, t.header(null, t.h2({ id: `k-${id}` }, title), t.p(null, about)), t.div({ class: 'kit-b' }, parts));
}

/** @param {string} name @param {import('../lib/h.js').Children[]} parts */
function row(name, ...parts) {
  return t.div({ class: 'kit-r', key: name }, t.span({ class: 'meta' }, name), t.div(null, parts));
}

function colours() {
  return section('colour', 'Colour and mark', 'Grey carries the page. Colour means state, and always stands beside a word.',
    t.ul({ class: 'sws' }, COLOURS.map((name) => t.li({ key: name }, t.span({ class: `sw sw-${name}` }), t.code(null, `--${name}`)))),
    row('Mark', mark(), t.span({ class: 'row t1 medium' }, mark(), 'Ringmail')));
}

function type() {
  return section('type', 'Type', 'Inter in three weights: 400, 500, 600. Numbers are tabular.', t.div({ class: 'kit-type' },
    t.p({ class: 'stat-lg' }, '28/34 Stat 1,204'), t.p({ class: 'kit-title t1' }, '20/28 Page title'), t.p({ class: 't16' }, '16/24 Dialog title'), t.p({ class: 'body' }, '14/22 Body and verdicts'),
    t.p({ class: 't1' }, '13/20 Interface, tables, controls'), t.p({ class: 'meta' }, '12/16 Meta, hints, table heads'), t.p({ class: 'mono t1' }, '12/18 Mono: ids, replies, records')));
}

function buttons() {
  const states = (/** @type {import('../components/button.js').ButtonKind | undefined} */ kind, /** @type {string} */ text) => [
    h(Button, { kind }, text), h(Button, { kind, class: 'is-hover' }, text), h(Button, { kind, class: 'is-active' }, text), h(Button, { kind, class: 'is-focus' }, text), h(Button, { kind, busy: true }, text), h(Button, { kind, disabled: 'The content was removed after 30 days.' }, text)];
  return section('button', 'Button', 'Rest, hover, pressed, focus, at work, disabled with its reason. One primary on a screen.',
    row('Primary', states('primary', 'Create key')), row('Default', states(undefined, 'Send again')), row('Ghost', states('ghost', 'View as API'), h(Button, { kind: 'ghost', icon: 'more', label: 'More' })),
    row('Danger', h(Button, { kind: 'danger' }, 'Delete domain…'), h(Button, { kind: 'danger-solid' }, 'Delete domain')),
    row('Sizes', h(Button, { size: 'sm' }, '28 compact'), h(Button, null, '32 default'), h(Button, { size: 'lg' }, '36 sign-in')),
    row('Waits', h(Button, { onClick: () => new Promise((resolve) => setTimeout(resolve, 1000)) }, 'Check now'), h(Button, { onClick: () => Promise.reject(new ApiError(422, 'validation_error', 'The domain has no records yet.', null)) }, 'Check and fail')));
}

function Fields() {
  const [on, setOn] = useState(true);
  const [span, setSpan] = useState('7d');
  return section('field', 'Field, checkbox, radio, switch', 'A checkbox waits for Save, a switch acts at once.',
    t.div({ class: 'kit-g' },
      h(TextField, { label: 'Rest', value: '', placeholder: 'you@example.com', hint: 'Where receipts go.' }), h(TextField, { label: 'Filled', value: 'ada@example.net' }),
      h(TextField, { label: 'Error', value: 'https://acme.com', error: 'Give the name alone: acme.com' }), h(TextField, { label: 'Disabled', value: 'mail.acme.com', disabled: 'Set by RINGMAIL_HOSTNAME.' }),
      h(SelectField, { label: 'Select', value: 'full', options: [['full', 'Full access'], ['send', 'Sending only']] }), h(SelectField, { label: 'Select, disabled', value: 'a', options: ['a'], disabled: 'There is only one.' }),
      h(TextArea, { label: 'Text area', value: 'Thank you for your order.', rows: 2 })),
    row('Checkbox', h(Checkbox, { label: 'Off', checked: false }), h(Checkbox, { label: 'On', checked: true }), h(Checkbox, { label: 'Some', checked: false, mixed: true }), h(Checkbox, { label: 'Disabled', checked: false, disabled: true })),
    row('Radio', h(Radio, { label: 'Now', name: 'kit', checked: true }), h(Radio, { label: 'Later', name: 'kit', checked: false })),
    row('Switch', h(Switch, { label: 'Off', checked: false }), h(Switch, { label: 'Acts', checked: on, onChange: setOn }), h(Switch, { label: 'Disabled', checked: false, disabled: true })),
    row('Segmented', h(Segmented, { label: 'Range', value: span, onChange: setSpan, options: [['24h', '24h'], ['7d', '7d'], ['30d', '30d']] }), h(Segmented, { label: 'Small', small: true, value: 'light', onChange: () => {}, options: [['light', 'Light', 'sun'], ['dark', 'Dark', 'moon']] })));
}

function EditorPart() {
  const [markdown, setMarkdown] = useState('# Coming soon\n\nHello {{{FIRST_NAME}}},\n\n**shared views** are [nearly ready](https://acme.com/views).\n');
  return section('editor', 'Editor', 'F8 goes to the next finding, Tab leaves the editor.',
    row('Markdown', t.div({ class: 'kit-editor' }, h(Editor, { label: 'Example in Markdown', language: 'markdown', value: markdown, onInput: setMarkdown, marks: MARKS }))),
    row('Read only', t.div({ class: 'kit-editor' }, h(Editor, { label: 'Example in HTML', language: 'html', value: '<!-- The order -->\n<p style="margin:0">Hello {{{NAME|there}}} &amp; welcome.</p>\n', readOnly: true }))));
}

/** @type {import('../components/editor.js').EditorMark[]} */
const MARKS = [{ at: 21, length: 16, severity: 'warning', message: 'FIRST_NAME has no fallback.' }];

function pills() {
  return section('pill', 'Pill, tag, dot', 'Outline: nothing to do. Filled: somebody should look. The word is never left out.',
    row('Emails', Object.keys(EMAIL_STATUS).map((status) => emailPill(status))),
    row('Others', pill('Verified', { tone: 'green' }), pill('Pending', { tone: 'amber', fill: true }), pill('Cooling down', { tone: 'amber', fill: true }), pill('Sending', { tone: 'blue', fill: true })),
    row('HTTP', httpPill(200), httpPill(302), httpPill(422), httpPill(503), httpPill(null)),
    row('Tag', tag('invoice'), tag('paid plan'), t.span({ class: 'count' }, '12'), t.kbd(null, '⌘K')),
    row('Dot', dot('green', 'all well'), dot('amber', 'warnings'), dot('red', 'failing'), dot('gray', 'unknown')));
}

/** The filters act on the address of this page. */
function filters() {
  const options = /** @type {[string, string][]} */ ([['sent', 'Sent'], ['opened', 'Opened']]);
  return section('filter', 'Filters', 'A filter is in the address.', t.div({ class: 'filters' }, h(SearchField, { label: 'Search', placeholder: 'Address' }),
    h(MultiFilter, { name: 'status', label: 'Status', options }), h(OneFilter, { name: 'since', label: 'Any time', none: 'Any time', options }), h(FilterOn, { name: 'status', label: 'Status' })));
}

/** @type {{ id: string, status: string, to: string, subject: string, at: string }[]} */
const ROWS = [
  { id: '1', status: 'delivered', to: 'ada@example.net', subject: 'Rest', at: '2026-11-21T14:28:00Z' },
  { id: '2', status: 'bounced', to: 'purchase-ledger+invoices.2026.q4.emea@accounts-payable.northern-region.very-long-subsidiary-name.example.net', subject: 'Selected, with a long address', at: '2026-11-21T14:20:00Z' },
  { id: '3', status: 'queued', to: 'noor@example.org', subject: 'دعوة للانضمام إلى فريق Acme', at: '2026-11-20T14:20:00Z' },
];

/** @type {import('../lib/live.js').LiveState[]} */
const LIVE = ['live', 'polling', 'reconnecting'];

function Tables() {
  const [ids, setIds] = useState(new Set(['2']));
  /** @type {import('../components/table.js').Column<typeof ROWS[0]>[]} */
  const columns = [
    { head: 'Status', class: 'c-status', width: 'w-128', cell: (one) => emailPill(one.status) }, { head: 'To', class: 'c-to', width: 'w-26p', cell: (one) => middle(one.to) },
    { head: 'Subject', class: 'c-subject', link: true, cell: (one) => t.bdi(null, one.subject) }, { head: 'Sent', class: 'c-time num', width: 'w-88', cell: (one) => h(Time, { at: one.at }) },
  ];
  const common = { columns, id: (/** @type {{ id: string }} */ one) => one.id, to: () => '/kit', name: (/** @type {{ to: string }} */ one) => one.to };
  return section('table', 'Table and its foot', 'Rows of 40 px, or 32 compact. The whole row is one link. Two-line cards below 640 px.',
    t.div({ class: 'table-wrap' }, h(NewChip, { count: 3, show: () => {} }), table({ ...common, label: 'States of rows', rows: ROWS, selection: { ids, set: setIds } })),
    h(Pager, { newer: null, older: () => {}, size: 50, setSize: () => {} }),
    table({ ...common, label: 'Compact rows', rows: ROWS.slice(0, 2), compact: true, keys: false }),
    t.div({ class: 'table-foot' }, t.span(null, 'Searched back to 3 Nov. ', t.button({ class: 'link', type: 'button' }, 'Search further'))),
    ids.size > 0 && h(Bulk, { count: ids.size, label: 'Selected', clear: () => setIds(new Set()) }, h(Button, { kind: 'ghost', size: 'sm' }, 'Send again')),
    row('Waiting', table({ ...common, label: 'Rows that are loaded', rows: null, keys: false })), row('Live', LIVE.map((state) => h(Live, { key: state, state }))));
}

function TabsPart() {
  const [tab, setTab] = useState('preview');
  return section('tabs', 'Tabs', 'Arrow keys select a tab.',
    h(Tabs, { label: 'Example', selected: tab, onSelect: setTab, tabs: [{ id: 'preview', label: 'Preview' }, { id: 'text', label: 'Text' }, { id: 'files', label: 'Attachments', count: 1 }] }, t.p({ class: 'pad' }, `The panel of ${tab}.`)));
}

function menuItems() {
  return [t.p({ key: 'p' }, 'Email'), menuItem('send', 'Send again', () => {}, { keys: 'r' }), menuItem('download', 'Download .eml', () => {}), t.hr({ key: 'l' }), menuItem('trash', 'Delete…', () => {}, { danger: true })];
}

/** The content of a drawer. */
function reading() {
  return fragment(t.p(null, t.b(null, 'Suppressed by a hard bounce. '), 'Nothing is sent to it.'), t.p({ class: 'quote quote-0' }, '550 5.1.1 The email account does not exist'));
}

function Layers() {
  const [address, setAddress] = useState('');
  const dialog = useDialog((close) => h(Dialog, { title: 'Erase ada@example.net?', action: 'Erase', cancel: 'Keep', danger: true, fields: true, onClose: close,
    submit: async () => { if (address !== 'ada@example.net') throw new ApiError(422, 'validation_error', 'Type the address: ada@example.net', null); close(); } },
  t.p(null, 'This cannot be undone.'), h(TextField, { label: 'Type the address to confirm', value: address, onInput: setAddress, placeholder: 'ada@example.net' })));
  const drawer = useDialog((close) => h(Drawer, { title: 'kim@example.com', onClose: close }, reading()));
  return section('layers', 'Dialog, drawer, menu, toast', 'A dialog is one decision. A drawer is for reading. Never one on the other.',
    row('Open', h(Button, { onClick: dialog.open }, 'Dialog…'), h(Button, { onClick: drawer.open }, 'Drawer'), h(Button, { onClick: () => toast('Copied') }, 'Toast'), h(Button, { onClick: () => toast('Template deleted', { undo: () => {} }) }, 'Toast with undo'),
      h(Menu, { button: ['Menu', icon('down')], children: menuItems() })),
    t.div({ class: 'dialog dialog-static', role: 'group', 'aria-label': 'A dialog' }, t.header(null, t.h2(null, 'Delete 3 emails?')), t.div({ class: 'dialog-body' }, t.p(null, 'Their content is erased.'), errorNote(new ApiError(500, 'error', 'The store could not be written.', '0199c0de-0000-7000-8000-000000000001'))), t.footer(null, h(Button, null, 'Cancel'), h(Button, { kind: 'danger-solid' }, 'Delete 3 emails'))),
    t.div({ class: 'drawer', role: 'group', 'aria-label': 'A drawer' }, t.header(null, t.h2({ class: 'trunc' }, 'kim@example.com'), h(Button, { kind: 'ghost', size: 'sm', icon: 'x', label: 'Close' })), t.div({ class: 'pad stack' }, reading())),
    t.div({ class: 'menu kit-menu', role: 'group', 'aria-label': 'An open menu' }, ...menuItems()),
    t.div({ class: 'toast' }, icon('check'), t.span({ class: 'grow' }, 'Template deleted'), h(Button, { kind: 'ghost', size: 'sm' }, 'Undo')), dialog.view, drawer.view);
}

function states() {
  return section('state', 'Banner, note, empty, failed, waiting', 'One sentence and one action.',
    t.div({ class: 'kit-frame' }, [banner('plain', [t.b({ key: 'b' }, 'Development mode. '), 'Nothing leaves this machine.'], null, 'Banner'), banner('amber', t.b(null, 'The last backup is 9 days old.'), null, 'Banner, warning'), banner('red', t.b(null, 'Sending is paused: 5.2% hard bounces in two days.'), null, 'Banner, failure')].map((one, i) => t.div({ key: i, class: 'kit-banner' }, one))),
    t.div({ class: 'stack-sm' }, note('plain', t.p(null, 'An import never subscribes anyone again.')), note('green', t.p(null, 'mail.acme.com is verified.')), note('amber', t.p(null, '1,102 contacts have no first name.')), failed(new ApiError(500, 'error', 'The store could not be read.', '0199c0de-0000-7000-8000-000000000001'), () => {}, 'The list')),
    t.div({ class: 'kit-two' }, empty({ title: 'No webhooks yet', text: 'An endpoint receives events.', actions: h(Button, { kind: 'primary' }, 'Add endpoint') }),
      empty({ title: 'No bounced emails in the last 7 days', text: 'The filter “Status is bounced” hides 2,318 others.', actions: h(Button, null, 'Clear filters') })),
    t.div({ class: 'kit-two' }, failed(new ApiError(403, 'forbidden', 'Ask an owner of the team.', null), () => {}), skeleton(3)));
}

function charts() {
  const days = Array.from({ length: 28 }, (_, i) => `${15 + Math.floor(i / 4)} Nov, ${String((i % 4) * 6).padStart(2, '0')}:00`);
  const sent = days.map((_, i) => (i < 27 ? [850, 2450, 2500, 1250][i % 4] ?? 0 : 0)), rate = days.map((_, i) => (i < 25 ? 1 + i / 100 : 4.3));
  return section('chart', 'Chart', 'Bars are counts, lines are rates. Arrow keys move the cursor.',
    h(Chart, { label: 'Emails sent over 7 days. The bounce rate rose to 4.3%.', buckets: days, ticks: days.map((day, i) => (i % 4 === 1 ? day.slice(0, 6) : '')), bars: [{ name: 'Sent', tone: 'gray', values: sent }], lines: [{ name: 'Hard bounces, 2 days', tone: 'red', values: rate }], limits: [{ name: 'Warning', at: 4, tone: 'warn' }, { name: 'Pause', at: 5, tone: 'pause' }] }),
    h(Chart, { label: 'Opens by people and by software.', buckets: days.slice(0, 4), bars: [{ name: 'By people', tone: 'blue', values: [40, 32, 18, 9] }, { name: 'By software', tone: 'machine', values: [60, 20, 12, 4] }], to: () => '/kit' }),
    h(Chart, { label: 'Emails sent in one day: none.', buckets: days.slice(0, 4), bars: [{ name: 'Sent', tone: 'gray', values: [0, 0, 0, 0] }], empty: 'Nothing was sent on these days.' }));
}

function texts() {
  const ago = (/** @type {number} */ ms) => new Date(Date.now() - ms).toISOString();
  return section('text', 'Code, id, copy, time', 'Ids are mono and muted. Times are relative, with UTC seconds in the title; after 30 days a date.',
    h(Code, { text: "# what this page shows\ncurl https://mail.acme.com/emails/4f7c2a1e-… \\\n  -H 'Authorization: Bearer YOUR_API_KEY'" }),
    row('Id', h(Id, { id: '4f7c2a1e-6b0d-4f53-9a3e-d2c81b7e90aa' }), h(Id, { id: 'rm7k2m', whole: true }), h(Copy, { text: 'x', label: 'Copy the key' }), h(Copy, { text: 'x', label: 'Copied the key', copied: true })),
    row('Time', [2_000, 32_000, 240_000, 19_000_000, 280_000_000, 4_500_000_000, -86_500_000].map((ms) => h(Time, { key: ms, at: ago(ms) })), h(Time, { at: null })),
    row('Progress', t.progress({ class: 'progress', max: 100, value: 59, 'aria-label': 'Example' })));
}
