// Followers of a log that is written, rotated, compressed, removed and emptied at random, against what was written: each line that was written
// after a follower began is given once and in order, or its file was removed before it was read and the answer says how much is missing.
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { FileLogReader } from '../../src/adapters/container-logs/index.js';
import { FileContainerLogs } from '../../src/adapters/storage/index.js';
import { planRotatedFiles } from '../../src/domain/logs/log-rotation.js';
import type { LogReadOptions } from '../../src/domain/values/log-read-options.js';
import { Random32 } from '../domain/random-32.js';

const call = () => ({ signal: new AbortController().signal, timeoutMicros: null });
const everything: LogReadOptions = { tailLines: null, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: true };
const epoch = Date.parse('2026-01-01T00:00:00Z');

/** A line as it was written. */
interface Written {
  readonly id: number;
  readonly file: WrittenFile;
  /** After the log had been moved aside and its successor was there. */
  readonly isLate: boolean;
}

interface WrittenFile {
  readonly generation: number;
  /** Where it is; null: it was removed. */
  path: string | null;
  bytes: number;
  /** Its content was taken away before it was moved. */
  emptied: boolean;
}

export interface FuzzFaults {
  /** Old files are removed, so that lines may be lost. */
  readonly removes: boolean;
  readonly empties: boolean;
}

export interface FuzzResult {
  readonly problems: readonly string[];
  readonly lines: number;
  readonly rotations: number;
  readonly missing: number;
  readonly remarks: number;
}

class LogWriter {
  readonly written: Written[] = [];
  rotations = 0;
  private file: WrittenFile = { generation: 0, path: '', bytes: 0, emptied: false };
  readonly files: WrittenFile[] = [this.file];

  constructor(
    readonly path: string,
    private readonly random: Random32,
    private readonly maxFiles: number,
    private readonly logs: FileContainerLogs,
  ) {
    this.file.path = path;
    writeFileSync(path, '');
  }

  /** Of the file that the log is now. */
  linesOfLog(): readonly number[] {
    return this.written.filter(({ file }) => file === this.file && !file.emptied).map(({ id }) => id);
  }

  write(count: number, file = this.file, isLate = false): void {
    for (let i = 0; i < count; i++) {
      const id = this.written.length;
      const time = new Date(epoch + id).toISOString().replace('Z', `${String(id % 1_000_000).padStart(6, '0')}Z`);
      const stream = this.random.below(3) === 0 ? 'stderr' : 'stdout';
      const padding = 'x'.repeat(this.random.below(40));
      // Some lines are in two records, some records are written in two pieces, and a host may have lost power.
      const text = this.random.below(5) === 0 ? `${time} ${stream} P line ${id}\n${time} ${stream} F  ${padding}\n` : `${time} ${stream} F line ${id} ${padding}\n`;
      const before = this.random.below(12) === 0 ? ['\0'.repeat(1 + this.random.below(5000)), '\n', 'end of a record\n'][this.random.below(3)] : '';
      const cut = this.random.below(6) === 0 ? this.random.below(text.length) : text.length;
      this.append(file, before + text.slice(0, cut));
      this.append(file, text.slice(cut));
      this.written.push({ id, file, isLate });
    }
  }

  private append(file: WrittenFile, text: string): void {
    if (text === '' || file.path === null) return;
    appendFileSync(file.path, text);
    file.bytes += Buffer.byteLength(text);
  }

  /** As the agent does it, and the runtime. */
  async rotate(removes: boolean): Promise<void> {
    const { path, logs, random } = this;
    const name = path.slice(path.lastIndexOf('/') + 1);
    const { names } = await logs.listRotated({ path }, call());
    const plan = planRotatedFiles(names, removes ? this.maxFiles : 1_000);
    for (const gone of plan.discard) this.moved(join(dirname(path), gone), null);
    await logs.discard({ path, names: plan.discard }, call());
    for (const old of plan.compress) {
      await logs.compress({ path, name: old }, call());
      this.moved(join(dirname(path), old), join(dirname(path), `${old}.gz`));
    }
    const aside = `${path}.20260101-${String(this.rotations++).padStart(6, '0')}`;
    renameSync(path, aside);
    const old = this.file;
    old.path = aside;
    this.write(random.below(3), old);
    if (random.below(3) === 0) await delay(random.below(20));
    this.file = { generation: this.rotations, path, bytes: 0, emptied: false };
    this.files.push(this.file);
    writeFileSync(path, '');
    if (name !== '' && random.below(2) === 0) {
      if (random.below(3) === 0) await delay(random.below(30));
      this.write(1 + random.below(3), old, true);
    }
    this.write(random.below(4));
  }

  empty(): void {
    truncateSync(this.path);
    this.file.emptied = true;
    this.file = { ...this.file, generation: this.file.generation + 0.001, bytes: 0, emptied: false };
    this.files.push(this.file);
  }

  private moved(from: string, to: string | null): void {
    for (const file of this.files) if (file.path === from) file.path = to;
  }
}

type Pace = 'at once' | 'slow' | 'stalling';

class Follower {
  text = '';
  looks = 0;
  isStalled = false;
  ended: Promise<string | null> = Promise.resolve(null);
  expectedFrom: readonly number[] = [];
  begun = 0;

  constructor(
    readonly pace: Pace,
    readonly tailLines: number | null,
    private readonly random: Random32,
  ) {}

  async start(reader: FileLogReader, writer: LogWriter, runs: () => boolean): Promise<void> {
    const lines = writer.linesOfLog();
    this.expectedFrom = this.tailLines === null ? lines : lines.slice(Math.max(0, lines.length - this.tailLines));
    this.begun = writer.written.length;
    const mayGrow = async () => {
      this.looks++;
      return runs();
    };
    const chunks = reader.read({ log: { path: writer.path, mayGrow }, options: { ...everything, tailLines: this.tailLines }, signal: new AbortController().signal });
    this.ended = this.consume(chunks).then(
      () => null,
      (error: unknown) => String(error),
    );
    while (this.looks === 0) await delay(1);
  }

  private async consume(chunks: AsyncIterable<{ readonly bytes: Uint8Array }>): Promise<void> {
    for await (const { bytes } of chunks) {
      this.text += Buffer.from(bytes).toString('latin1');
      if (this.pace === 'slow') await delay(this.random.below(40));
      while (this.pace === 'stalling' && this.isStalled) await delay(5);
    }
  }

  problems(writer: LogWriter): readonly string[] {
    const got = [...this.text.matchAll(/^line (\d+) /gm)].map((match) => Number(match[1]));
    const remarks = [...this.text.matchAll(/^.*missing here.*$/gm)].map(([text]) => text);
    const found: string[] = [];
    const due = [...this.expectedFrom, ...writer.written.slice(this.begun).map(({ id }) => id)];
    const times = new Map<number, number>();
    for (const id of got) times.set(id, (times.get(id) ?? 0) + 1);
    for (const [id, count] of times) if (count > 1) found.push(`line ${id} came ${count} times`);
    const wanted = new Set(due);
    for (const id of got) if (!wanted.has(id)) found.push(`line ${id} is none of its lines`);
    const missing = due.filter((id) => !times.has(id)).map((id) => writer.written[id] as Written);
    for (const { id, file, isLate } of missing) {
      if (file.path !== null && !file.emptied) found.push(`line ${id}${isLate ? ' (late)' : ''} is missing, but its file ${file.path} is there`);
    }
    const removed = missing.filter(({ file }) => !file.emptied);
    if (removed.length > 0 && remarks.length === 0) found.push(`${removed.length} lines are missing without a word`);
    const claimed = remarks.reduce((sum, text) => sum + Number(/(\d+) bytes/.exec(text)?.[1] ?? 0), 0);
    // A file may also have had nothing but what is no line.
    const [gone, withLines] = [new Set(missing.map(({ file }) => file)), new Set(writer.written.map(({ file }) => file))];
    const most = writer.files.reduce((sum, file) => sum + (gone.has(file) || !withLines.has(file) ? file.bytes : 0), 0);
    if (claimed > most) found.push(`${claimed} bytes are said to be missing, but only ${most} may be`);
    const order = got.map((id) => writer.written[id] as Written).filter(({ isLate }) => !isLate);
    for (const [i, line] of order.entries()) if (i > 0 && line.id < (order[i - 1]?.id ?? 0)) found.push(`line ${line.id} came after line ${order[i - 1]?.id}`);
    return found.map((problem) => `${this.pace}, tail ${this.tailLines}: ${problem}`);
  }

  counts(writer: LogWriter): { readonly missing: number; readonly remarks: number } {
    const got = new Set([...this.text.matchAll(/^line (\d+) /gm)].map((match) => Number(match[1])));
    return { missing: writer.written.slice(this.begun).filter(({ id }) => !got.has(id)).length, remarks: [...this.text.matchAll(/bytes of the log are missing here/g)].length };
  }
}

export async function fuzzLogRotations(reader: FileLogReader, seed: number, steps: number, faults: FuzzFaults): Promise<FuzzResult> {
  const random = new Random32(seed);
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'log-rotations-')));
  const path = join(base, 'pods/ns_web_u1/app/0.log');
  mkdirSync(dirname(path), { recursive: true });
  const logs = FileContainerLogs.open(join(base, 'pods'));
  try {
    const writer = new LogWriter(path, random, 2 + random.below(4), logs);
    const followers: Follower[] = [];
    let runs = true;
    writer.write(random.below(30));
    for (let step = 0; step < steps; step++) {
      const what = random.below(100);
      if (followers.length < 6 && what < 20) {
        const pace = (['at once', 'slow', 'stalling'] as const)[random.below(3)] ?? 'slow';
        const follower = new Follower(pace, random.below(2) === 0 ? null : random.below(12), random);
        await follower.start(reader, writer, () => runs);
        followers.push(follower);
      } else if (what < 45) await writer.rotate(faults.removes);
      else if (what < 50 && faults.empties) writer.empty();
      else if (what < 60) for (const follower of followers) follower.isStalled = random.below(2) === 0;
      else if (what < 75) await delay(random.below(120));
      else writer.write(random.below(20));
    }
    runs = false;
    for (const follower of followers) follower.isStalled = false;
    const problems: string[] = [];
    for (const follower of followers) {
      const error = await follower.ended;
      if (error !== null) problems.push(error);
      problems.push(...follower.problems(writer));
    }
    problems.push(...(await readAtOnce(reader, writer)));
    const counts = followers.map((follower) => follower.counts(writer));
    const total = (of: (one: (typeof counts)[number]) => number): number => counts.reduce((sum, one) => sum + of(one), 0);
    return { problems, lines: writer.written.length, rotations: writer.rotations, missing: total(({ missing }) => missing), remarks: total(({ remarks }) => remarks) };
  } finally {
    logs.close();
    rmSync(base, { recursive: true });
  }
}

/** What `kubectl logs` shows without following, also of the container before: all of the file, its last lines, those since a line. */
async function readAtOnce(reader: FileLogReader, writer: LogWriter): Promise<readonly string[]> {
  const lines = [...writer.linesOfLog()];
  const problems: string[] = [];
  const since = lines[Math.floor(lines.length / 2)] ?? 0;
  const asked: readonly (readonly [string, Partial<LogReadOptions>, readonly number[]])[] = [
    ['all', {}, lines],
    ['tail', { tailLines: 5 }, lines.slice(-5)],
    ['since', { since: new Date(epoch + since).toISOString().replace('Z', `${String(since % 1_000_000).padStart(6, '0')}Z`) }, lines.filter((id) => id >= since)],
  ];
  for (const [what, options, expected] of asked) {
    let text = '';
    const log = { path: writer.path, mayGrow: async () => false };
    for await (const { bytes } of reader.read({ log, options: { ...everything, follow: false, ...options }, signal: new AbortController().signal }))
      text += Buffer.from(bytes).toString('latin1');
    const got = [...text.matchAll(/^line (\d+) /gm)].map((match) => Number(match[1]));
    if (JSON.stringify(got) !== JSON.stringify(expected))
      problems.push(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(expected)} of ${statSync(writer.path).size} bytes`);
  }
  return problems;
}
