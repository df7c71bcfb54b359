// The contract of lists of steps on files: what each step does, what ends a list, what is passed over, and that no link leads anywhere.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { byPath, type FileStepOutcomes, type FileStepRunner, FileSteps, listedEntries, notDone, tolerated } from '../../src/adapters/native-linux/index.js';

const { ENOENT, EEXIST, ELOOP, EINVAL, EFBIG, ENOTDIR, ENOTEMPTY, EBUSY } = constants.errno;
const none = 0;

interface Stage {
  readonly base: string;
  readonly root: number;
  /** Carries out a list whose first slot is the base. */
  run(fill: (list: FileSteps) => void): Promise<{ readonly outcomes: FileStepOutcomes; readonly statuses: readonly number[]; readonly failed: number | null }>;
}

function staged(t: Test, runner: FileStepRunner, content: Parameters<Test['testdir']>[0]): Stage {
  const base = realpathSync(t.testdir(content));
  const root = openSync(base, 'r');
  t.teardown(() => closeSync(root));
  const run: Stage['run'] = async (fill) => {
    const list = new FileSteps([{ descriptor: root, path: base }]);
    fill(list);
    const outcomes = await runner.run(list);
    return { outcomes, statuses: list.steps.map((_, index) => outcomes.status(index)), failed: outcomes.failed(list) };
  };
  return { base, root, run };
}

const mode = (path: string): number => statSync(path).mode & 0o7777;
const descriptors = (): number => readdirSync('/proc/self/fd').length;

export async function fileStepsContract(t: Test, runner: FileStepRunner, canMount: boolean): Promise<void> {
  await making(t, runner);
  await endings(t, runner);
  await files(t, runner);
  await removals(t, runner, canMount);
  await many(t, runner);
}

async function making(t: Test, runner: FileStepRunner): Promise<void> {
  await t.test('directories are made, entered, listed; links are never entered', async (t) => {
    const { base, run } = staged(t, runner, { outside: { precious: '' }, file: '' });
    symlinkSync(join(base, 'outside'), join(base, 'link'));
    const before = descriptors();
    const made = await run((list) => {
      const pod = list.ensure(0, 'pod', 0o750);
      list.ensure(pod, 'volumes', 0o700);
      list.ensure(list.ensure(pod, 'a', 0o755), 'b', 0o755);
      list.ensure(pod, 'volumes', 0o700);
    });
    t.equal(made.failed, null);
    t.strictSame([mode(join(base, 'pod')), mode(join(base, 'pod/volumes')), mode(join(base, 'pod/a/b'))], [0o750, 0o700, 0o755]);
    t.strictSame(made.statuses, [none, none, none, none, none, none, none, none, -EEXIST, none]);
    for (const [name, status] of [
      ['link', -ELOOP],
      ['file', -ENOTDIR],
      ['absent', -ENOENT],
    ] as const) {
      const { statuses, failed } = await run((list) => list.makeDirectory(list.enter(0, name), 'inside', 0o755));
      t.strictSame([statuses, failed], [[status, notDone], 0], name);
    }
    t.strictSame(readdirSync(join(base, 'outside')), ['precious']);
    const listed = await run((list) => {
      list.list(0, '', false);
      list.list(0, 'pod', true);
      list.list(0, 'link', false, tolerated.anything);
      list.list(0, 'outside', true);
    });
    const names = listedEntries(listed.outcomes.text(0)).sort((a, b) => (a.name < b.name ? -1 : 1));
    t.strictSame(
      names.map(({ name, isDirectory }) => `${name} ${isDirectory}`),
      ['file false', 'link false', 'outside true', 'pod true'],
    );
    t.strictSame(
      listedEntries(listed.outcomes.text(1))
        .map(({ name }) => name)
        .sort(),
      ['a', 'volumes'],
    );
    t.ok(listed.outcomes.status(2) < 0, 'a link is not listed');
    t.strictSame(listedEntries(listed.outcomes.text(3)), [], 'directories only');
    t.equal(descriptors(), before, 'nothing stays open');
  });
}

async function endings(t: Test, runner: FileStepRunner): Promise<void> {
  await t.test('the first failure that is not tolerated ends a list; what is in an absent directory is passed over', async (t) => {
    const { base, run } = staged(t, runner, { there: {} });
    const passed = await run((list) => {
      const absent = list.enter(0, 'absent', tolerated.absent);
      const below = list.enter(absent, 'below', tolerated.absent);
      list.create(below, 'f', 0o600, '');
      list.makeDirectory(0, 'there', 0o755, tolerated.present);
      list.makeDirectory(0, 'after', 0o755);
    });
    t.strictSame([passed.statuses, passed.failed], [[-ENOENT, notDone, notDone, -EEXIST, none], null]);
    const ended = await run((list) => {
      list.look(0, 'absent', tolerated.present);
      list.makeDirectory(0, 'never', 0o755);
    });
    t.strictSame([ended.statuses, ended.failed, existsSync(join(base, 'never'))], [[-ENOENT, notDone], 0, false]);
    const all = await run((list) => {
      list.unlink(0, 'there', tolerated.anything);
      list.unlink(0, 'absent');
      list.makeDirectory(0, 'more', 0o755);
    });
    t.ok(all.statuses[0]! < 0);
    t.strictSame([all.statuses.slice(1), all.failed], [[-ENOENT, none], null]);
    t.strictSame((await run(() => {})).statuses, []);
  });
}

async function files(t: Test, runner: FileStepRunner): Promise<void> {
  await t.test('files are made, read, replaced whole, linked and renamed', async (t) => {
    const { base, run } = staged(t, runner, { text: 'a é\n', victim: 'mine', old: 'x', directory: {} });
    const at = (name: string) => join(base, name);
    const umask = process.umask(0o077);
    const made = await run((list) => {
      list.create(0, 'new', 0o666, 'content');
      list.create(0, 'new', 0o600, 'other', tolerated.present);
      list.read(0, 'text', 100);
      list.read(0, 'text', 2, tolerated.anything);
      list.read(0, 'directory', 100, tolerated.anything);
      list.read(byPath, at('text'), 100);
      list.look(0, 'new');
      list.link(0, 'link', '/some where');
      list.readLink(0, 'link');
      list.read(0, 'link', 100, tolerated.anything);
      list.readLink(0, 'text', tolerated.anything);
      list.rename(0, 'old', 'young');
      list.write(0, 'young', 'yy');
    }).finally(() => process.umask(umask));
    t.strictSame(made.statuses, [none, -EEXIST, 5, -EFBIG, -EINVAL, 5, 0o100666, none, none, -ELOOP, -EINVAL, none, none]);
    t.strictSame([made.outcomes.text(2), made.outcomes.text(5), made.outcomes.text(8)], ['a é\n', 'a é\n', '/some where']);
    t.strictSame([readFileSync(at('new'), 'utf8'), readlinkSync(at('link')), readFileSync(at('young'), 'utf8')], ['content', '/some where', 'yy']);
    const replaced = async (name: string, permissions: number, text: string) => (await run((list) => list.replace(0, name, permissions, text))).statuses[0];
    t.equal(await replaced('hosts', 0o644, 'é\n'), 1);
    const { ino } = statSync(at('hosts'));
    t.strictSame([await replaced('hosts', 0o644, 'é\n'), statSync(at('hosts')).ino], [0, ino], 'an equal file keeps its inode');
    t.strictSame([await replaced('hosts', 0o600, 'é\n'), mode(at('hosts'))], [1, 0o600]);
    writeFileSync(at('.hosts.tmp'), 'left by a kill');
    t.strictSame([await replaced('hosts', 0o600, 'e\n'), readFileSync(at('hosts'), 'utf8'), existsSync(at('.hosts.tmp'))], [1, 'e\n', false]);
    symlinkSync(at('victim'), at('to-victim'));
    t.strictSame([await replaced('to-victim', 0o644, 'mine'), lstatSync(at('to-victim')).isFile(), readFileSync(at('victim'), 'utf8')], [1, true, 'mine']);
    await t.rejects(
      run((list) => list.create(0, 'a\0b', 0o600, '')),
      { message: /zero byte|null bytes/ },
    );
    t.strictSame(
      readdirSync(base).filter((name) => name.startsWith('a')),
      [],
    );
  });
}

async function removals(t: Test, runner: FileStepRunner, canMount: boolean): Promise<void> {
  await t.test('trees are removed as far as the rule goes, and say where they stopped', async (t) => {
    const { base, run } = staged(t, runner, { tree: { a: { b: { f: '' }, g: '' } }, volumes: { v: { data: '' }, empty: {} }, deep: { a: { b: {} } }, outside: { precious: '' } });
    symlinkSync(join(base, 'outside'), join(base, 'tree/a/link'));
    const removed = await run((list) => {
      list.removeTree(0, 'tree', 64, true);
      list.removeTree(0, 'absent', 64, true);
      list.removeTree(0, 'volumes', 2, false, tolerated.anything);
      list.removeTree(0, 'deep', 1, true, tolerated.anything);
      list.unlink(0, 'absent');
      list.removeDirectory(0, 'absent');
      list.removeDirectory(0, 'outside', tolerated.anything);
    });
    t.strictSame(removed.statuses, [none, none, -ENOTDIR, -ENOTEMPTY, -ENOENT, -ENOENT, -ENOTEMPTY]);
    t.strictSame([removed.outcomes.text(2), removed.outcomes.text(3)], ['volumes/v/data', 'deep/a']);
    t.notOk(existsSync(join(base, 'tree')));
    t.strictSame([readdirSync(join(base, 'outside')), existsSync(join(base, 'volumes/v/data'))], [['precious'], true]);
    const directories = await run((list) => {
      list.removeDirectories(0, 'deep', 0);
      list.removeDirectories(0, 'deep', 8);
      list.removeDirectories(0, 'deep', 8);
      list.removeDirectories(0, 'outside', 8);
    });
    t.strictSame(directories.statuses, [0, 1, 1, 0], 'a file keeps its directory');
  });

  await t.test('nothing on another mount is removed', { skip: canMount ? false : 'needs root' }, async (t) => {
    const { base, run } = staged(t, runner, { source: { precious: '' }, tree: { 'with space': {} }, 'tree-beside': {} });
    const [source, target] = [join(base, 'source'), join(base, 'tree/with space')];
    t.strictSame((await run((list) => list.noMountBelow(join(base, 'tree')))).statuses, [none]);
    t.equal(spawnSync('mount', ['--bind', source, target]).status, 0);
    try {
      for (const path of ['', 'tree', 'tree/with space']) {
        const { statuses, outcomes, failed } = await run((list) => {
          list.noMountBelow(join(base, path));
          list.removeTree(0, 'tree', 64, true);
        });
        t.strictSame([statuses, outcomes.text(0), failed], [[-EBUSY, notDone], target, 0], path);
      }
      t.strictSame((await run((list) => list.noMountBelow(join(base, 'tree-beside')))).statuses, [none]);
      const { statuses, outcomes } = await run((list) => list.removeTree(0, 'tree', 64, true));
      t.strictSame([statuses, outcomes.text(0)], [[-EBUSY], 'tree/with space']);
    } finally {
      t.equal(spawnSync('umount', [target]).status, 0);
    }
    t.ok(existsSync(join(source, 'precious')));
  });
}

async function many(t: Test, runner: FileStepRunner): Promise<void> {
  await t.test('many lists at once are all carried out, and the loop turns meanwhile', async (t) => {
    const { base, run } = staged(t, runner, {});
    const before = descriptors();
    const lists = Array.from({ length: 200 }, (_, index) =>
      run((list) => {
        const own = list.ensure(0, `e${index}`, 0o755);
        list.create(own, 'f', 0o644, String(index));
      }),
    );
    let finished = 0;
    for (const list of lists) void list.then(() => finished++);
    await new Promise((resolve) => setImmediate(resolve));
    t.ok(finished < lists.length, 'none is waited for');
    for (const { failed } of await Promise.all(lists)) if (failed !== null) t.fail('a list failed');
    t.equal(readdirSync(base).length, 200);
    t.equal(readFileSync(join(base, 'e117/f'), 'utf8'), '117');
    t.equal(descriptors(), before, 'nothing stays open');
  });
}
