// Joins modules as the server does (assets/dashboard/README.md, "How modules are joined"), for the fake server and
// for the weight of the pages.
import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';

const IMPORT = /^import \{([^}]*)\} from '([^']+)';\n/gm;
const LOADED = /(?<==> )import\('(\.[^']+)'\)/g;
const EXPORT = /^export (?=(?:async )?function |const |class )/gm;
const EXPORTED = /^export (?:async )?(?:function|class|const) (\w+)/gm;

/** A module or a style sheet without the lines that contain only a comment, and without the types beside code. */
const without_comment_lines = (text) => text.replace(/^[ \t]*\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n/gm, '').replace(/^[ \t]*\/\/.*\n/gm, '').replace(/\/\*\*(?:(?!\*\/).)*\*\/ ?/g, '');

const resolve = (from, to) => posix.join(posix.dirname(from), to);
const fields = (list) => list.replaceAll(' as ', ': ');

/** The modules to serve by path: `app.js`, which has those of all pages, and the files of `vendor/`. */
export function join_modules(root) {
  const read = (path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return path.startsWith('vendor/') ? text : without_comment_lines(text);
  };
  const order = [];
  const visit = (path) => {
    if (order.includes(path)) return;
    for (const [, , to] of read(path).matchAll(IMPORT)) visit(resolve(path, to));
    order.push(path);
  };
  const own = modules_in(root).filter((path) => path.includes('/') && !path.startsWith('vendor/'));
  for (const path of own) visit(path);
  visit('app.js');

  const number = (from, to) => order.indexOf(resolve(from, to));
  const parts = order.map((path, own_number) => {
    if (path.startsWith('vendor/')) return `import * as $m${own_number} from './${path}';\n`;
    const text = read(path), names = [...text.matchAll(EXPORTED)].map(([, name]) => name);
    const body = text.replace(IMPORT, (_, list, to) => `const {${fields(list)}} = $m${number(path, to)};\n`)
      .replace(EXPORT, '').replace(LOADED, (_, to) => (number(path, to) < 0 ? `import('./${resolve(path, to)}')` : `Promise.resolve($m${number(path, to)})`));
    return `const $m${own_number} = (() => {\n${body}return { ${names.join(', ')} };\n})();\n`;
  });
  const vendored = modules_in(root, 'vendor').map((path) => [path, read(path)]);
  return Object.fromEntries([['app.js', parts.join('')], ...vendored]);
}

/** The modules in a folder and below it. */
function modules_in(root, folder = '') {
  const paths = readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    return entry.isDirectory() ? modules_in(root, path) : path.endsWith('.js') ? [path] : [];
  });
  return paths.sort();
}

/** `app.css` with its imports in place. */
export function join_css(root) {
  const read = (path) => without_comment_lines(readFileSync(join(root, path), 'utf8'));
  return read('app.css').replace(/^@import url\("([^"]+)"\);\n/gm, (_, path) => read(path).replaceAll('url("../', 'url("'));
}
