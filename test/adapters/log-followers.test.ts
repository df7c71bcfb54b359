// Many log followers and one event loop: each turn does a bounded part of the work, first come first served, and no follower is
// starved.
import { setMaxListeners } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { DirectoryWatches } from '../../src/adapters/container-logs/directory-changes.js';
import { FileLogReader } from '../../src/adapters/container-logs/index.js';
import { TurnsInOrder } from '../../src/adapters/container-logs/turns-in-order.js';
import type { LogReadOptions } from '../../src/domain/values/log-read-options.js';
import type { FileWatchListener } from '../../src/ports/outbound/file-watch.js';

t.setTimeout(120_000);

const options: LogReadOptions = { tailLines: null, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: true };
const line = (text: string): string => `2026-01-01T00:00:00.000000000Z stdout F ${text}\n`;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A watch that reports what the test sends. */
function watch() {
  let listener: FileWatchListener = () => {};
  const open = (given: FileWatchListener) => {
    listener = given;
    return { add: () => {}, remove: () => {}, close: () => {} };
  };
  return { open, changed: (path: string) => listener([{ kind: 'entry', path, name: '0.log', change: 'modified' }]) };
}

t.test('turns in order: at once while there is room, then in the order of asking, in each turn as many', async (t) => {
  const turns = new TurnsInOrder(2);
  for (let round = 0; round < 3; round++) {
    const gone: number[] = [];
    const asked = Array.from({ length: 7 }, async (_, i) => {
      await (turns.next() ?? undefined);
      gone.push(i);
    });
    await Promise.resolve();
    t.same(gone, [0, 1], 'without waiting');
    let most = 0;
    while (gone.length < 7) {
      const before = gone.length;
      await turn();
      most = Math.max(most, gone.length - before);
    }
    t.same(gone, [0, 1, 2, 3, 4, 5, 6]);
    t.equal(most <= 4, true, `${most} in one turn`);
    await Promise.all(asked);
    for (let i = 0; i < 3; i++) await turn();
  }
});

t.test('a change that a thousand readers wait for wakes some of them in each turn, in their order', async (t) => {
  const { open, changed } = watch();
  const watches = new DirectoryWatches(open);
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  let now = 0;
  const woken: { readonly reader: number; readonly turn: number }[] = [];
  const readers = Array.from({ length: 1_000 }, () => watches.changesOf('/logs/pod'));
  const waits = readers.map(async (changes, reader) => {
    t.ok(await changes.next(600_000, never));
    woken.push({ reader, turn: now });
  });
  changed('/logs/pod');
  changed('/logs/pod');
  t.equal(woken.length, 0, 'not in the turn of the change itself');
  while (woken.length < 1_000) {
    await turn();
    now++;
  }
  await Promise.all(waits);
  t.same(
    woken.map(({ reader }) => reader),
    readers.map((_, i) => i),
  );
  const inTurns = new Map<number, number>();
  for (const { turn } of woken) inTurns.set(turn, (inTurns.get(turn) ?? 0) + 1);
  t.equal(Math.max(...inTurns.values()) <= 64, true, `at most ${Math.max(...inTurns.values())}`);
  // An expired wait resumes readers, too, and doesn't wake further ones.
  let over = 0;
  const late = readers.map(async (changes) => {
    t.notOk(await changes.next(1, never));
    over++;
  });
  for (let before = 0; over < 1_000; before = over) {
    await turn();
    if (over - before > 64) t.fail(`${over - before} in one turn`);
  }
  await Promise.all(late);
  // A reader notified while it processes the last change finds the next one without waiting.
  changed('/logs/pod');
  t.ok(await readers[999]!.next(600_000, never));
  for (const changes of readers) changes.close();
});

t.test('hundreds follow one log, beside one that has a great deal to read: each gets each line once', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'log-followers-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const path = join(directory, '0.log');
  writeFileSync(path, line('first'));
  const { open, changed } = watch();
  const reader = new FileLogReader({ openFileWatch: open });
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  const texts: string[] = Array.from({ length: 300 }, () => '');
  const all = (text: string): boolean => texts.every((got) => got === text);
  const follow = async (i: number): Promise<void> => {
    for await (const { bytes } of reader.read({ log: { path, mayGrow: async () => true }, options, signal: abort.signal })) texts[i] += Buffer.from(bytes).toString();
  };
  const follows = texts.map((_, i) => follow(i));
  while (!all('first\n')) await turn();

  const large = join(directory, 'large', '0.log');
  const { bytes, most } = await readOfMany(reader, large);
  t.equal(bytes, 30_000 * 2);
  t.equal(most <= 2 * 128, true, `a piece of work is ${most / 2} lines at most`);

  for (const [i, text] of ['second', 'third'].entries()) {
    appendFileSync(path, line(text));
    changed(directory);
    while (!all(`${['first', 'second', 'third'].slice(0, i + 2).join('\n')}\n`)) await turn();
  }
  abort.abort();
  await Promise.all(follows);
});

/** A log of many short lines, which is there already. */
async function readOfMany(reader: FileLogReader, path: string): Promise<{ readonly bytes: number; readonly most: number }> {
  mkdirSync(dirname(path));
  writeFileSync(path, line('x').repeat(30_000));
  let [bytes, most] = [0, 0];
  for await (const chunk of reader.read({ log: { path, mayGrow: async () => false }, options, signal: new AbortController().signal })) {
    bytes += chunk.bytes.length;
    most = Math.max(most, chunk.bytes.length);
  }
  return { bytes, most };
}
