// The last 100 lines of a log of 1 GB: our reader against reading the whole file, and against tail(1) where there is one. Prints one line
// of JSON. The file is made in a temporary directory and removed.
import { spawnSync } from 'node:child_process';
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileLogReader } from '../src/adapters/container-logs/index.js';

const fileBytes = 1024 * 1024 * 1024;
const rounds = 5;
const tailLines = 100;
const reader = new FileLogReader({ openFileWatch: null });

function makeLog(path: string): void {
  const block = Buffer.from(Array.from({ length: 8_000 }, (_, i) => `2026-01-01T00:00:00.${String(i).padStart(9, '0')}Z stdout F ${'request served '.repeat(5)}${i}\n`).join(''));
  const fd = openSync(path, 'w');
  for (let written = 0; written < fileBytes; written += block.length) writeSync(fd, block);
  closeSync(fd);
}

async function tail(path: string): Promise<number> {
  const options = { tailLines, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: false } as const;
  let bytes = 0;
  for await (const chunk of reader.read({ log: { path, mayGrow: async () => false }, options, signal: new AbortController().signal })) bytes += chunk.bytes.length;
  return bytes;
}

/** What any reader that begins at the beginning pays at least. */
async function readWhole(path: string): Promise<number> {
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 64 * 1024 })) bytes += (chunk as Buffer).length;
  return bytes;
}

async function median(work: () => Promise<unknown>, times: number): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const from = performance.now();
    await work();
    took.push(performance.now() - from);
  }
  return took.sort((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
}

const directory = mkdtempSync(join(tmpdir(), 'bench-log-tail-'));
try {
  const path = join(directory, '0.log');
  makeLog(path);
  const tailMs = await median(() => tail(path), rounds);
  const wholeMs = await median(() => readWhole(path), 3);
  const coreutils = spawnSync('tail', ['--version']).status === 0;
  const commandMs = coreutils ? await median(async () => spawnSync('tail', ['-n', String(tailLines), path]), rounds) : null;
  const rounded = (value: number) => Math.round(value * 100) / 100;
  const figures = {
    fileBytes: statSync(path).size,
    tailLines,
    tailMs: rounded(tailMs),
    readWholeMs: rounded(wholeMs),
    tailCommandMs: commandMs === null ? null : rounded(commandMs),
  };
  process.stdout.write(
    `${JSON.stringify({ bench: 'log-tail', ...figures, timesFasterThanWhole: Math.round(wholeMs / tailMs), rssMiB: Math.round(process.memoryUsage().rss / 1024 / 1024) })}\n`,
  );
} finally {
  rmSync(directory, { recursive: true });
}
