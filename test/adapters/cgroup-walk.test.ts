// The walk over the tree of cgroups, which lists a directory again only when its links say that something changed.
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { CgroupWalk } from '../../src/adapters/linux/stats/cgroup-walk.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import { LoopShare } from '../../src/adapters/time/index.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
const batch = native.openFileBatch({ descriptorsMax: 0, itemBytesMax: 4096 });
t.teardown(() => batch.close());
const before = ['/a', '/a/b', '/a/b/c', '/a/d'];
const rows: readonly (readonly [sentence: string, change: (directory: (path: string) => string) => void, expected: readonly string[]])[] = [
  ['nothing changed', () => {}, before],
  ['one more', (at) => mkdirSync(at('/a/e')), [...before, '/a/e']],
  ['one more deep below', (at) => mkdirSync(at('/a/b/c/f')), ['/a', '/a/b', '/a/b/c', '/a/b/c/f', '/a/d']],
  ['one in a leaf of before', (at) => mkdirSync(at('/a/d/f')), ['/a', '/a/b', '/a/b/c', '/a/d', '/a/d/f']],
  ['one fewer', (at) => rmdirSync(at('/a/d')), ['/a', '/a/b', '/a/b/c']],
  [
    'another in place of one: as many links as before',
    (at) => {
      rmdirSync(at('/a/d'));
      mkdirSync(at('/a/e'));
    },
    ['/a', '/a/b', '/a/b/c', '/a/e'],
  ],
  [
    'one of the same name, with others in it',
    (at) => {
      rmSync(at('/a/b'), { recursive: true });
      mkdirSync(at('/a/b/g'), { recursive: true });
    },
    ['/a', '/a/b', '/a/b/g', '/a/d'],
  ],
  [
    'a file in the place of one',
    (at) => {
      rmdirSync(at('/a/d'));
      writeFileSync(at('/a/d'), '');
    },
    ['/a', '/a/b', '/a/b/c'],
  ],
  ['all gone', (at) => rmSync(at('/a'), { recursive: true }), []],
];

for (const [sentence, change, expected] of rows) {
  t.test(sentence, async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
    t.teardown(() => rmSync(root, { recursive: true, force: true }));
    const at = (path: string): string => `${root}${path}`;
    for (const path of before) mkdirSync(at(path));
    const walk = new CgroupWalk({ batch, directoryOf: at, cgroupsMax: 100, levelsMax: 8 });
    t.strictSame((await walk.walk('/a')).sort(), before);
    change(at);
    t.strictSame((await walk.walk('/a')).sort(), [...expected].sort());
    t.strictSame((await walk.walk('/a')).sort(), [...expected].sort(), 'and so it stays');
    walk.forget();
    t.strictSame((await walk.walk('/a')).sort(), [...expected].sort(), 'as one who sees it for the first time');
  });
}

t.test('bounds', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'a/b/c/d'), { recursive: true });
  for (const name of ['x', 'y', 'z']) mkdirSync(join(root, 'a', name));
  const directoryOf = (path: string): string => `${root}${path}`;
  t.equal((await new CgroupWalk({ batch, directoryOf, cgroupsMax: 3, levelsMax: 8 }).walk('/a')).length, 3);
  const shallow = await new CgroupWalk({ batch, directoryOf, cgroupsMax: 100, levelsMax: 2 }).walk('/a');
  t.strictSame(shallow.sort(), ['/a', '/a/b', '/a/b/c', '/a/x', '/a/y', '/a/z'], 'two levels below the top');
});

t.test('several shares of one turn are one share', async (t) => {
  const work = (millis: number): void => {
    for (const end = performance.now() + millis; performance.now() < end; );
  };
  await nextTurn();
  const first = new LoopShare();
  work(3);
  t.not(first.pause(), null, 'it had its share');
  t.not(new LoopShare().pause(), null, 'and so had who comes after it in the same turn');
  await nextTurn();
  t.equal(new LoopShare().pause(), null, 'the next turn is a new one');
});
