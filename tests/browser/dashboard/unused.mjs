// Checks without a browser: the dashboard has no unused export, class, token, or icon.
import { readFile, readdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../check.mjs';

const ROOT = fileURLToPath(new URL('../../../assets/dashboard/', import.meta.url));
/** The sign-in pages, which the server renders with the same style sheets. */
const RENDERED = fileURLToPath(new URL('../../../src/dashboard/access/', import.meta.url));
/** Exports that only `static.mjs` imports. */
const OF_CHECKS = ['lib/docs.js DOCS'];

/** Reads the files below a folder whose names end with `end`, except for vendored ones. Returns pairs of name and text. */
async function read(folder, end) {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(end) && !name.startsWith('vendor/'));
  return Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')]));
}

async function joined(folder, end) {
  return (await read(folder, end)).map(([, text]) => text).join('\n');
}

/** A page is imported by its address, and the router takes the export whose name ends with `Page`. */
async function everyExportIsImported() {
  const modules = await read(ROOT, '.js');
  const imported = new Set(modules.flatMap(([name, text]) => [...text.matchAll(/^import \{ (.*) \} from '(.*)';$/gm)].flatMap(([, names, from]) =>
    names.split(', ').map((one) => `${posix.join(posix.dirname(name), from)} ${one.split(' as ')[0]}`))));
  const exported = modules.flatMap(([name, text]) => [...text.matchAll(/^export (?:async )?(?:function|const|let|class) (\w+)/gm)].map(([, one]) => `${name} ${one}`));
  assert.deepEqual(exported.filter((one) => !imported.has(one) && !/^pages\/.* \w+Page$/.test(one) && !OF_CHECKS.includes(one)), []);
}

/**
 * Returns a function that decides whether the modules have a class. A name that a template such as `pill-${tone}` builds
 * counts if its second part is a text too.
 */
function usedBy(modules) {
  const texts = [...modules.matchAll(/'([^'\n]*)'|`([^`\n]*)`/g)].map(([, plain, template]) => plain ?? template);
  const words = new Set(texts.map((text) => text.replace(/\$\{[^}]*\}/g, ' ')).filter((text) => /^[a-z][\w -]*$/.test(text)).flatMap((text) => text.split(/\s+/)));
  const starts = [...new Set([...modules.matchAll(/([a-z]+-)\$\{/g)].map(([, start]) => start))];
  return (name) => words.has(name) || starts.some((start) => name.startsWith(start) && words.has(name.slice(start.length)));
}

async function everyClassIsUsed() {
  const isInModules = usedBy(await joined(ROOT, '.js'));
  const rendered = new Set([...(await joined(RENDERED, '.rs')).matchAll(/\.([a-z][\w-]*)(?![\w(-])/g)].map(([, name]) => name));
  const sheets = (await joined(ROOT, '.css')).replace(/\/\*[\s\S]*?\*\/|"[^"]*"|url\([^)]*\)/g, '');
  const classes = new Set([...sheets.matchAll(/[^{};]+(?=\{)/g)].flatMap(([selector]) => [...selector.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name)));
  assert.ok(classes.size > 100);
  assert.deepEqual([...classes].filter((name) => !isInModules(name) && !rendered.has(name)), []);
}

async function everyTokenIsUsed() {
  const sheets = await joined(ROOT, '.css'), modules = await joined(ROOT, '.js');
  const tokens = new Set([...sheets.matchAll(/(--[\w-]+):/g)].map(([, name]) => name));
  assert.ok(tokens.size > 10);
  assert.deepEqual([...tokens].filter((name) => !new RegExp(`var\\(${name}\\b(?!-)`).test(sheets + modules)), []);
}

async function everyIconIsUsed() {
  const icons = [...(await readFile(join(ROOT, 'lib/icons.js'), 'utf8')).matchAll(/^ {2}(\w+): '/gm)].map(([, name]) => name);
  const modules = await joined(ROOT, '.js');
  assert.ok(icons.length > 10);
  assert.deepEqual(icons.filter((name) => !modules.includes(`'${name}'`)), []);
}

export const unused = [
  ['dashboard: every export is imported', everyExportIsImported],
  ['dashboard: every class is used', everyClassIsUsed],
  ['dashboard: every token is used', everyTokenIsUsed],
  ['dashboard: every icon is used', everyIconIsUsed],
];
