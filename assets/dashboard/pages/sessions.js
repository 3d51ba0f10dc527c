// The sessions of the user, and their end.
import { h } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api, signOut } from '../lib/api.js';
import { useList } from '../lib/list.js';
import { me } from '../lib/state.js';
import { plural } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { empty, failed } from '../components/empty.js';
import { pill } from '../components/pill.js';
import { Pager, table } from '../components/table.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';

/** @typedef {{ id: string, created_at: string, last_used_at: string, ip: string, user_agent: string, current: boolean }} Session */

/** Browser and system of a user agent, such as `Firefox on Linux`. @param {string} agent */
function deviceOf(agent) {
  const browser = /Edg\//.test(agent) ? 'Edge' : /OPR\//.test(agent) ? 'Opera' : /Firefox\//.test(agent) ? 'Firefox' : /Chrom(e|ium)\//.test(agent) ? 'Chrome' : /Safari\//.test(agent) ? 'Safari' : null;
  const system = /iPhone/.test(agent) ? 'iPhone' : /iPad/.test(agent) ? 'iPad' : /Android/.test(agent) ? 'Android' : /Mac OS X|Macintosh/.test(agent) ? 'macOS' : /Windows/.test(agent) ? 'Windows' : /Linux|X11/.test(agent) ? 'Linux' : null;
  if (!browser && !system) return agent.slice(0, 40) || 'Unknown browser';
  return [browser ?? 'A browser', system].filter(Boolean).join(' on ');
}

export function SessionsPage() {
  const list = /** @type {import('../lib/list.js').List<Session>} */ (useList('/sessions'));
  const others = (list.rows ?? []).filter((row) => !row.current);
  const end = async (/** @type {Session} */ session) => {
    await api.del(`/sessions/${session.id}`);
    await list.reload();
    toast(`Signed out ${deviceOf(session.user_agent)}`);
  };
  const all = useDialog((close) => h(Dialog, { title: 'Sign out everywhere else?', action: 'Sign out elsewhere', danger: true, onClose: close, submit: async () => {
    const { deleted } = /** @type {{ deleted?: number }} */ (await api.del('/sessions')) ?? {};
    close();
    await list.reload();
    toast(typeof deleted === 'number' ? `Signed out ${plural(deleted, 'other session')}` : 'Signed out elsewhere');
  } }, t.p(null, 'Every other browser has to sign in again. This one stays signed in.')));
  const body = () => {
    if (list.error && !list.rows) return failed(list.error, list.reload, 'The list');
    if (list.rows?.length === 0) return empty({ docs: 'sessions', title: 'No sessions', text: 'This server has no accounts, so nobody signs in.' });
    return fragment(rows(list.rows, end), (list.newer || list.older) && h(Pager, { newer: list.newer, older: list.older, size: list.size, setSize: list.setSize, live: false }));
  };
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Sessions')),
      t.div({ class: 'actions' }, h(Button, { kind: 'danger', onClick: all.open, disabled: list.rows !== null && others.length === 0 && 'You are signed in nowhere else.' }, 'Sign out elsewhere…')),
      t.p({ class: 'sub' }, me.value?.user ? [`Where ${me.value.user.email} is signed in. `, t.a({ key: 'a', class: 'link', href: '/dashboard/account' }, 'Password and second factor')] : 'Browsers that opened this dashboard by its link.')),
    body(), all.view);
}

/** @param {Session[] | null} sessions @param {(session: Session) => Promise<void>} end */
function rows(sessions, end) {
  return t.div({ class: 'table-wrap' }, table({ label: 'Sessions, newest first', rows: sessions, id: (row) => row.id, class: 'table-cards table-act', columns: [
    { head: 'Browser', class: 'c-to', cell: (row) => t.span({ class: 'row' }, t.span({ class: 't1 medium trunc', title: row.user_agent }, deviceOf(row.user_agent)), row.current && pill('This one', { tone: 'green' })) },
    { head: 'Address', class: 'c-subject trunc', width: 'w-320', cell: (row) => t.span({ class: 'mono', title: row.ip }, row.ip) },
    { head: 'Signed in', class: 'c-tag num', width: 'w-128', cell: (row) => h(Time, { at: row.created_at }) },
    { head: 'Last used', class: 'c-time num', width: 'w-128', cell: (row) => h(Time, { at: row.last_used_at }) },
    { head: 'Actions', class: 'c-act', width: 'w-104', cell: (row) => h(Button, { size: 'sm', kind: 'ghost', onClick: () => (row.current ? signOut() : end(row)) }, 'Sign out') },
  ] }));
}
