// The contract of FileBatchReader: ordinary files, files of the kernel, and changes of both.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { FileBatchContent, FileBatchReader } from '../../src/adapters/native-linux/file-batch-reader.js';
import type { NumberForm } from '../../src/adapters/native-linux/number-form.js';

export interface FileBatchContractLimits {
  readonly descriptorsMax: number;
  readonly itemBytesMax: number;
}

type Open = (limits: FileBatchContractLimits) => FileBatchReader;
type Read = (reader: FileBatchReader, slots: readonly number[]) => Promise<FileBatchContent>;

const texts = (content: FileBatchContent): (string | null)[] => Array.from({ length: content.count }, (_, index) => content.text(index));

export async function fileBatchReaderContract(t: Test, open: Open): Promise<void> {
  await contents(t, open, 'read', async (reader, slots) => reader.read(slots));
  await contents(t, open, 'readInBackground', (reader, slots) => reader.readInBackground(slots));
  await numbers(t, open);
  await slotsAndDescriptors(t, open);
}

async function contents(t: Test, open: Open, name: string, read: Read): Promise<void> {
  await t.test(`${name}: items fail alone, in any order, cut at the limit`, async (t) => {
    const directory = t.testdir({ a: 'alpha', empty: '', long: '0123456789', utf8: 'é' });
    const reader = open({ descriptorsMax: 8, itemBytesMax: 8 });
    t.teardown(() => reader.close());
    const [a, empty, long, utf8, absent, folder] = ['a', 'empty', 'long', 'utf8', 'absent', ''].map((file) => reader.add(join(directory, file)));
    const slots = [long!, a!, absent!, empty!, folder!, utf8!, a!, 4711, -1];
    for (const round of [1, 2]) {
      const content = await read(reader, slots);
      t.strictSame(texts(content), ['01234567', 'alpha', null, '', null, 'é', 'alpha', null, null], `round ${round}`);
      t.strictSame(
        slots.map((_, index) => content.failure(index)),
        [null, null, 'not-found', null, 'invalid-argument', null, null, 'not-found', 'not-found'],
      );
      t.strictSame(
        slots.map((_, index) => content.truncated(index)),
        [true, false, false, false, false, false, false, false, false],
      );
      t.strictSame([...content.bytes(1)!], [...Buffer.from('alpha')]);
      t.equal(content.bytes(2), null);
      t.throws(() => content.text(slots.length), RangeError);
    }
    t.equal((await read(reader, [])).count, 0);
  });

  await t.test(`${name}: a path is read as it is now`, async (t) => {
    const directory = t.testdir({ stat: 'one' });
    const path = join(directory, 'stat');
    const reader = open({ descriptorsMax: 8, itemBytesMax: 64 });
    t.teardown(() => reader.close());
    const slot = reader.add(path);
    t.strictSame(texts(await read(reader, [slot])), ['one']);
    writeFileSync(path, 'longer than before');
    t.strictSame(texts(await read(reader, [slot])), ['longer than before']);
    writeFileSync(path, 'x');
    t.strictSame(texts(await read(reader, [slot])), ['x']);
    writeFileSync(join(directory, 'next'), 'replaced');
    renameSync(join(directory, 'next'), path);
    t.strictSame(texts(await read(reader, [slot])), ['replaced']);
    unlinkSync(path);
    t.equal((await read(reader, [slot])).failure(0), 'not-found');
    writeFileSync(path, 'again');
    t.strictSame(texts(await read(reader, [slot])), ['again']);
  });
}

type NumbersRow = readonly [sentence: string, form: NumberForm, text: string, expected: readonly number[]];

const stat = 'rss 1\ntotal_rss 22\ntotal_rss_huge 3\nMax open files            1024   4096   files\ntotal_rss 9\nodd x\n';
const none = Number.NaN;
const numberRows: readonly NumbersRow[] = [
  ['keys in any order, the first line of each', { kind: 'keyed', keys: ['total_rss', 'absent', 'rss', 'Max open files', 'odd'] }, stat, [22, none, 1, 1024, none]],
  ['a last line without its end', { kind: 'keyed', keys: ['a'] }, 'a 12', [12]],
  ['no text', { kind: 'keyed', keys: ['a'] }, '', [none]],
  ['words', { kind: 'words' }, '20000 100000\n', [20000, 100000]],
  [
    'words that are numbers, and others',
    { kind: 'words' },
    'max\n-1\n-\n1.50\n12.34\n9223372036854771712\n99999999999999999999\n',
    [none, -1, none, 1.5, 12.34, 2 ** 63 - 4096, 1e20],
  ],
  ['no words', { kind: 'words' }, ' \n', []],
  ['what follows each sign', { kind: 'assigned' }, 'some avg10=12.34 total=5\nfull avg10=0.00 total=x\n', [12.34, 5, 0, none]],
  ['a sign at the end', { kind: 'assigned' }, 'a=', [none]],
  ['a word that the limit may have cut', { kind: 'words' }, `${'1 '.repeat(63)}  9`, Array.from({ length: 63 }, () => 1)],
  ['a line that the limit has cut', { kind: 'keyed', keys: ['a', 'b'] }, `a 1\n${'x'.repeat(121)}\nb 2`, [1, none]],
];

async function numbers(t: Test, open: Open): Promise<void> {
  await t.test('numbers: what is found in texts', async (t) => {
    const directory = t.testdir({});
    const reader = open({ descriptorsMax: 8, itemBytesMax: 128 });
    t.teardown(() => reader.close());
    const slots = numberRows.map(([, form, text], i) => {
      writeFileSync(join(directory, String(i)), text);
      return reader.addNumbers(join(directory, String(i)), form);
    });
    for (let round = 0; round < 2; round++) {
      const found = await reader.numbersInBackground(slots);
      for (const [i, [sentence, , , expected]] of numberRows.entries()) t.strictSame(found.all(i), expected, sentence);
      t.equal(found.count(0), 5);
      t.ok(Number.isNaN(found.at(0, 5)) && Number.isNaN(found.at(0, -1)), 'there are no others');
      t.throws(() => found.count(slots.length), RangeError);
    }
  });

  await t.test('numbers: of directories, of what is absent, of what was added without a form', async (t) => {
    const directory = t.testdir({ a: { b: {}, c: {} }, file: '1' });
    const reader = open({ descriptorsMax: 8, itemBytesMax: 64 });
    t.teardown(() => reader.close());
    const of = (kind: 'links' | 'sockets' | 'words', path: string): number => reader.addNumbers(join(directory, path), { kind });
    const socket = createServer();
    await once(socket.listen(0, '127.0.0.1'), 'listening');
    t.teardown(() => socket.close());
    const own = reader.addNumbers('/proc/self/fd', { kind: 'sockets' });
    const slots = [
      of('links', 'a'),
      of('links', 'file'),
      of('links', 'none'),
      of('sockets', 'a'),
      of('sockets', 'none'),
      of('words', 'none'),
      reader.add(join(directory, 'file')),
      4711,
      own,
    ];
    const found = await reader.numbersInBackground(slots);
    const links = statSync(join(directory, 'a')).nlink;
    t.strictSame(
      slots.slice(0, -1).map((_, i) => found.all(i)),
      [[links], null, null, [2, 0], null, null, null, null],
    );
    t.ok(found.at(8, 0) > found.at(8, 1) && found.at(8, 1) >= 1, 'some of the descriptors of this process are sockets');
    mkdirSync(join(directory, 'a/d'));
    t.equal((await reader.numbersInBackground([slots[3]!])).at(0, 0), 3, 'as it is now');
    for (const slot of slots) reader.remove(slot);
    t.equal((await reader.numbersInBackground([slots[0]!])).count(0), -1, 'a slot that was given back');
  });
}

async function slotsAndDescriptors(t: Test, open: Open): Promise<void> {
  await t.test('a process that ends', async (t) => {
    const reader = open({ descriptorsMax: 8, itemBytesMax: 4096 });
    t.teardown(() => reader.close());
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const slot = reader.add(`/proc/${child.pid}/stat`);
    t.match(reader.read([slot]).text(0), new RegExp(`^${child.pid} \\(`));
    child.kill('SIGKILL');
    await once(child, 'exit');
    t.equal(reader.read([slot]).failure(0), 'not-found');
  });

  await t.test('more files than descriptors: all are read, the bound holds', async (t) => {
    const directory = t.testdir({});
    const reader = open({ descriptorsMax: 10, itemBytesMax: 16 });
    t.teardown(() => reader.close());
    mkdirSync(join(directory, 'f'));
    const slots = Array.from({ length: 50 }, (_, index) => {
      writeFileSync(join(directory, 'f', String(index)), `value ${index}`);
      return reader.add(join(directory, 'f', String(index)));
    });
    for (let round = 0; round < 3; round++) {
      t.strictSame(
        texts(reader.read(slots)),
        slots.map((_, index) => `value ${index}`),
      );
      t.ok(reader.openDescriptors() <= 10);
    }
  });

  await t.test('slots: removed, used again; closed', async (t) => {
    const directory = t.testdir({ a: 'a', b: 'b' });
    const reader = open({ descriptorsMax: 8, itemBytesMax: 16 });
    const a = reader.add(join(directory, 'a'));
    t.equal(reader.read([a]).text(0), 'a');
    reader.remove(a);
    reader.remove(a);
    reader.remove(4711);
    t.equal(reader.read([a]).failure(0), 'not-found');
    const b = reader.add(join(directory, 'b'));
    t.equal(b, a);
    t.equal(reader.read(Int32Array.of(b)).text(0), 'b');
    reader.close();
    reader.close();
    for (const call of [() => reader.add('/x'), () => reader.remove(0), () => reader.read([0]), () => reader.openDescriptors()])
      t.throws(call, { name: 'PortError', kind: 'failed-precondition' });
    t.throws(() => reader.addNumbers('/x', { kind: 'words' }), { name: 'PortError', kind: 'failed-precondition' });
    await t.rejects(reader.numbersInBackground([0]), { name: 'PortError', kind: 'failed-precondition' });
    await t.rejects(reader.readInBackground([0]), { name: 'PortError', kind: 'failed-precondition' });
  });
}
