// Joins packages into minified files: Preact with its hooks and signals into `preact.js`, CodeMirror into `codemirror.js`.
//
//   node assets/dashboard/vendor/build.mjs MODULES          writes the files
//   node assets/dashboard/vendor/build.mjs MODULES --check  fails if a file differs
//
// MODULES is a folder with the packages of tests/browser/package-lock.json (`npm ci --ignore-scripts`).
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [folder, check] = process.argv.slice(2);
if (!folder) throw new Error('usage: build.mjs MODULES [--check]');
const require = createRequire(resolve(folder, 'package.json'));
const { buildSync } = require('esbuild');

/** The names that each file exports, by package, and the packages whose versions its first line names. */
const FILES = {
  preact: {
    names: {
      preact: ['Component', 'Fragment', 'createContext', 'h', 'render', 'toChildArray'],
      'preact/hooks': ['useCallback', 'useContext', 'useEffect', 'useErrorBoundary', 'useId', 'useLayoutEffect', 'useMemo', 'useRef', 'useState'],
      '@preact/signals': ['batch', 'computed', 'effect', 'signal', 'untracked', 'useComputed', 'useSignal', 'useSignalEffect'],
    },
    versions: ['preact', '@preact/signals', '@preact/signals-core'],
  },
  codemirror: {
    names: {
      '@codemirror/commands': ['defaultKeymap', 'history', 'historyKeymap'],
      '@codemirror/lint': ['lintGutter', 'nextDiagnostic', 'previousDiagnostic', 'setDiagnostics'],
      '@codemirror/search': ['search', 'searchKeymap'],
      '@codemirror/state': ['Compartment', 'EditorState'],
      '@codemirror/view': ['Decoration', 'EditorView', 'ViewPlugin', 'highlightActiveLine', 'highlightSpecialChars', 'keymap', 'lineNumbers'],
    },
    versions: ['@codemirror/state', '@codemirror/view', '@codemirror/commands', '@codemirror/lint', '@codemirror/search', '@codemirror/language', '@lezer/common', '@lezer/highlight', 'style-mod', 'crelt', 'w3c-keyname', '@marijn/find-cluster-break'],
  },
};

/** @param {string} name */
function versionOf(name) {
  return JSON.parse(readFileSync(resolve(folder ?? '', 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** @param {string} file @param {{ names: Record<string, string[]>, versions: string[] }} parts */
function made(file, { names, versions }) {
  const entry = Object.entries(names).map(([name, parts]) => `export { ${parts.join(', ')} } from '${name}';`).join('\n');
  const { outputFiles, metafile } = buildSync({
    stdin: { contents: entry, resolveDir: folder, sourcefile: 'entry.js' },
    bundle: true, format: 'iife', globalName: file, minify: true, target: 'es2022', write: false, legalComments: 'none', charset: 'utf8', metafile: true,
  });
  const packages = new Set(Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs)).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean));
  for (const name of packages) if (!versions.includes(name ?? '')) throw new Error(`${file}.js contains the package ${name}, which its first line does not name`);
  const said = versions.map((name) => `${name} ${versionOf(name)}`).join(', ');
  const all = Object.values(names).flat().join(', ');
  const text = `/*! ${said}. MIT, see VENDOR.md. Made by build.mjs; do not edit. */\n${outputFiles[0].text.replace(new RegExp(`^var ${file}`), `const ${file}`)}export const { ${all} } = ${file};\n`;
  return { text, said, hash: createHash('sha256').update(text).digest('hex') };
}

const notes = readFileSync(new URL('VENDOR.md', import.meta.url), 'utf8');
for (const [file, parts] of Object.entries(FILES)) {
  const target = new URL(`${file}.js`, import.meta.url);
  const { text, said, hash } = made(file, parts);
  if (check !== '--check') {
    writeFileSync(target, text);
    console.log(`${file}.js: ${said}\nsha256 ${hash}, ${text.length} bytes`);
  } else if (readFileSync(target, 'utf8') !== text) {
    console.error(`vendor/${file}.js differs from the pinned packages: run build.mjs again, or restore the file.`);
    process.exitCode = 1;
  } else if (!notes.includes(hash)) {
    console.error(`VENDOR.md does not hold the hash of ${file}.js, ${hash}.`);
    process.exitCode = 1;
  }
}
