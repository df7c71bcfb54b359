// Generates the gRPC stubs from proto/ (`npm run gen`), offline, with buf and ts-proto from node_modules.
// `npm run gen -- --check` writes nothing and fails if the committed stubs differ from the generator's output,
// so neither a hand edit nor a forgotten regeneration can stay.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');

// int64 as bigint: nanosecond times and CPU counters do not fit a double. useDate=false: a Date would lose nanoseconds.
const options = [
  'forceLong=bigint',
  'outputServices=grpc-js',
  // Calls go over our own client (adapters/grpc); that of the library would be loaded with each stub.
  'outputClientImpl=false',
  'env=node',
  'esModuleInterop=true',
  'importSuffix=.js',
  'oneof=unions',
  'outputJsonMethods=false',
  'outputPartialMethods=true',
  'useDate=false',
];

// Which proto files make which folder of stubs; the folder belongs to the generator alone.
const targets = [
  { folder: 'src/adapters/cri/gen', accepts: (name) => name.startsWith('cri-') },
  { folder: 'src/adapters/plugins/gen', accepts: (name) => !name.startsWith('cri-') && !name.startsWith('grpc-health-') },
  { folder: 'src/adapters/probes/gen', accepts: (name) => name.startsWith('grpc-health-') },
];

function generate(target, out, scratch) {
  const protos = readdirSync(join(root, 'proto')).filter((name) => name.endsWith('.proto') && target.accepts(name));
  const template = {
    version: 'v2',
    plugins: [{ local: [process.execPath, join(modules, 'ts-proto', 'protoc-gen-ts_proto')], out, opt: options, include_imports: true, include_wkt: true }],
  };
  const paths = protos.flatMap((name) => ['--path', `proto/${name}`]);
  // buf keeps a cache of remote modules; none are used here, so it gets a temporary directory.
  const env = { ...process.env, BUF_CACHE_DIR: join(scratch, 'cache') };
  const args = [join(modules, '@bufbuild', 'buf', 'bin', 'buf'), 'generate', 'proto', ...paths, '--template', JSON.stringify(template)];
  const { status, error } = spawnSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'], timeout: 120_000 });
  if (status !== 0) throw new Error(`gen: buf generate failed for ${target.folder}${error === undefined ? '' : `: ${error.message}`}`);
}

/** Every file below a folder as relative path -> text; an absent folder is empty. */
function contents(folder) {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(files.map((entry) => join(entry.parentPath, entry.name)).map((path) => [relative(folder, path), readFileSync(path, 'utf8')]));
}

function staleFiles(fresh, committed) {
  const before = contents(committed);
  const after = contents(fresh);
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).sort();
}

function main(check) {
  // Beside the targets, so that a finished folder moves into place with one rename.
  const scratch = mkdtempSync(check ? join(tmpdir(), 'kubelet-ts-gen-') : join(root, '.gen-'));
  let stale = 0;
  try {
    for (const [index, target] of targets.entries()) {
      const fresh = join(scratch, String(index));
      generate(target, fresh, scratch);
      const committed = join(root, target.folder);
      if (check) {
        for (const path of staleFiles(fresh, committed)) {
          stale++;
          console.error(`gen: ${target.folder}/${path} is not what the generator makes; run: npm run gen`);
        }
      } else {
        rmSync(committed, { recursive: true, force: true });
        renameSync(fresh, committed);
      }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return stale === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.includes('--check'));
