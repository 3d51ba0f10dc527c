// Command palette: pages, emails by id, address or subject, and actions. It shows the shortcut that it saves.
import { h, useEffect, useMemo, useRef, useState } from '../vendor/preact.js';
import { t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { navigate, search } from '../lib/router.js';
import { allows, firstSteps, me, setFirstSteps } from '../lib/state.js';
import { copyText } from '../components/copy.js';
import { Modal } from '../components/dialog.js';
import { goName, goPages } from './sidebar.js';
import { toast } from '../components/toast.js';

/** @typedef {{ id: string, text: string, icon: import('../lib/icons.js').IconName, group: string, end?: import('../lib/h.js').Children, run: () => void }} Command */

const TYPING_MS = 200;

/** @param {{ onClose: () => void, help: () => void, theme: () => void }} props */
export function Palette({ onClose, help, theme }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [found, setFound] = useState(/** @type {Command[]} */ ([]));
  const list = useRef(/** @type {HTMLUListElement | null} */ (null));
  const words = text.trim().toLowerCase();

  const fixed = useMemo(() => commands(help, theme), [me.value]);
  useEffect(() => {
    setFound([]);
    if (words.length < 3) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { data } = await api.get('/search', { q: text.trim() }, abort.signal);
        setFound(data.slice(0, 6).map(emailCommand));
      } catch { /* The pages and actions stay. */ }
    }, TYPING_MS);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [words]);

  const pages = fixed.filter((command) => command.text.toLowerCase().includes(words));
  /** @type {Command[]} */
  const look = words ? [{ id: 'search', group: 'Emails', icon: 'search', text: `Search emails for “${text.trim()}”`, run: () => navigate(`/emails${search({ q: text.trim() })}`) }] : [];
  if (words.includes('@')) look.push({ id: 'address', group: 'Emails', icon: 'ban', text: `Check whether ${text.trim()} is suppressed`, run: () => navigate(`/suppressions${search({ q: text.trim() })}`) });
  if (/^[\w-]+(\.[\w-]+)+$/.test(words)) look.push({ id: 'domain-of', group: 'Emails', icon: 'globe', text: `Emails from the domain ${words}`, run: () => navigate(`/emails${search({ domain: words })}`) });
  const all = [...pages.filter((command) => command.group === 'Pages'), ...found, ...look, ...pages.filter((command) => command.group === 'Actions')];
  const chosen = Math.min(at, all.length - 1);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [chosen, all.length]);

  const run = (/** @type {Command | undefined} */ command) => { onClose(); command?.run(); };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) { event.preventDefault(); setAt((chosen + by + all.length) % all.length); }
    if (event.key === 'Enter') { event.preventDefault(); run(all[chosen]); }
  };
  return h(Modal, { label: 'Search and commands', class: 'palette', onClose },
    t.label(null, icon('search'), t.input({ type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list', 'aria-autocomplete': 'list', 'aria-label': 'Page, address, id or command',
      'aria-activedescendant': all[chosen] ? `palette-${all[chosen].id}` : undefined, placeholder: 'Page, address, id or command', value: text, autocomplete: 'off', spellcheck: false,
      onInput: (event) => { setText(event.currentTarget.value); setAt(0); }, onKeyDown: key })),
    t.ul({ id: 'palette-list', role: 'listbox', 'aria-label': 'Results', ref: list }, all.map((command, i) => [
      all[i - 1]?.group !== command.group && t.li({ key: `group-${command.group}-${i}`, role: 'presentation' }, t.p(null, command.group)),
      t.li({ key: command.id, id: `palette-${command.id}`, role: 'option', 'aria-selected': i === chosen, onClick: () => run(command) },
        icon(command.icon), t.span({ class: 'trunc' }, command.text), t.span({ class: 'end' }, command.end)),
    ])),
    t.footer(null, t.span(null, t.kbd(null, '↑'), t.kbd(null, '↓'), 'Move'), t.span(null, t.kbd(null, '↵'), 'Open'), t.span(null, t.kbd(null, 'Esc'), 'Close')));
}

/**
 * @param {() => void} help
 * @param {() => void} theme
 * @returns {Command[]}
 */
function commands(help, theme) {
  const base = me.value?.base_url ?? location.origin;
  /** @type {Command[]} */
  const pages = goPages().map((page) => ({ id: `go-${page.to.slice(1)}`, group: 'Pages', icon: page.icon, text: `Go to ${goName(page)}`,
    end: page.key && [t.kbd({ key: 'g' }, 'g'), t.kbd({ key: 'k' }, page.key)], run: () => navigate(page.to) }));
  pages.push({ id: 'go-captured', group: 'Pages', icon: 'mail', text: 'Go to captured emails', run: () => navigate('/captured') });
  return [...pages,
    ...(allows('member') ? [/** @type {Command} */ ({ id: 'broadcast', group: 'Actions', icon: 'broadcast', text: 'Create broadcast…', run: () => navigate('/broadcasts?create=1') })] : []),
    ...(allows('member') ? [/** @type {Command} */ ({ id: 'template', group: 'Actions', icon: 'template', text: 'Create template…', run: () => navigate('/templates?create=1') })] : []),
    ...(allows('admin') ? [/** @type {Command} */ ({ id: 'key', group: 'Actions', icon: 'key', text: 'Create API key…', run: () => navigate('/api-keys?create=1') })] : []),
    ...(allows('admin') ? [/** @type {Command} */ ({ id: 'domain', group: 'Actions', icon: 'globe', text: 'Add domain…', run: () => navigate('/domains?create=1') })] : []),
    ...(allows('admin') ? [/** @type {Command} */ ({ id: 'webhook', group: 'Actions', icon: 'webhook', text: 'Add webhook endpoint…', run: () => navigate('/webhooks?create=1') })] : []),
    ...(firstSteps() === 'hidden' ? [/** @type {Command} */ ({ id: 'start', group: 'Actions', icon: 'overview', text: 'Show first steps', run: () => { setFirstSteps(''); navigate('/'); } })] : []),
    { id: 'docs', group: 'Actions', icon: 'info', text: 'Open the documentation', run: () => location.assign('/docs') },
    { id: 'base', group: 'Actions', icon: 'copy', text: 'Copy base URL', end: base, run: () => { void copyText(base); toast('Copied the base URL'); } },
    { id: 'theme', group: 'Actions', icon: 'contrast', text: 'Change theme', run: theme },
    { id: 'help', group: 'Actions', icon: 'info', text: 'Show shortcuts', end: t.kbd(null, '?'), run: help },
  ];
}

/** @param {import('../types/api.d.ts').EmailSummary} email @returns {Command} */
function emailCommand(email) {
  return { id: email.id, group: 'Emails', icon: 'mail', text: email.subject || '(no subject)', end: email.to[0], run: () => navigate(`/emails/${email.id}`) };
}
