// Health: the checks of `ringmail doctor`. A check with a problem is open, with its value and its repair.
import { h, useState } from '../vendor/preact.js';
import { cls, fragment, t } from '../lib/h.js';
import { api } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { useLoad } from '../lib/load.js';
import { query, setQuery } from '../lib/router.js';
import { allows, me } from '../lib/state.js';
import { health } from '../lib/status.js';
import { plural } from '../lib/time.js';
import { Button } from '../components/button.js';
import { copyText } from '../components/copy.js';
import { empty, failed, skeleton } from '../components/empty.js';
import { Segmented } from '../components/field.js';
import { pill } from '../components/pill.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';

/**
 * @typedef {object} HealthCheck
 * @property {string} id
 * @property {string} title
 * @property {'ok' | 'warning' | 'failed' | 'not_checked'} status
 * @property {string} seen
 * @property {string | null} expected
 * @property {string | null} fix
 * @property {string | null} docs
 * @property {string} checked_at
 */
/** @typedef {{ data: HealthCheck[], status?: import('../lib/status.js').HealthState, checked_at?: string }} HealthAnswer */

/** Word and look of each result, worst first. @type {Record<HealthCheck['status'], [string, import('../components/pill.js').PillLook]>} */
const RESULTS = { failed: ['Fails', { tone: 'red', fill: true }], warning: ['Warning', { tone: 'amber', fill: true }], not_checked: ['Not checked', { hollow: true }], ok: ['Well', { tone: 'green' }] };
const ORDER = Object.keys(RESULTS);

/** @param {HealthCheck[]} checks @returns {import('../lib/status.js').HealthState} */
function stateOf(checks) {
  return checks.some((check) => check.status === 'failed') ? 'failing' : checks.some((check) => check.status === 'warning') ? 'warning' : 'ok';
}

/** The result in a sentence. @param {HealthCheck[]} checks */
function sentence(checks) {
  const of = (/** @type {string} */ status) => checks.filter((check) => check.status === status).length;
  const parts = [of('failed') > 0 && `${plural(of('failed'), 'check')} ${of('failed') === 1 ? 'fails' : 'fail'}`, of('warning') > 0 && plural(of('warning'), 'warning'), of('not_checked') > 0 && `${of('not_checked')} could not run`].filter(Boolean);
  return parts.length === 0 ? `All ${plural(checks.length, 'check')} are well.` : `${parts.join(', ')}. ${of('ok')} of ${checks.length} are well.`;
}

/** The checks as text, for a report. @param {HealthCheck[]} checks @param {string | undefined} at */
function reportOf(checks, at) {
  const lines = checks.map((check) => [`${RESULTS[check.status][0].toUpperCase()}  ${check.title}`, `  seen: ${check.seen}`, check.expected && `  expected: ${check.expected}`, check.fix && `  fix: ${check.fix}`].filter(Boolean).join('\n'));
  return `Ringmail ${me.value?.version ?? ''}, checks of ${at ?? ''}\n\n${lines.join('\n')}\n`;
}

export function HealthPage() {
  const loaded = /** @type {import('../lib/load.js').Loaded<HealthAnswer>} */ (useLoad('/health'));
  const [running, setRunning] = useState(false);
  const checks = loaded.data ? [...loaded.data.data].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status)) : null;
  const at = loaded.data?.checked_at ?? checks?.[0]?.checked_at;
  const problems = query.value.show === 'problems';
  const shown = checks?.filter((check) => !problems || check.status !== 'ok') ?? [];
  const run = async () => {
    setRunning(true);
    try {
      const answer = /** @type {HealthAnswer} */ (await api.post('/health/run'));
      loaded.set(answer);
      health.value = answer.status ?? stateOf(answer.data);
    } finally { setRunning(false); }
  };
  const copy = () => { void copyText(reportOf(checks ?? [], at)); toast('Copied the report'); };
  const body = () => {
    if (loaded.error && !checks) return failed(loaded.error, loaded.reload, 'The checks');
    if (!checks) return fragment(t.p({ class: 'verdict', role: 'status' }, t.span({ class: 'live live-wait' }, 'The checks run. This takes some seconds.')), skeleton(6));
    return fragment(
      t.p({ class: 'verdict', role: 'status' }, t.b(null, running ? 'The checks run.' : sentence(checks)), ' ', !running && at && t.span({ class: 't3' }, 'Checked ', h(Time, { at }), '.')),
      t.div({ class: 'filters' }, h(Segmented, { label: 'Show', value: problems ? 'problems' : 'all', options: [['all', 'All checks'], ['problems', 'Problems']], onChange: (/** @type {string} */ value) => setQuery({ show: value === 'all' ? null : value }) })),
      shown.length === 0 ? empty({ title: 'No problems', text: 'Every check is well.', actions: h(Button, { onClick: () => setQuery({ show: null }) }, 'Show all checks') })
        : t.div({ class: 'stack recs-stack', 'aria-busy': running }, shown.map((check) => h(CheckBlock, { key: check.id, check }))));
  };
  return fragment(
    t.div({ class: 'page-head' }, t.div({ class: 'grow' }, t.h1(null, 'Health')),
      t.div({ class: 'actions' }, h(Button, { kind: 'ghost', icon: 'copy', onClick: copy, disabled: !checks && 'The checks have not run yet.' }, 'Copy report'),
        allows('admin') && h(Button, { kind: 'primary', icon: 'refresh', onClick: run }, 'Run again')),
      t.p({ class: 'sub' }, 'The same checks as ', t.code(null, 'ringmail doctor'), '.')),
    body());
}

/** @param {{ check: HealthCheck }} props */
function CheckBlock({ check }) {
  const [word, look] = RESULTS[check.status];
  const line = (/** @type {string} */ name, /** @type {string} */ text) => t.div({ key: name }, t.dt(null, name), t.dd(null, t.span({ class: 'rec-text' }, text)));
  return t.details({ class: cls('rec', check.status === 'failed' && 'is-bad'), open: check.status === 'failed' || check.status === 'warning' },
    t.summary(null, icon('right', 'rec-i'), t.h2({ class: 'trunc' }, check.title), check.status === 'ok' && t.span({ class: 'meta trunc' }, check.seen), t.span({ class: 'grow' }), pill(word, look)),
    t.dl({ class: 'recs' }, line('Seen', check.seen), check.expected && line('Expected', check.expected)),
    check.status !== 'ok' && (check.fix || check.docs) && t.footer(null, icon(check.status === 'failed' ? 'warn' : 'info'),
      t.p(null, check.fix && `${check.fix} `, check.docs && t.a({ class: 'link', href: check.docs }, 'What this check does'))));
}
