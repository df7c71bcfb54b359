// Reading 500 small files as a node with 100 pods has them: a batch with kept descriptors against Node's own two ways.
// The files are those of empty cgroups of our own, removed afterwards.
// One JSON line: medians of this run and the ratios to the batch.
import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addonNativeLinux, serviceEnvironmentOf } from '../src/adapters/native-linux/index.js';
import { loadBinding } from '../src/adapters/native-linux/loader.js';

const fileCount = 500;
const rounds = 41;
/** What statistics and cAdvisor's metrics read of each container, by hierarchy of version 1; the empty one is version 2. */
const wanted: readonly (readonly [hierarchy: string, files: readonly string[]])[] = [
  ['memory', ['memory.usage_in_bytes', 'memory.max_usage_in_bytes', 'memory.failcnt', 'memory.limit_in_bytes', 'memory.stat']],
  ['cpuacct', ['cpuacct.usage', 'cpuacct.stat']],
  ['cpu', ['cpu.stat', 'cpu.shares']],
  ['pids', ['pids.current']],
  ['', ['memory.current', 'memory.max', 'memory.stat', 'cpu.stat', 'cpu.weight', 'pids.current', 'io.stat', 'cpu.pressure', 'memory.pressure', 'io.pressure']],
];

/** Empty cgroups of our own, as many as it takes; the files of /proc/self over and over where those can't be made. */
function filesToRead(): { kind: 'cgroup' | 'proc'; paths: string[]; remove: () => void } {
  const made: string[] = [];
  const remove = (): void => {
    for (const directory of made.reverse()) rmdirSync(directory);
  };
  const paths: string[] = [];
  const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  try {
    for (let number = 0; paths.length < fileCount && number < fileCount; number++) {
      for (const [hierarchy, files] of wanted) {
        const parent = join('/sys/fs/cgroup', hierarchy);
        if (isV2 !== (hierarchy === '') || !existsSync(parent)) continue;
        const directory = join(parent, `kubelet-ts-bench-${process.pid}-${number}`);
        mkdirSync(directory);
        made.push(directory);
        for (const file of files) if (existsSync(join(directory, file))) paths.push(join(directory, file));
      }
    }
  } catch (error) {
    console.error(`no cgroups of our own (${String(error)}): files of /proc instead`);
    paths.length = 0;
  }
  if (paths.length >= fileCount) return { kind: 'cgroup', paths: paths.slice(0, fileCount), remove };
  const proc = ['stat', 'status', 'statm', 'cgroup', 'oom_score_adj'].map((name) => `/proc/self/${name}`);
  return { kind: 'proc', paths: Array.from({ length: fileCount }, (_, index) => proc[index % proc.length]!), remove };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function timed(run: () => unknown): Promise<number> {
  const start = process.hrtime.bigint();
  await run();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

const loaded = loadBinding(true);
if (loaded.kind !== 'addon') throw new Error(loaded.reason);
const native = addonNativeLinux(loaded.binding, { kernelLogPath: '/dev/kmsg', service: serviceEnvironmentOf({}) });
const { kind, paths: all, remove } = filesToRead();
const reader = native.openFileBatch({ descriptorsMax: 1024, itemBytesMax: 8192 });
const slots = Int32Array.from(all.map((path) => reader.add(path)));

let bytes = 0;
const ways: Readonly<Record<string, () => unknown>> = {
  batch: () => {
    const content = reader.read(slots);
    for (let index = 0; index < content.count; index++) bytes += content.text(index)!.length;
  },
  batchInBackground: async () => {
    const content = await reader.readInBackground(slots);
    for (let index = 0; index < content.count; index++) bytes += content.text(index)!.length;
  },
  readFileSync: () => {
    for (const path of all) bytes += readFileSync(path, 'utf8').length;
  },
  readFileAsync: async () => {
    for (const text of await Promise.all(all.map((path) => readFile(path, 'utf8')))) bytes += text.length;
  },
};
const samples = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
// Turn and turn about, so that a noisy moment hits all of them, and in another order each round, so that none always has the caches of the same one.
const order = Object.entries(ways);
try {
  for (let round = -3; round < rounds; round++) {
    order.push(order.shift()!);
    if (round % order.length === 0) order.reverse();
    for (const [name, run] of order) {
      const ms = await timed(run);
      if (round >= 0) samples.get(name)!.push(ms);
    }
  }
} finally {
  remove();
}
const ms = Object.fromEntries([...samples].map(([name, values]) => [name, Number(median(values).toFixed(3))]));
const ratio = (name: string): number => Number((ms[name]! / ms.batch!).toFixed(2));
console.log(
  JSON.stringify({
    benchmark: 'file-batch',
    files: all.length,
    kind,
    bytesPerRound: Math.round(bytes / (rounds + 3) / 4),
    medianMs: ms,
    readFileSyncToBatch: ratio('readFileSync'),
    readFileAsyncToBatch: ratio('readFileAsync'),
    batchInBackgroundToBatch: ratio('batchInBackground'),
    openDescriptors: reader.openDescriptors(),
  }),
);
reader.close();
