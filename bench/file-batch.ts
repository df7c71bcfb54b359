// Reading 500 small files as a node with 100 pods has them: a batch with kept descriptors against Node's own two ways.
// The files are those of the machine's cgroups where there are enough of them (only read), else of /proc.
// One JSON line: medians of this run and the ratios to the batch.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addonNativeLinux, serviceEnvironmentOf } from '../src/adapters/native-linux/index.js';
import { loadBinding } from '../src/adapters/native-linux/loader.js';

const fileCount = 500;
const rounds = 41;
const names = new Set(['memory.stat', 'memory.usage_in_bytes', 'memory.current', 'cpu.stat', 'cpuacct.usage', 'cpuacct.stat', 'pids.current', 'cgroup.procs', 'cpu.shares', 'memory.limit_in_bytes']);

/** Breadth first and bounded: the nearest cgroups. */
function cgroupFiles(): string[] {
  const found: string[] = [];
  const queue = ['/sys/fs/cgroup'];
  for (let visited = 0; visited < 2000 && queue.length > 0 && found.length < fileCount; visited++) {
    const directory = queue.shift()!;
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) queue.push(join(directory, entry.name));
      else if (names.has(entry.name)) found.push(join(directory, entry.name));
    }
  }
  return found;
}

/** 500 paths; files of /proc fill up what the cgroups lack, each path once a slot. */
function paths(): { all: string[]; cgroup: number } {
  const cgroup = cgroupFiles().filter(readable).slice(0, fileCount);
  const proc = ['stat', 'status', 'statm', 'cgroup', 'schedstat', 'oom_score_adj'].map((name) => `/proc/self/${name}`).filter(readable);
  const all = [...cgroup];
  for (let index = 0; all.length < fileCount; index++) all.push(cgroup.length >= 20 ? cgroup[index % cgroup.length]! : proc[index % proc.length]!);
  return { all, cgroup: cgroup.length };
}

function readable(path: string): boolean {
  try {
    statSync(path);
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
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
const { all, cgroup } = paths();
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
// Turn and turn about, so that a noisy moment hits all of them.
for (let round = -3; round < rounds; round++) {
  for (const [name, run] of Object.entries(ways)) {
    const ms = await timed(run);
    if (round >= 0) samples.get(name)!.push(ms);
  }
}
const ms = Object.fromEntries([...samples].map(([name, values]) => [name, Number(median(values).toFixed(3))]));
const ratio = (name: string): number => Number((ms[name]! / ms['batch']!).toFixed(2));
console.log(
  JSON.stringify({
    benchmark: 'file-batch',
    files: all.length,
    cgroupFiles: cgroup,
    bytesPerRound: Math.round(bytes / (rounds + 3) / 4),
    medianMs: ms,
    readFileSyncToBatch: ratio('readFileSync'),
    readFileAsyncToBatch: ratio('readFileAsync'),
    batchInBackgroundToBatch: ratio('batchInBackground'),
    openDescriptors: reader.openDescriptors(),
  }),
);
reader.close();
