// Makes the two programs in dist/bundle, as an installed node runs them: ES modules, one shared set of chunks, nothing from node_modules needed.
// What is imported lazily stays in a chunk of its own and costs nothing until it is used.
// Invariant: the entries are written last, and chunks (named by their content) stay for a day, so a running daemon finds what it loads late.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesBelow, fingerprintOf, isUpToDate, markUpToDate } from './fingerprint.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const oldChunkMs = 24 * 60 * 60 * 1000;

// CommonJS packages in an ES module bundle ask for these; esbuild does not supply them.
const banner = `import { createRequire as bundleRequire } from 'node:module';
import { fileURLToPath as bundlePath } from 'node:url';
const require = bundleRequire(import.meta.url);
const __filename = bundlePath(import.meta.url);
const __dirname = bundlePath(new URL('.', import.meta.url));`;

/** Bundles unless the sources are those of the last bundle. Resolves to the directory of the bundle. */
export async function ensureBundled() {
  const directory = join(root, 'dist', 'bundle');
  const marker = join(directory, '.fingerprint');
  const inputs = [...filesBelow(join(root, 'src'), () => true), join(root, 'package-lock.json'), fileURLToPath(import.meta.url)];
  const fingerprint = fingerprintOf(inputs);
  if (isUpToDate(marker, fingerprint)) return directory;
  console.error('bundle: compiling src/ to dist/bundle');
  await bundle(directory);
  markUpToDate(marker, fingerprint);
  return directory;
}

/** Those programs of package.json that have a source: their name and the source each is made from. */
function programs() {
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const all = Object.keys(bin).map((name) => ({ in: join(root, 'src', 'app', 'cli', `${name}.ts`), out: name }));
  return all.filter((program) => existsSync(program.in));
}

async function bundle(directory) {
  const { build } = await import('esbuild');
  await build({
    entryPoints: programs(),
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'warning',
    banner: { js: banner },
  });
  removeOldChunks(join(directory, 'chunks'));
}

function removeOldChunks(chunks) {
  if (!existsSync(chunks)) return;
  const oldest = Date.now() - oldChunkMs;
  for (const name of readdirSync(chunks)) if (statSync(join(chunks, name)).mtimeMs < oldest) rmSync(join(chunks, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBundled();
