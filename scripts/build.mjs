// Compiles all layers with project references (TypeScript 7's native compiler), then leaves a mark by which a later run knows that nothing changed.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesBelow, fingerprintOf, isUpToDate, markUpToDate } from './fingerprint.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const marker = join(root, 'dist', '.fingerprint');

/** Compiles unless the sources are those of the last good build; throws when they don't compile. */
export function ensureBuilt() {
  if (!isUpToDate(marker, sourceFingerprint())) build([]);
}

function build(options) {
  const compiler = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  if (!existsSync(compiler)) throw new Error('the compiler is not installed; run: npm ci');
  const fingerprint = sourceFingerprint();
  // Written by hand, so the compiler leaves it where it is; without it the types of what mentions it would be lost to other layers.
  const binding = 'src/adapters/native-linux/binding.d.ts';
  mkdirSync(dirname(join(root, 'dist', binding)), { recursive: true });
  if (existsSync(join(root, binding))) copyFileSync(join(root, binding), join(root, 'dist', binding));
  const { status } = spawnSync(process.execPath, [compiler, '-b', ...options], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('the sources do not compile, the compiler said why above');
  markUpToDate(marker, fingerprint);
}

function sourceFingerprint() {
  const sources = ['src', 'test', 'bench'].flatMap((directory) => filesBelow(join(root, directory), (name) => name.endsWith('.ts') || name === 'tsconfig.json'));
  return fingerprintOf([...sources, join(root, 'tsconfig.base.json'), join(root, 'package-lock.json')]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    build(process.argv.slice(2));
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
