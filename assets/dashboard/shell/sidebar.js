// Sidebar, its sheet on small screens, and the banners of the server's and the team's state.
import { h, useEffect } from '../vendor/preact.js';
import { cls, fragment, t } from '../lib/h.js';
import { askDeliverability, deliverability, guardrailText } from '../lib/guardrail.js';
import { icon, mark } from '../lib/icons.js';
import { MOD } from '../lib/keys.js';
import { useLive, usePoll } from '../lib/live.js';
import { api, signOut } from '../lib/api.js';
import { attempt } from '../lib/problem.js';
import { link, path } from '../lib/router.js';
import { disabledEndpoints, health, queuePaused, queueWaiting } from '../lib/status.js';
import { isOperator, me, nextTheme, now, theme } from '../lib/state.js';
import { count } from '../lib/time.js';
import { banner } from '../components/empty.js';
import { Menu, menuItem } from '../components/menu.js';
import { dot } from '../components/pill.js';

/** @typedef {{ to: string, label: string, icon: import('../lib/icons.js').IconName, key?: string, group?: string, operator?: boolean }} GoPage `operator`: only the team that runs the server sees it */

/** @type {GoPage[]} */
const PAGES = [
  { to: '/', label: 'Overview', icon: 'overview', key: 'o' },
  { to: '/emails', label: 'Emails', icon: 'mail', key: 'e', group: 'Send' },
  { to: '/broadcasts', label: 'Broadcasts', icon: 'broadcast', key: 'b', group: 'Send' },
  { to: '/templates', label: 'Templates', icon: 'template', key: 't', group: 'Send' },
  { to: '/connect', label: 'Connect', icon: 'zap', key: 'n', group: 'Send' },
  { to: '/metrics', label: 'Metrics', icon: 'metrics', key: 'm', group: 'Operate' },
  { to: '/queue', label: 'Queue', icon: 'queue', key: 'q', group: 'Operate', operator: true },
  { to: '/suppressions', label: 'Suppressions', icon: 'ban', key: 'x', group: 'Operate' },
  { to: '/domains', label: 'Domains', icon: 'globe', key: 'd', group: 'Operate' },
  { to: '/webhooks', label: 'Webhooks', icon: 'webhook', key: 'w', group: 'Operate' },
  { to: '/api-keys', label: 'API keys', icon: 'key', key: 'k', group: 'Operate' },
  { to: '/logs', label: 'Logs', icon: 'logs', key: 'l', group: 'Operate' },
  { to: '/health', label: 'Health', icon: 'health', key: 'h', group: 'foot', operator: true },
  { to: '/sessions', label: 'Sessions', icon: 'user', key: ',', group: 'foot' },
];

/** Pages of the sidebar, in order. */
export function goPages() {
  return PAGES.filter((page) => !page.operator || isOperator());
}

/** The name of a page inside a sentence. @param {GoPage} page */
export function goName(page) {
  return page.label.startsWith('API') ? page.label : page.label.toLowerCase();
}

/** @param {GoPage} page */
function goLink(page) {
  const current = page.to === '/' ? path.value === '/' : path.value === page.to || path.value.startsWith(`${page.to}/`) || (page.to === '/emails' && path.value.startsWith('/captured'));
  const waiting = page.to === '/queue' && queueWaiting.value;
  return link({ key: page.to, to: page.to, 'aria-current': current ? 'page' : undefined, onClick: closeSheet }, icon(page.icon), page.label,
    waiting ? t.span({ class: 'n' }, count(waiting)) : null, page.to === '/health' && healthDot());
}

function healthDot() {
  const state = health.value;
  if (state === null) return null;
  return state === 'ok' ? dot('green', 'all well') : state === 'warning' ? dot('amber', 'warnings') : dot('red', 'failing');
}

function closeSheet() {
  const sheet = document.getElementById('sheet');
  if (sheet?.matches(':popover-open')) sheet.hidePopover();
}

/** @param {{ search: () => void }} props */
export function Topbar({ search }) {
  return t.header({ class: 'topbar' },
    t.button({ type: 'button', class: 'btn btn-ghost btn-icon', popovertarget: 'sheet', 'aria-label': 'Menu' }, icon('menu')),
    link({ class: 'topbar-name', to: '/' }, mark(), t.span({ class: 'trunc' }, me.value?.team.name ?? 'Ringmail')),
    t.button({ type: 'button', class: 'btn btn-ghost btn-icon', 'aria-label': 'Search', onClick: search }, icon('search')));
}

/** @param {{ search: () => void }} props */
export function Sidebar({ search }) {
  const group = (/** @type {string | undefined} */ name) => goPages().filter((page) => page.group === name).map(goLink);
  return t.aside({ class: 'side sheet', id: 'sheet', popover: 'auto', 'aria-label': 'Main' },
    h(Team, null),
    t.button({ class: 'side-find', type: 'button', onClick: () => { closeSheet(); search(); } }, icon('search'), 'Search', t.kbd(null, `${MOD}K`)),
    t.nav({ 'aria-label': 'Pages' }, t.div(null, group(undefined)),
      ['Send', 'Operate'].map((name) => t.div({ key: name }, t.p(null, name), group(name)))),
    t.div({ class: 'side-foot' }, t.a({ href: '/docs' }, icon('info'), 'Documentation'), group('foot'), h(User, null)));
}

/** The team, and the choice of another one. */
function Team() {
  const name = me.value?.team.name ?? 'Ringmail', teams = me.value?.teams ?? [];
  const face = [mark(), t.span({ class: 'trunc', key: 'n' }, name)];
  if (teams.length < 2) return t.div({ class: 'side-team' }, face);
  const choose = async (/** @type {string} */ id) => { await api.post('/me/team', { team_id: id }); location.assign('/dashboard/'); };
  return h(Menu, { class: 'side-team', button: [...face, icon('updown')], children: teams.map((team) =>
    t.button({ key: team.id, type: 'button', 'aria-pressed': team.id === me.value?.team.id, onClick: () => { void attempt(choose(team.id)); } }, t.span({ class: 'trunc' }, team.name), t.span({ class: 't3' }, team.role))) });
}

/** The signed-in user, and the theme. */
function User() {
  const user = me.value?.user;
  const face = user ? [t.span({ class: 'avatar', 'aria-hidden': 'true', key: 'a' }, (user.email[0] ?? '?').toUpperCase()), t.span({ class: 'trunc', key: 'n' }, user.email)]
    : [icon('user'), t.span({ class: 'trunc', key: 'n' }, me.value?.mode === 'dev' ? 'Development' : '')];
  const next = `Theme: ${theme.value}`;
  return t.div({ class: 'side-user' },
    user ? h(Menu, { class: 'side-name', up: true, button: face, children: [
      t.p({ key: 'role' }, `${user.email}, ${me.value?.role}`), link({ key: 's', to: '/sessions' }, icon('user'), 'Sessions'), t.a({ key: 'a', href: '/dashboard/account' }, icon('key'), 'Password and second factor'),
      t.hr({ key: 'l' }), menuItem('out', 'Sign out', signOut),
    ] }) : t.span({ class: cls('side-name') }, face),
    t.button({ type: 'button', class: 'btn btn-ghost btn-icon btn-sm', 'aria-label': next, title: next, onClick: nextTheme }, icon('contrast')));
}

/** Time between two reads of the guardrail. A change is reported by an event. */
const GUARDRAIL_MS = 300_000;

/** The states of the server and of the team that concern every page. */
export function Banners() {
  useLive(['deliverability.'], askDeliverability);
  usePoll(askDeliverability, GUARDRAIL_MS);
  useEffect(() => { void askDeliverability(); }, []);
  const guardrail = deliverability.value && guardrailText(deliverability.value, now.value);
  return fragment(guardrail && banner(guardrail.tone, [t.b({ key: 'b' }, `${guardrail.lead} `), guardrail.rest], link({ class: 'btn btn-ghost btn-sm', to: '/metrics/deliverability' }, 'See figures'), 'Deliverability'), pause(), endpoints(), capture());
}

/** All deliveries are paused. The overview and the queue page show this state. */
function pause() {
  if (!queuePaused.value || path.value === '/' || path.value === '/queue') return null;
  return banner('red', 'All deliveries are paused until the queue is resumed.', link({ class: 'btn btn-ghost btn-sm', to: '/queue' }, 'See queue'), 'Queue');
}

/** The endpoints that the server has disabled. The overview lists them, and the page of an endpoint shows its own state. */
function endpoints() {
  const at = disabledEndpoints.value;
  if (!at || path.value === '/' || (at.count === 1 && at.href === `/dashboard${path.value}`)) return null;
  return at.count > 1 ? banner('red', `${count(at.count)} webhooks were disabled after too many failed deliveries.`, link({ class: 'btn btn-ghost btn-sm', to: '/webhooks' }, 'See webhooks'), 'Webhooks')
    : banner('red', at.text, t.a({ class: 'btn btn-ghost btn-sm', href: at.href }, 'See webhook'), 'Webhooks');
}

function capture() {
  const at = me.value;
  if (!at || at.delivery !== 'capture') return null;
  const text = at.mode === 'dev'
    ? [t.b({ key: 'b' }, 'Development mode. '), t.span({ class: 't2', key: 't' }, 'Emails are kept in the built-in mailbox, and nothing leaves this machine.')]
    : [t.b({ key: 'b' }, 'Capture mode. '), t.span({ class: 't2', key: 't' }, 'Emails are kept here and not delivered.')];
  return banner('plain', text, link({ class: 'btn btn-ghost btn-sm hide-sm', to: '/connect#live' }, 'How to go live'));
}
