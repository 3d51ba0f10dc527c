// Audit: the administrative actions of the team, newest first. Filters and the open entry are in the address.
import { h } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { ApiError } from '../lib/api.js';
import { link, query, search, setQuery } from '../lib/router.js';
import { allows } from '../lib/state.js';
import { Code, json } from '../components/code.js';
import { Drawer } from '../components/drawer.js';
import { empty, failed } from '../components/empty.js';
import { OneFilter, SearchField, useFilters } from '../components/filters.js';
import { Id } from '../components/id.js';
import { table } from '../components/table.js';
import { Time } from '../components/time.js';
import { logTabs } from './parts/log-tabs.js';
import { found, useScan } from './parts/scan.js';

/** @typedef {import('../types/metrics.d.ts').AuditRow} AuditRow */

/** The kinds of `AuditAction` in src/audit/model.rs: an action is `kind.verb`. */
const KINDS = ['api_key', 'domain', 'webhook', 'member', 'user', 'setup_link', 'account', 'session', 'sign_in', 'team', 'theme', 'suppression', 'queue', 'broadcast', 'template', 'contact', 'captured'].map((kind) => /** @type {[string, string]} */ ([kind, words(kind)]));
/** @type {[AuditRow['actor']['type'], string][]} */
const ACTORS = [['user', 'Users'], ['api_key', 'API keys'], ['command_line', 'Command line'], ['server', 'The server']];
/** The pages of things. @type {Record<string, string>} */
const PAGES = { domain: '/domains/', webhook: '/webhooks/', broadcast: '/broadcasts/', template: '/templates/', captured: '/captured/' };

/** `API key created` of `api_key.created`. @param {string} action */
function words(action) {
  const text = action.replaceAll(/[._]/g, ' ').replace(/\bapi\b/, 'API');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function AuditPage() {
  const head = fragment(t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Logs')), t.p({ class: 'sub' }, 'Each change to keys, domains, webhooks, users and settings, and who made it.')), logTabs('audit'));
  return allows('admin') ? fragment(head, h(Entries, null)) : fragment(head, failed(new ApiError(403, 'invalid_access', 'The audit log is for admins and owners of the team.', null), () => {}));
}

function Entries() {
  const filters = useFilters(['q', 'kind', 'actor']), { q, kind, actor } = filters.values;
  const text = q?.toLowerCase();
  const scan = /** @type {import('./parts/scan.js').Scan<AuditRow>} */ (useScan('/audit', { action: kind && `${kind}.`, actor }, (row) => !text || [row.id, row.action, words(row.action), row.actor.name, row.actor.id, row.target?.name, row.target?.id].some((one) => one?.toLowerCase().includes(text)), q ?? ''));
  const close = () => setQuery({ entry: null }, { replace: true });
  const open = scan.rows?.find((row) => row.id === query.value.entry);
  if (scan.error && !scan.rows) return failed(scan.error, scan.again, 'The audit log');
  if (scan.rows?.length === 0 && !filters.any && !scan.running) return empty({ title: 'No administrative actions yet', text: 'When somebody creates a key, changes a domain or signs in, the audit log says who did it.', docs: 'audit' });
  const said = [q && `Nothing has “${q}”.`, (kind || actor) && `Filtered by ${[kind && words(kind).replace(/^[A-Z](?=[a-z])/, (one) => one.toLowerCase()), actor && ACTORS.find(([one]) => one === actor)?.[1].toLowerCase()].filter(Boolean).join(', ')}.`].filter(Boolean).join(' ');
  return fragment(
    t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search the audit log', placeholder: 'Person, key, thing or id' }),
      h(OneFilter, { name: 'kind', label: 'Any action', none: 'Any action', options: KINDS }), h(OneFilter, { name: 'actor', label: 'Anybody', none: 'Anybody', options: ACTORS })),
    found({ scan, title: 'No entry matches', one: 'entry', many: 'entries', words: said, clear: filters.clear, rows }),
    open && h(Entry, { row: open, onClose: close }));
}

/** @param {AuditRow['actor']} actor */
function actorName({ type, name, id }) {
  return name ?? (type === 'command_line' ? 'Command line' : type === 'server' ? 'The server' : id ?? (type === 'user' ? 'A user' : 'An API key'));
}

/** @param {AuditRow[] | null} entries */
function rows(entries) {
  return table({ label: 'Administrative actions, newest first', rows: entries, id: (row) => row.id, to: (row) => `/logs/audit${search({ ...query.value, entry: row.id })}`, columns: [
    { head: 'Action', class: 'c-to', link: true, width: 'w-26p', cell: (row) => words(row.action) },
    { head: 'Of', class: 'c-subject trunc', cell: (row) => row.target ? row.target.name ?? words(row.target.type) : t.span({ class: 't3' }, 'the team') },
    { head: 'By', class: 'c-dom trunc', width: 'w-240', cell: (row) => actorName(row.actor) },
    { head: 'When', class: 'c-time num', width: 'w-104', cell: (row) => h(Time, { at: row.created_at }) },
  ] });
}

/** @param {{ row: AuditRow, onClose: () => void }} props */
function Entry({ row, onClose }) {
  const { actor, target } = row, page = target && PAGES[target.type];
  const line = (/** @type {string} */ name, /** @type {import('../lib/h.js').Children} */ value) => fragment(t.dt(null, name), t.dd(null, value));
  return h(Drawer, { title: words(row.action), onClose },
    t.dl({ class: 'dl' }, line('When', h(Time, { at: row.created_at, as: 'exact' })), line('By', `${actorName(actor)}, ${words(actor.type).toLowerCase().replace('api', 'API')}`),
      actor.id && line('Its id', h(Id, { id: actor.id, whole: true })), target && fragment(line(words(target.type), target.name ?? '–'), line('Id', h(Id, { id: target.id, whole: true }))),
      line('Action', t.code(null, row.action)), line('Entry', h(Id, { id: row.id, whole: true }))),
    Object.keys(row.detail).length > 0 && t.section({ class: 'stack-xs', 'aria-label': 'Details' }, t.h3(null, 'Details'), h(Code, { text: json(row.detail), label: 'Copy the details' })),
    target && page && t.p(null, link({ class: 'link', to: page + target.id }, `Open the ${words(target.type).toLowerCase()}`)),
    t.p({ class: 'meta' }, 'Secrets, tokens and contents of emails are not in the audit log.'));
}
