// The contract of FileBatchReader: ordinary files, files of the kernel, and what becomes of both.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { FileBatchContent, FileBatchReader } from '../../src/adapters/native-linux/file-batch-reader.js';

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
    await t.rejects(reader.readInBackground([0]), { name: 'PortError', kind: 'failed-precondition' });
  });
}
