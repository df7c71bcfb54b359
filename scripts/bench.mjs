// `npm run bench [-- NAME...]`: every benchmark of bench/, one after the other, each printing its figures as JSON lines.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapDevelopment, orExit } from './bootstrap.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
await orExit('bench', bootstrapDevelopment);

const words = process.argv.slice(2);
const names = readdirSync(join(root, 'bench'))
  // What benchmarks share is none itself.
  .filter((name) => name.endsWith('.ts') && name !== 'calibration.ts' && (words.length === 0 || words.some((word) => name.includes(word))))
  .map((name) => name.slice(0, -'.ts'.length))
  .sort();
if (names.length === 0) console.error(`bench: nothing in bench/ matches ${words.join(' ')}`);
let failed = names.length === 0;
for (const name of names) {
  const { status } = spawnSync(process.execPath, ['--expose-gc', '--enable-source-maps', join(root, 'dist', 'bench', `${name}.js`)], { cwd: root, stdio: 'inherit' });
  if (status !== 0) {
    console.error(`bench: ${name} ended with ${status ?? 'a signal'}`);
    failed = true;
  }
}
process.exitCode = failed ? 1 : 0;
