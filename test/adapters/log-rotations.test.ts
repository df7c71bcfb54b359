// Following a log across its rotations with any delay of the follower: the cases that lost lines, and random ones.
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { FileLogReader } from '../../src/adapters/container-logs/index.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import type { LogReadOptions } from '../../src/domain/values/log-read-options.js';
import { fuzzLogRotations } from './log-rotation-fuzz.js';

t.setTimeout(600_000);

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
const watched = () => new FileLogReader({ openFileWatch: (listener) => native.openFileWatch(listener), waitMillis: 50 });
const polled = () => new FileLogReader({ openFileWatch: null, waitMillis: 50 });
const options: LogReadOptions = { tailLines: null, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: true };

const record = (i: number): string => `2026-01-01T00:00:00.${String(i).padStart(9, '0')}Z stdout F line ${i}\n`;
const records = (from: number, to: number): string => Array.from({ length: to - from }, (_, i) => record(from + i)).join('');
const texts = (from: number, to: number): string => Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join('');

/** A follower that takes a chunk when the test says so, or all of them. */
class Consumer {
  text = '';
  looks = 0;
  runs = true;
  readonly path: string;
  private readonly chunks: AsyncGenerator<{ readonly bytes: Uint8Array }>;

  constructor(
    t: Test,
    reader: FileLogReader,
    readonly directory = mkdtempSync(join(tmpdir(), 'log-rotations-')),
  ) {
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    this.path = join(directory, '0.log');
    const mayGrow = async () => {
      this.looks++;
      return this.runs;
    };
    this.chunks = reader.read({ log: { path: this.path, mayGrow }, options, signal: new AbortController().signal });
  }

  async one(): Promise<void> {
    const { value } = await this.chunks.next();
    if (value !== undefined) this.text += Buffer.from(value.bytes).toString();
  }

  async end(): Promise<string> {
    this.runs = false;
    for await (const { bytes } of this.chunks) this.text += Buffer.from(bytes).toString();
    return this.text;
  }

  rotate(name: string): void {
    renameSync(this.path, `${this.path}.${name}`);
  }

  compress(name: string): void {
    writeFileSync(`${this.path}.${name}.gz`, gzipSync(readFileSync(`${this.path}.${name}`)));
    unlinkSync(`${this.path}.${name}`);
  }
}

for (const [how, reader] of [
  ['watched', watched],
  ['polled', polled],
] as const) {
  t.test(`two rotations before the follower looks, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    writeFileSync(follower.path, records(0, 3));
    await follower.one();
    appendFileSync(follower.path, records(3, 5));
    follower.rotate('20260101-000000');
    writeFileSync(follower.path, records(5, 8));
    follower.rotate('20260101-000001');
    writeFileSync(follower.path, records(8, 9));
    t.equal(await follower.end(), texts(0, 9));
  });

  t.test(`a write to the old file when the new one is there, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    writeFileSync(follower.path, records(0, 3));
    await follower.one();
    follower.rotate('20260101-000000');
    writeFileSync(follower.path, records(5, 6));
    const next = follower.one();
    await delay(30);
    appendFileSync(`${follower.path}.20260101-000000`, records(3, 5));
    await next;
    await follower.one();
    t.equal(follower.text, texts(0, 6), 'soon after: in order');
    appendFileSync(`${follower.path}.20260101-000000`, records(6, 7));
    appendFileSync(follower.path, records(7, 8));
    t.strictSame((await follower.end()).split('\n').sort(), texts(0, 8).split('\n').sort(), 'late: not lost');
  });

  t.test(`the file that is read, and those after it, are compressed meanwhile, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    writeFileSync(follower.path, records(0, 3));
    await follower.one();
    appendFileSync(follower.path, records(3, 5));
    follower.rotate('20260101-000000');
    follower.compress('20260101-000000');
    writeFileSync(follower.path, records(5, 50));
    follower.rotate('20260101-000001');
    follower.compress('20260101-000001');
    writeFileSync(follower.path, records(50, 60));
    t.equal(await follower.end(), texts(0, 60));
  });

  t.test(`a file that is removed before it was read: the answer says how much it had, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    writeFileSync(follower.path, records(0, 3));
    await follower.one();
    follower.rotate('20260101-000000');
    writeFileSync(follower.path, records(3, 8));
    // The directory is checked while the consumer is busy.
    await delay(400);
    follower.rotate('20260101-000001');
    writeFileSync(follower.path, records(8, 9));
    await delay(400);
    unlinkSync(`${follower.path}.20260101-000000`);
    unlinkSync(`${follower.path}.20260101-000001`);
    const size = Buffer.byteLength(records(3, 8));
    t.equal(await follower.end(), `${texts(0, 3)}at least ${size} bytes of the log are missing here: 1 rotated file was removed before it was read\n${texts(8, 9)}`);
  });

  t.test(`a file that was emptied and is longer than before, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    writeFileSync(follower.path, records(0, 3));
    await follower.one();
    writeFileSync(follower.path, records(3, 90));
    t.equal(await follower.end(), texts(0, 90));
  });

  t.test(`a file that is emptied twice, the first time found by a read: what was read isn't counted as missing, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    // More than the reader takes at once, so that it reads on without a check of the file between.
    const lines = 3_000;
    writeFileSync(follower.path, records(0, lines));
    await follower.one();
    writeFileSync(follower.path, records(5_000, 5_002));
    while (!follower.text.includes('line 5001\n')) await follower.one();
    const [before, bytes] = /at least (\d+) bytes of the log are missing here: the file was emptied before they were read\n/.exec(follower.text) ?? [];
    const read = [...follower.text.matchAll(/^line (\d+)$/gm)].map((match) => Number(match[1])).filter((id) => id < lines);
    const unread = records(0, lines).length - read.reduce((sum, id) => sum + record(id).length, 0);
    t.ok(before !== undefined, 'the unread rest is missing');
    t.ok(unread > 1_000 && Number(bytes) <= unread && Number(bytes) > unread - 100, `${bytes} bytes are said to be missing of ${unread}`);
    const text = follower.text;
    const next = follower.one();
    const { looks } = follower;
    while (follower.looks < looks + 3) await delay(10);
    writeFileSync(follower.path, records(6_000, 6_001));
    await next;
    t.equal((await follower.end()).slice(text.length), texts(6_000, 6_001), 'nothing is missing where all was read');
  });

  t.test(`a log that is being moved when it is asked for, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    writeFileSync(follower.path, records(0, 3));
    follower.rotate('20260101-000000');
    const first = follower.one();
    await delay(150);
    writeFileSync(follower.path, records(3, 5));
    await first;
    t.equal(await follower.end(), texts(3, 5));
  });

  t.test(`a file that begins with what a host without power has left, ${how}`, async (t) => {
    const follower = new Consumer(t, reader());
    writeFileSync(follower.path, `${'\0'.repeat(3 * 1024 * 1024)}${records(0, 2)}`);
    await follower.one();
    follower.rotate('20260101-000000');
    writeFileSync(follower.path, `\n\0\0\n${records(2, 3)}`);
    t.equal(await follower.end(), texts(0, 3));
  });

  for (const faults of [
    { removes: false, empties: false },
    { removes: true, empties: false },
    { removes: true, empties: true },
  ]) {
    t.test(`at random, ${how}, ${JSON.stringify(faults)}`, async (t) => {
      const results = await Promise.all(Array.from({ length: 6 }, (_, i) => fuzzLogRotations(reader(), i + 1, 40, faults)));
      for (const [i, { problems }] of results.entries()) t.strictSame(problems.slice(0, 5), [], `seed ${i + 1}`);
      const rotations = results.reduce((sum, result) => sum + result.rotations, 0);
      t.ok(rotations > 20, `${rotations} rotations`);
      if (!faults.removes && !faults.empties)
        t.strictSame([results.some(({ missing }) => missing > 0), results.some(({ remarks }) => remarks > 0)], [false, false], 'nothing is missing');
    });
  }
}
