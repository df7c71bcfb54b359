// Compiles all layers with project references (TypeScript 7's native compiler).
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiler = `${root}node_modules/typescript-native/bin/tsc`;
if (!existsSync(compiler)) {
  console.error('build: the compiler is not installed; run: npm ci');
  process.exit(1);
}
const { status } = spawnSync(process.execPath, [compiler, '-b', ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
process.exit(status ?? 1);
