// Queue: the sites with waiting email. An open row explains the reason.
import { h, useCallback } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { useLive, usePoll } from '../lib/live.js';
import { useLoad } from '../lib/load.js';
import { query, setQuery } from '../lib/router.js';
import { allows, now } from '../lib/state.js';
import { askStatus } from '../lib/status.js';
import { count, parseTime, plural, span } from '../lib/time.js';
import { Button } from '../components/button.js';
import { Dialog, useDialog } from '../components/dialog.js';
import { empty, failed } from '../components/empty.js';
import { SearchField, useFilters } from '../components/filters.js';
import { pill } from '../components/pill.js';
import { Live } from '../components/table.js';
import { toast } from '../components/toast.js';
import { isPaused, isSlow, queueSentence, siteName, stateOf } from './queue/words.js';
import { Why } from './queue/why.js';

/** @typedef {import('./queue/words.js').Site} Site */

/** Time between two reads while emails move. */
const REFRESH_MS = 3000;
/** Time between two reads otherwise: no event reports an attempt. */
const POLL_MS = 5000;
/** Rows that the page draws. */
const ROWS_MAX = 100;

export function QueuePage() {
  const loaded = /** @type {import('../lib/load.js').Loaded<{ data: Site[], has_more: boolean, paused?: boolean }>} */ (useLoad('/queue'));
  const paused = loaded.data?.paused === true;
  useLive(['email.'], useCallback(() => { void loaded.reload(); }, [loaded.reload]), REFRESH_MS);
  usePoll(loaded.reload, POLL_MS);
  const filters = useFilters(['q', 'state']);
  const sites = loaded.data?.data ?? null;
  const act = async (/** @type {Site} */ site, /** @type {'pause' | 'resume' | 'flush'} */ verb) => {
    const said = /** @type {{ groups: number }} */ (await api.post(`/queue/${encodeURIComponent(site.site)}/${verb}`));
    await loaded.reload();
    toast(verb === 'pause' ? `Paused ${siteName(site.site)}` : verb === 'resume' ? `Resumed ${siteName(site.site)}` : `Tries ${plural(said.groups, 'group')} of recipients now`);
  };
  const tryAll = async () => {
    for (const site of (sites ?? []).filter((one) => !isPaused(one))) await api.post(`/queue/${encodeURIComponent(site.site)}/flush`);
    await loaded.reload();
    toast('Tries all sites now');
  };
  const hold = async (/** @type {boolean} */ on) => {
    await api.post(`/queue/${on ? 'pause' : 'resume'}`);
    void askStatus();
    await loaded.reload();
    toast(on ? 'Paused the queue' : 'Resumed the queue');
  };
  const pausing = useDialog((close) => h(Dialog, { title: 'Pause the whole queue?', action: 'Pause all', danger: true, onClose: close, submit: async () => { await hold(true); close(); } },
    t.p(null, 'Emails are accepted and wait. Nothing is sent to any site until you resume the queue.')));
  const body = () => {
    if (loaded.error && !sites) return failed(loaded.error, loaded.reload, 'The queue');
    if (sites?.length === 0) return empty({ docs: 'queue', title: 'Nothing waits', text: 'Every accepted email has left. A site appears here while emails for it wait, with the reason.' });
    return fragment(sites ? h(Numbers, { sites }) : t.div({ class: 'card stats-bar' }, t.span({ class: 'sk sk-60' })), h(Filters, { sites: sites ?? [] }), h(Sites, { sites, act, clear: filters.clear, words: filters.values }),
      loaded.data?.has_more && t.p({ class: 'table-foot' }, 'The queue is longer than this list.'));
  };
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Queue')),
      t.div({ class: 'actions' }, allows('admin') && sites && sites.length > 0 && !paused && h(Button, { icon: 'zap', onClick: tryAll }, 'Try all now'),
        allows('admin') && sites && !paused && h(Button, { kind: 'danger', icon: 'pause', onClick: pausing.open }, 'Pause all…')),
      sites && t.p({ class: 'sub' }, queueSentence(sites))),
    paused && t.div({ class: 'verdict' }, t.div({ class: 'note note-amber' }, icon('pause'), t.div({ class: 'grow' }, t.p(null, t.b(null, 'The whole queue is paused. '), 'Emails are accepted and wait.')),
      allows('admin') && h(Button, { size: 'sm', icon: 'play', onClick: () => hold(false) }, 'Resume all'))),
    body(), pausing.view);
}

/** @param {Site} site */
function age(site) {
  return Math.max(0, now.value - (parseTime(site.oldest_at) ?? now.value));
}

/** An age without the seconds that say nothing: `22m`, `3h 12m`. @param {number} ms */
function waited(ms) {
  return ms < 60_000 ? `${Math.round(ms / 1000)}s` : ms < 3_600_000 ? `${Math.floor(ms / 60_000)}m` : span(ms);
}

/** @param {{ sites: Site[] }} props */
function Numbers({ sites }) {
  const fact = (/** @type {string} */ name, /** @type {string} */ value) => t.div({ key: name }, t.dt(null, name), t.dd(null, value));
  return t.dl({ class: 'stats stats-bar card' },
    fact('Waiting', count(sites.reduce((sum, site) => sum + site.waiting, 0))), fact('Oldest', waited(Math.max(...sites.map(age)))),
    fact('Sites', count(sites.length)), fact('Connections', count(sites.reduce((sum, site) => sum + site.sessions, 0))));
}

/** @param {{ sites: Site[] }} props */
function Filters({ sites }) {
  const state = query.value.state ?? '';
  /** @type {[string, string, number][]} */
  const options = [['', 'All', 0], ['slow', 'Slowed', sites.filter(isSlow).length], ['paused', 'Paused', sites.filter(isPaused).length]];
  return t.div({ class: 'filters', role: 'search' }, h(SearchField, { label: 'Search sites', placeholder: 'Site or domain' }),
    t.div({ class: 'seg', role: 'group', 'aria-label': 'State' }, options.map(([value, label, n]) =>
      t.button({ key: value, type: 'button', 'aria-pressed': state === value, onClick: () => setQuery({ state: value }) }, label, n > 0 && t.span({ class: 'count' }, n)))),
    t.span({ class: 'grow' }), h(Live, null));
}

/** @param {{ sites: Site[] | null, act: (site: Site, verb: 'pause' | 'resume' | 'flush') => Promise<void>, clear: () => void, words: Record<string, string> }} props */
function Sites({ sites, act, clear, words }) {
  const text = words.q?.toLowerCase();
  const shown = sites?.filter((site) => (!text || site.site.includes(text) || (site.domains ?? []).some((one) => one.includes(text)))
    && (words.state === 'slow' ? isSlow(site) : words.state === 'paused' ? isPaused(site) : true)) ?? null;
  if (shown?.length === 0) return empty({ title: 'No site matches', text: `${words.q ? `No site has “${words.q}”. ` : ''}${words.state ? `Filtered by ${words.state === 'slow' ? 'slowed' : 'paused'}.` : ''}`, actions: h(Button, { onClick: clear }, 'Clear filters') });
  const head = (/** @type {string} */ name, /** @type {string} */ more = '') => t.th({ key: name, scope: 'col', class: more || undefined }, name);
  return t.table({ class: 'table table-q', 'aria-busy': shown === null },
    t.caption({ class: 'sr' }, 'Sites with waiting emails, the longest queue first'),
    t.thead(null, t.tr(null, head('Site', 'w-22p'), head('State', 'w-144'), head('Waiting', 'num w-88'), head('Oldest', 'num w-88'), head('An hour', 'num w-88 q-r'), head('Last reply'), head('Actions', 'w-88 c-act'))),
    t.tbody(null, shown === null ? Array.from({ length: 6 }, (_, i) => t.tr({ key: i, 'aria-hidden': 'true' }, Array.from({ length: 7 }, (_, n) => t.td({ key: n, class: ['c-to', 'c-status', 'q-w', 'q-o', 'q-r', 'c-subject', 'c-act'][n] }, t.span({ class: 'sk sk-60' })))))
      : shown.slice(0, ROWS_MAX).map((site) => h(Row, { key: site.site, site, act }))));
}

/** @param {{ site: Site, act: (site: Site, verb: 'pause' | 'resume' | 'flush') => Promise<void> }} props */
function Row({ site, act }) {
  const open = query.value.open === site.site, name = siteName(site.site);
  const [word, look] = stateOf(site), paused = isPaused(site);
  const tone = look.fill && look.tone ? look.tone : '';
  const reply = site.last_reply ?? '';
  return fragment(
    t.tr({ class: open ? 'is-open' : undefined },
      t.td({ class: 'c-to' }, t.button({ class: 'q-site', type: 'button', 'aria-expanded': open, onClick: () => setQuery({ open: open ? null : site.site }, { replace: true }) }, icon('right'), t.span({ class: 't1 medium trunc' }, name))),
      t.td({ class: 'c-status' }, pill(word, look)),
      t.td({ class: 'num q-w' }, count(site.waiting)), t.td({ class: 'num q-o' }, waited(age(site))),
      t.td({ class: 'num q-r' }, site.rate === null ? '–' : count(Math.round(site.rate * 3600))),
      t.td({ class: 'c-subject' }, t.span({ class: `mono trunc dblock ${tone}`, title: reply || site.reason }, reply || site.reason)),
      t.td({ class: 'c-act' }, allows('admin') && h(Button, { kind: 'ghost', size: 'sm', icon: paused ? 'play' : 'pause', label: `${paused ? 'Resume' : 'Pause'} ${name}`, onClick: () => act(site, paused ? 'resume' : 'pause') }),
        allows('admin') && !paused && h(Button, { kind: 'ghost', size: 'sm', icon: 'zap', label: `Try ${name} now`, onClick: () => act(site, 'flush') }))),
    open && t.tr({ class: 'q-exp' }, t.td({ colSpan: 7 }, h(Why, { site, act }))));
}
