// The log reader on real files: tails of large files, following across rotations and truncations, and KB049, each line once and an end.
import { appendFileSync, mkdtempSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type ContainerLogFile, FileLogReader } from '../../src/adapters/container-logs/index.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import type { LogReadOptions } from '../../src/domain/values/log-read-options.js';
import { PortError } from '../../src/ports/port-error.js';

const everything: LogReadOptions = { tailLines: null, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: false };
const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
const watched = new FileLogReader({ openFileWatch: (listener) => native.openFileWatch(listener) });
const polled = new FileLogReader({ openFileWatch: null });
const boundMillis = 60_000;

const lines = (from: number, to: number, stream = 'stdout'): string =>
  Array.from({ length: to - from }, (_, i) => `2026-01-01T00:00:00.${String(from + i).padStart(9, '0')}Z ${stream} F line ${from + i}\n`).join('');
const texts = (from: number, to: number): string => Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join('');

interface Log extends ContainerLogFile {
  runs: boolean;
  looks: number;
}

function place(t: Test): { readonly log: Log; readonly path: string; readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'log-reader-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const path = join(directory, '0.log');
  const log: Log = {
    path,
    runs: true,
    looks: 0,
    async mayGrow() {
      log.looks++;
      return log.runs;
    },
  };
  return { log, path, directory };
}

/** Reads on and keeps what came. */
class Reading {
  text = '';
  readonly ended: Promise<unknown>;
  private readonly abort = new AbortController();
  private isOver = false;

  constructor(log: ContainerLogFile, over: Partial<LogReadOptions>, reader = watched) {
    this.ended = this.run(reader, log, { ...everything, ...over }).catch((error: unknown) => error);
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const end = Date.now() + boundMillis;
    while (!holds()) {
      if (Date.now() > end || this.isOver) throw new Error(`did not come to pass: ${what}; read ${JSON.stringify(this.text.slice(-200))}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  stop(): Promise<unknown> {
    this.abort.abort();
    return this.ended;
  }

  private async run(reader: FileLogReader, log: ContainerLogFile, options: LogReadOptions): Promise<null> {
    try {
      for await (const { bytes } of reader.read({ log, options, signal: this.abort.signal })) this.text += Buffer.from(bytes).toString();
    } finally {
      this.isOver = true;
    }
    return null;
  }
}

async function read(log: ContainerLogFile, over: Partial<LogReadOptions> = {}): Promise<string> {
  const reading = new Reading(log, over);
  const end = await reading.ended;
  if (end !== null) throw end;
  return reading.text;
}

t.test('a finished log', async (t) => {
  const { log, path, directory } = place(t);
  writeFileSync(path, lines(0, 5_000));
  t.equal(await read(log), texts(0, 5_000));
  t.equal(await read(log, { tailLines: 3 }), texts(4_997, 5_000));
  t.equal(await read(log, { tailLines: 0 }), '');
  t.equal(await read(log, { tailLines: 9_999_999 }), texts(0, 5_000));
  t.equal(await read(log, { since: '2026-01-01T00:00:00.000004998Z' }), texts(4_998, 5_000));
  t.equal(await read(log, { limitBytes: 13 }), 'line 0\nline 1');
  t.equal(await read(log, { tailLines: 1, timestamps: true }), '2026-01-01T00:00:00.000004999Z line 4999\n');
  appendFileSync(path, '2026-01-01T00:00:01Z stderr F err\n2026-01-01T00:00:01Z stdout F being writ');
  t.equal(await read(log, { tailLines: 2 }), 'err\nbeing writ');
  t.equal(await read(log, { tailLines: 2, streams: ['stderr'] }), 'err\n');
  t.equal(log.looks, 0, 'the runtime is not asked');
  symlinkSync(path, join(directory, 'link.log'));
  t.equal(await read({ ...log, path: join(directory, 'link.log') }, { tailLines: 2 }), 'err\nbeing writ', 'by its link');
  writeFileSync(path, '');
  t.equal(await read(log), '', 'an empty one');
});

t.test('lines that are none', async (t) => {
  const { log, path } = place(t);
  writeFileSync(path, `${lines(0, 1)}${'x'.repeat(3 * 1024 * 1024)}\n${lines(1, 2)}`);
  t.equal(await read(log), texts(0, 2), 'a line that never ends costs no memory, and only itself');
  t.equal(await read(log, { tailLines: 2 }), texts(0, 2));
  writeFileSync(path, 'junk\n');
  await t.rejects(
    read(log),
    new PortError({ kind: 'data-loss', message: 'failed to get parse function: unsupported log format: "junk\\n"', operation: 'containerLogs.read', subject: '' }),
  );
  const absent = await read({ ...log, path: `${path}.absent` }).catch((error: unknown) => error);
  t.match(absent, { kind: 'not-found', message: /failed to try resolving symlinks in path ".*0\.log\.absent": lstat .*: no such file or directory/ });
});

for (const [how, reader] of [
  ['watched', watched],
  ['polled', polled],
] as const) {
  t.test(`following, ${how}`, async (t) => {
    const { log, path } = place(t);
    writeFileSync(path, lines(0, 10));
    const reading = new Reading(log, { follow: true, tailLines: 2 }, reader);
    await reading.until('the tail', () => reading.text === texts(8, 10));
    appendFileSync(path, lines(10, 12).slice(0, -3));
    await reading.until('a whole line', () => reading.text === texts(8, 11));
    appendFileSync(path, lines(10, 12).slice(-3));
    await reading.until('the line that was half there', () => reading.text === texts(8, 12));

    renameSync(path, `${path}.20260101-000000`);
    appendFileSync(`${path}.20260101-000000`, lines(12, 14));
    writeFileSync(path, lines(14, 16));
    await reading.until('both files of a rotation', () => reading.text === texts(8, 16));

    truncateSync(path);
    await reading.until('it has looked', () => log.looks > 3);
    appendFileSync(path, lines(16, 17));
    await reading.until('what comes after it was emptied', () => reading.text === texts(8, 17));

    appendFileSync(path, lines(17, 20));
    log.runs = false;
    t.equal(await reading.ended, null, 'it ends with the container');
    t.equal(reading.text, texts(8, 20), 'each line once');
  });
}

t.test('the ends of following', async (t) => {
  const { log, path } = place(t);
  writeFileSync(path, lines(0, 5));
  log.runs = false;
  t.equal(await read(log, { follow: true }), texts(0, 5), 'a container that has ended');
  log.runs = true;

  const stopped = new Reading(log, { follow: true });
  await stopped.until('all of it', () => stopped.text === texts(0, 5));
  t.equal(await stopped.stop(), null, 'the reader has enough');

  const removed = new Reading(log, { follow: true });
  await removed.until('all of it', () => removed.text === texts(0, 5));
  rmSync(path);
  log.runs = false;
  t.equal(await removed.ended, null, 'a container that is removed');
  t.equal(removed.text, texts(0, 5));

  writeFileSync(path, lines(0, 5));
  const failing: ContainerLogFile = { path, mayGrow: () => Promise.reject(new PortError({ kind: 'internal', message: 'broken', operation: 'x', subject: '' })) };
  t.match(await new Reading(failing, { follow: true }).ended, { message: 'broken' }, 'a runtime that fails');
  log.runs = true;
  const limited = new Reading(log, { follow: true, limitBytes: 9 });
  t.equal(await limited.ended, null);
  t.equal(limited.text, 'line 0\nli');
});

t.test('nobody reads ahead of a slow consumer', async (t) => {
  const { log, path } = place(t);
  writeFileSync(path, lines(0, 100_000));
  const before = process.memoryUsage().rss;
  const reading = watched.read({ log, options: everything, signal: new AbortController().signal });
  const first = await reading.next();
  t.ok((first.value?.bytes.length ?? 0) <= 64 * 1024, 'a block at a time');
  await reading.return(undefined);
  t.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024);
});
