// State files: complete or absent, at every moment at which the writer may die.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FileRefusal, StateDirectory } from '../../src/adapters/storage/index.js';

function directoryFor(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'state-directory-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  return directory;
}

const text = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString());

t.test('writes, reads, lists, removes', async (t) => {
  const directory = join(directoryFor(t), 'made/for/it');
  const state = StateDirectory.open(directory, 0o700);
  t.equal(state.read('a'), null);
  await state.write('a', 'first', 0o600);
  await state.write('b', new Uint8Array([1, 2]), 0o640);
  t.equal(text(state.read('a')), 'first');
  t.strictSame([statSync(join(directory, 'a')).mode & 0o777, statSync(join(directory, 'b')).mode & 0o777], [0o600, 0o640]);
  const racing = ['x', 'y'.repeat(300_000), 'z'].map((content) => state.write('a', content, 0o600));
  await Promise.all(racing);
  t.equal(text(state.read('a')), 'z', 'the last one asked for is the last one written');
  t.strictSame(state.names(), ['a', 'b']);
  await state.remove('b');
  await state.remove('b');
  t.strictSame(readdirSync(directory), ['a']);
  await state.close();
  await t.rejects(state.write('a', 'late', 0o600), 'closed');
});

t.test('refusals leave what is there', async (t) => {
  const directory = directoryFor(t);
  const state = StateDirectory.open(directory, 0o700);
  t.teardown(() => state.close());
  await state.write('a', 'kept', 0o600);
  for (const name of ['', '.', '..', '../a', 'x/y', 'a\0', 'n'.repeat(256), 'n'.repeat(252)])
    await t.rejects(state.write(name, 'bad', 0o600), FileRefusal, JSON.stringify(name.slice(0, 9)));
  t.throws(() => state.read('../a'), FileRefusal);
  symlinkSync('a', join(directory, 'link'));
  t.throws(() => state.read('link'), FileRefusal, 'a link is no state file');
  mkdirSync(join(directory, 'd'));
  await t.rejects(state.write('d', 'over a directory', 0o600));
  t.equal(text(state.read('a')), 'kept');
  t.equal(text(state.read('a')), 'kept', 'a failed write does not stop the next');
  await state.write('a', 'next', 0o600);
  t.equal(text(state.read('a')), 'next');
  await state.write('link', 'replaced', 0o600);
  t.strictSame([text(state.read('link')), text(state.read('a'))], ['replaced', 'next'], 'a link is replaced, not followed');
});

t.test('what a kill left half-written is gone after open', async (t) => {
  const directory = directoryFor(t);
  for (const name of ['.a.tmp', 'a', '.keep', 'b.tmp']) writeFileSync(join(directory, name), name);
  chmodSync(join(directory, '.a.tmp'), 0o000);
  const state = StateDirectory.open(directory, 0o700);
  t.teardown(() => state.close());
  t.strictSame(state.names(), ['.keep', 'a', 'b.tmp']);
  t.equal(text(state.read('a')), 'a');
});

const writer = `
  const { StateDirectory } = await import(process.argv[1]);
  const state = StateDirectory.open(process.argv[2], 0o700);
  for (let i = 0; ; i++) {
    await state.write('state', JSON.stringify({ i, fill: String(i % 10).repeat(200_000), end: i }), 0o600);
    if (i === 2) console.log('going');
  }`;

t.test('kill -9 in the middle of writes', async (t) => {
  const directory = directoryFor(t);
  const storage = new URL('../../src/adapters/storage/index.js', import.meta.url).href;
  for (let round = 0; round < 6; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer, storage, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    // A different number of turns of this loop each time: the kill comes at another place of the write.
    for (let turn = 0; turn < round * 37; turn++) await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGKILL');
    await exited;
    const found = JSON.parse(readFileSync(join(directory, 'state'), 'utf8')) as { i: number; fill: string; end: number };
    t.strictSame([found.end, found.fill], [found.i, String(found.i % 10).repeat(200_000)], `round ${round}: whole`);
    t.ok(readdirSync(directory).length <= 2, 'at most one temporary is left');
    const state = StateDirectory.open(directory, 0o700);
    t.strictSame(state.names(), ['state']);
    t.strictSame(readdirSync(directory), ['state'], 'and it is taken away');
    await state.close();
  }
});
