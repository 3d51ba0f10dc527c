// Joins modules as the server does (assets/dashboard/README.md, "How modules are joined"), for the fake server and
// for the weight of the pages.
import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';

const IMPORT = /^import \{([^}]*)\} from '([^']+)';\n/gm;
const LOADED = /(?<==> )import\('(\.[^']+)'\)/g;
const EXPORT = /^export (?=(?:async )?function |const |class )/gm;
const EXPORTED = /^export (?:async )?(?:function|class|const) (\w+)/gm;

/** Folders of which every module is in `app.js`. */
const SHARED = ['components', 'lib', 'pages/parts'];

/** A module or a style sheet without the lines that contain only a comment, and without the types beside code. */
const without_comment_lines = (text) => text.replace(/^[ \t]*\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n/gm, '').replace(/^[ \t]*\/\/.*\n/gm, '').replace(/\/\*\*(?:(?!\*\/).)*\*\/ ?/g, '');

const resolve = (from, to) => posix.join(posix.dirname(from), to);
const fields = (list) => list.replaceAll(' as ', ': ');

/** The modules to serve by path: `app.js` with all that pages share, the vendored file, and the other pages. */
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
  for (const folder of SHARED) for (const path of modules_in(root, folder)) visit(path);
  visit('app.js');

  const parts = order.map((path, number) => {
    if (path.startsWith('vendor/')) return `import * as $m${number} from './${path}';\n`;
    const text = read(path), names = [...text.matchAll(EXPORTED)].map(([, name]) => name);
    const body = text.replace(IMPORT, (_, list, to) => `const {${fields(list)}} = $m${order.indexOf(resolve(path, to))};\n`)
      .replace(EXPORT, '').replace(LOADED, (_, to) => `import('./${resolve(path, to)}')`);
    return `const $m${number} = (() => {\n${body}return { ${names.join(', ')} };\n})();\n`;
  });
  const files = { 'app.js': `${parts.join('')}export { ${order.map((_, number) => `$m${number}`).join(', ')} };\n` };
  for (const path of modules_in(root, 'vendor')) files[path] = read(path);
  for (const path of [...modules_in(root, 'pages'), ...folders_in(root, 'pages').flatMap((folder) => modules_in(root, folder))]) {
    if (order.includes(path)) continue;
    const own = read(path), joined = own.replace(IMPORT, (line, list, to) => {
      const number = order.indexOf(resolve(path, to));
      return number < 0 || to.includes('/vendor/') ? line : `const {${fields(list)}} = $app.$m${number};\n`;
    });
    files[path] = joined === own ? own : `import * as $app from '${posix.relative(posix.dirname(path), 'app.js')}'; ${joined}`;
  }
  return files;
}

function modules_in(root, folder) {
  return readdirSync(join(root, folder)).filter((name) => name.endsWith('.js')).sort().map((name) => `${folder}/${name}`);
}

function folders_in(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => `${folder}/${entry.name}`);
}

/** `app.css` with its imports in place. */
export function join_css(root) {
  const read = (path) => without_comment_lines(readFileSync(join(root, path), 'utf8'));
  return read('app.css').replace(/^@import url\("([^"]+)"\);\n/gm, (_, path) => read(path).replaceAll('url("../', 'url("'));
}
