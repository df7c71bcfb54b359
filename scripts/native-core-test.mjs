// Builds and runs the addon core's own tests (native/test), plainly and under the address and undefined-behaviour sanitizers,
// or with `--tsan` under the thread sanitizer. No Node in the tested program.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const output = join(root, 'build/core-test');
mkdirSync(output, { recursive: true });

// The thin layer is what includes napi.h.
const thinLayer = new Set(['addon.cc', 'environment.cc', 'watch_functions.cc', 'batch_functions.cc', 'step_functions.cc', 'misc_functions.cc']);
const sources = readdirSync(join(root, 'native'))
  .filter((name) => name.endsWith('.cc') && !thinLayer.has(name))
  .map((name) => join(root, 'native', name));
sources.push(join(root, 'native/test/core_test.cc'));

const variants = process.argv.includes('--tsan')
  ? { tsan: ['-O1', '-g', '-fsanitize=thread'] }
  : { plain: ['-O2'], asan: ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'] };

for (const [name, flags] of Object.entries(variants)) {
  const program = join(output, name);
  const compiler = process.env.CXX ?? 'g++';
  const built = spawnSync(compiler, ['-std=c++20', '-fno-exceptions', '-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter', ...flags, '-pthread', ...sources, '-o', program], {
    stdio: 'inherit',
  });
  if (built.status !== 0) {
    console.error(`native-core-test: the ${name} build failed${built.error ? `: ${built.error.message}` : ''}`);
    process.exit(1);
  }
  console.log(`# ${name}`);
  const run = spawnSync(program, { stdio: 'inherit', timeout: 120_000 });
  if (run.status !== 0) {
    console.error(`native-core-test: ${name} failed (${run.signal ?? `exit ${run.status}`})`);
    process.exit(1);
  }
}
