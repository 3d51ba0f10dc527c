// Checks of the dashboard's files without a browser: types, generated and vendored files, and the rules that
// let the server join modules.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync, constants } from 'node:zlib';
import { assert } from '../check.mjs';
import { answer } from '../fake/fixtures.mjs';
import { join_css, join_modules } from '../fake/join.mjs';
import { MODULES, ROOT, output, typeFindings } from './types.mjs';

const run = promisify(execFile);
const LINES_MAX = 300;
/** Weight of everything that a session can load, compressed, except for the editor. */
const BYTES_MAX = 150_000;
/** Bytes of all fonts together. */
const FONT_BYTES_MAX = 80_000;
/** Quality and window of brotli for an embedded file (build/main.rs). */
const AS_SERVED = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 20 } };
/** The code editor, which only pages with an editor load, and its weight, compressed. */
const EDITOR = 'vendor/codemirror.js', EDITOR_BYTES_MAX = 100_000;

async function files() {
  const names = await readdir(ROOT, { recursive: true });
  const own = names.filter((name) => name.endsWith('.js') && !name.startsWith('vendor/'));
  return Promise.all(own.map(async (name) => [name, await readFile(join(ROOT, name), 'utf8')]));
}

async function typesAreRight() {
  assert.equal(await typeFindings(['app.js', 'theme.js', 'lib', 'components', 'shell', 'pages']), '');
}

async function typesOfTheApiAreFresh() {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('RINGMAIL_')));
  const { stdout } = await run(process.env.RINGMAIL_BIN, ['openapi'], { maxBuffer: 1 << 24, env });
  const child = run(process.execPath, [join(ROOT, 'types/generate.mjs'), '--check']);
  child.child.stdin.end(stdout);
  await child;
}

/** A type of the API that is written by hand too would not follow a change of the API. */
async function typesOfTheApiAreWrittenOnce() {
  const names = async (file) => [...(await readFile(join(ROOT, 'types', file), 'utf8')).matchAll(/^export type (\w+)/gm)].map(([, name]) => name);
  const generated = new Set(await names('api.d.ts')), own = [...await names('broadcasts.d.ts'), ...await names('metrics.d.ts')];
  assert.ok(own.length > 0);
  assert.deepEqual(own.filter((name) => generated.has(name)), []);
}

async function vendoredFilesAreThoseOfThePackages() {
  const { failed, text } = await output(process.execPath, join(ROOT, 'vendor/build.mjs'), process.env.BROWSER_MODULES, '--check');
  assert.equal(failed, false, text);
}

async function noModuleWritesMarkupAsText() {
  const found = (await files()).flatMap(([name, text]) => (text.match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\bstyle:|\beval\(|new Function/g) ?? []).map((word) => `${name}: ${word}`));
  assert.deepEqual(found, []);
}

async function onlyApiFetches() {
  const found = (await files()).filter(([name, text]) => name !== 'lib/api.js' && /\bfetch\(|XMLHttpRequest|EventSource\(|sendBeacon/.test(text)).map(([name]) => name);
  assert.deepEqual(found, []);
}

async function modulesAreShort() {
  const found = (await files()).filter(([, text]) => text.split('\n').length > LINES_MAX).map(([name]) => name);
  assert.deepEqual(found, []);
}

async function fontsAreLight() {
  const fonts = (await readdir(join(ROOT, 'fonts'))).filter((name) => name.endsWith('.woff2'));
  const sizes = await Promise.all(fonts.map(async (name) => (await stat(join(ROOT, 'fonts', name))).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(fonts.length > 0 && bytes <= FONT_BYTES_MAX, `${bytes} bytes of fonts`);
}

async function joinedModulesAreWholeAndLight() {
  const joined = { ...join_modules(ROOT), 'app.css': join_css(ROOT) };
  const folder = await mkdtemp(join(tmpdir(), 'ringmail-joined-'));
  for (const [name, text] of Object.entries(joined)) {
    assert.equal(/^import .* from '\.\/(?:lib|components|shell|css)|@import/m.test(text), false, `${name} imports a file that is not served`);
    if (!name.endsWith('.js')) continue;
    const file = join(folder, `${name.replaceAll('/', '-')}.mjs`);
    await writeFile(file, text);
    const { failed, text: said } = await output(process.execPath, '--check', file);
    assert.equal(failed, false, said);
  }
  await rm(folder, { recursive: true });
  const weights = Object.fromEntries(Object.entries(joined).map(([name, text]) => [name, brotliCompressSync(text, AS_SERVED).length]));
  const editor = weights[EDITOR], bytes = Object.values(weights).reduce((sum, weight) => sum + weight, 0) - editor;
  console.log(`browser: dashboard, all JS and CSS: ${bytes} bytes of brotli, and ${editor} bytes for the editor`);
  assert.ok(bytes <= BYTES_MAX, `${bytes} bytes are more than ${BYTES_MAX}`);
  assert.ok(editor <= EDITOR_BYTES_MAX, `${editor} bytes are more than ${EDITOR_BYTES_MAX}`);
}

/** The id of a heading in the served documents, as `src/dashboard/docs/render.rs` makes it. */
function slug(heading) {
  return heading.replaceAll('`', '').trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
}

async function helpLinksLeadToAChapter() {
  const { DOCS } = await import(join(ROOT, 'lib/docs.js'));
  const missing = [];
  for (const [name, target] of Object.entries(DOCS)) {
    const [document, id] = target.split('#');
    const text = await readFile(join(ROOT, '../../docs', `${document}.md`), 'utf8');
    const ids = [...text.matchAll(/^#{1,4} (.+)$/gm)].map(([, heading]) => slug(heading));
    if (!ids.includes(id)) missing.push(`${name}: ${target}`);
  }
  assert.deepEqual(missing, []);
  const used = (await files()).filter(([name]) => name !== 'lib/docs.js').map(([, text]) => text).join('');
  assert.deepEqual(Object.keys(DOCS).filter((name) => !new RegExp(`(docs: |docsUrl\\()'${name}'`).test(used)), [], 'no page leads to these chapters');
}

async function mistypedDomainsAreFound() {
  const { likelyAddress } = await import(join(ROOT, 'lib/address.js'));
  const pairs = [['ada@gmial.com', 'ada@gmail.com'], ['ada@hotmial.com', 'ada@hotmail.com'], ['ada@outlok.com', 'ada@outlook.com'], ['ada@gmail.com', null], ['ada@mail.com', null], ['ada@acme.com', null], ['ada', null]];
  for (const [address, likely] of pairs) assert.equal(likelyAddress(address), likely, address);
}

async function theGuardrailIsInWords() {
  const { guardrailText, isBeyond } = await import(join(ROOT, 'lib/guardrail.js'));
  const invented = (state) => answer({ method: 'GET', path: '/deliverability', query: {}, body: null, state }).json;
  const json = invented('paused'), now = Date.parse('2026-11-21T12:00:00Z');
  const text = (guardrail, days = json.days) => { const { lead, rest } = guardrailText({ ...json, days, guardrail: { ...json.guardrail, ...guardrail } }, now) ?? {}; return `${lead} ${rest}`; };
  assert.equal(isBeyond(json.guardrail.bounce.pause), true);
  assert.equal(isBeyond({ ...json.guardrail.bounce.pause, sent: 99 }), false, 'a limit needs its minimum of emails');
  // The emails of today are too few for a limit, so that the pause ends when those of yesterday leave its window.
  const day = (date, sent, sent_and_bounced, sent_and_complained = 0) => ({ date, sent, delivered: 0, sent_and_bounced, sent_and_complained, opened: 0, clicked: 0 });
  assert.match(text({}, [day('2026-11-20', 100, 12), day('2026-11-21', 99, 12)]), /accepted from 22 Nov/);
  assert.match(text({}, [day('2026-11-20', 100, 12), day('2026-11-21', 100, 12)]), /accepted from 23 Nov/);
  // Bounces of today about the emails of yesterday leave the window with yesterday.
  assert.match(text({}, [day('2026-11-20', 1000, 60), day('2026-11-21', 100, 0)]), /accepted from 22 Nov/);
  const { bounce, complaint } = invented('full').guardrail, reported = { rate: 0.0012, count: 12, sent: 10_000 };
  const complaints = { bounce, complaint: { ...complaint, warning: { ...complaint.warning, ...reported }, pause: { ...complaint.pause, ...reported } } };
  const why = (days) => `0.12% of the 10,000 emails of ${days} were reported as spam (12). The limit is`;
  const paused = (date) => `Sending is paused. ${why('today and yesterday')} 0.1%. New emails are accepted from ${date}, 00:00 UTC.`;
  assert.equal(text(complaints, [day('2026-11-20', 9000, 0, 11), day('2026-11-21', 1000, 0, 1)]), paused('22 Nov'));
  assert.equal(text(complaints, [day('2026-11-20', 1000, 0, 1), day('2026-11-21', 9000, 0, 11)]), paused('23 Nov'));
  const low = { ...complaint.pause, rate: 0 };
  assert.equal(text({ ...complaints, status: 'warning', complaint: { ...complaints.complaint, pause: low } }), `Sending may be paused soon. ${why('the last 7 days')} 0.05%. Sending pauses at 0.1% over today and yesterday. The warning ends when the rate is lower again.`);
  assert.equal(text({ ...complaints, status: 'warning', enforced: false, complaint: { ...complaints.complaint, pause: low } }), `The rate of complaints is high. ${why('the last 7 days')} 0.05%.`);
  for (const status of ['ok', 'warning', 'paused']) {
    assert.match(text({ status, region_paused: true }), /Broadcasts are paused\. .*Broadcasts continue by themselves\./, status);
    assert.doesNotMatch(text({ status, region_paused: true, enforced: false }), /pause/i, status);
  }
  assert.match(text({ enforced: undefined }), /^Sending is paused\./);
}

/** The filter of the audit log offers every kind of action, and no other. */
async function theAuditLogKnowsEveryKind() {
  const list = (text, start, end) => [...text.slice(text.indexOf(start), text.indexOf(end, text.indexOf(start))).matchAll(/["']([a-z_]+)(?:\.[a-z_]+)?["']/g)].map(([, kind]) => kind);
  const actions = list(await readFile(join(ROOT, '../../src/audit/model.rs'), 'utf8'), 'AuditAction {', '\n    }');
  const shown = list(await readFile(join(ROOT, 'pages/audit.js'), 'utf8'), 'const KINDS = [', ']');
  assert.ok(actions.length > 0);
  assert.deepEqual(shown.toSorted(), [...new Set(actions)].sort());
}

export const statics = [
  ['dashboard: types', typesAreRight],
  ['dashboard: the types of the API are fresh', typesOfTheApiAreFresh],
  ['dashboard: the types of the API are written once', typesOfTheApiAreWrittenOnce],
  ['dashboard: the vendored files are those of the packages', vendoredFilesAreThoseOfThePackages],
  ['dashboard: no module writes markup as text', noModuleWritesMarkupAsText],
  ['dashboard: only lib/api.js sends requests', onlyApiFetches],
  ['dashboard: no module is too long', modulesAreShort],
  ['dashboard: help links lead to a chapter', helpLinksLeadToAChapter],
  ['dashboard: mistyped domains are found', mistypedDomainsAreFound],
  ['dashboard: the guardrail is in words', theGuardrailIsInWords],
  ['dashboard: the audit log knows every kind of action', theAuditLogKnowsEveryKind],
  ['dashboard: the fonts are light', fontsAreLight],
  ['dashboard: joined modules are whole and light', joinedModulesAreWholeAndLight],
];
