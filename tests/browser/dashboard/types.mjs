// TypeScript over the dashboard's files, and over files that a check writes.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../assets/dashboard/', import.meta.url));
export const MODULES = join(process.env.BROWSER_MODULES, 'node_modules');

const run = promisify(execFile);

/** Runs a program and returns its output, also of a failure. */
export async function output(program, ...args) {
  try {
    const { stdout, stderr } = await run(program, args, { maxBuffer: 1 << 24 });
    return { failed: false, text: stdout + stderr };
  } catch (error) {
    return { failed: true, text: `${error.stdout}${error.stderr}` };
  }
}

/**
 * Checks types with the settings of the dashboard. `include` has paths below its folder, and `files` the text of further
 * files by name. Returns the findings, or an empty text.
 */
export async function typeFindings(include, files = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'ringmail-types-'));
  const config = join(folder, 'tsconfig.json');
  const at = (name, path) => [name, [join(MODULES, path)]];
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await writeFile(config, JSON.stringify({
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { paths: Object.fromEntries([at('preact', 'preact/src/index.d.ts'), at('preact/hooks', 'preact/hooks/src/index.d.ts'), at('@preact/signals', '@preact/signals/dist/signals.d.ts'), at('@preact/signals-core', '@preact/signals-core/dist/signals-core.d.ts'), at('@codemirror/*', '@codemirror/*')]) },
    include: [...include.map((name) => join(ROOT, name)), ...Object.keys(files)],
  }));
  const { failed, text } = await output(process.execPath, join(MODULES, 'typescript/bin/tsc'), '-p', config);
  await rm(folder, { recursive: true });
  return failed ? text : '';
}
