// The contract of FileWatch, for every implementation that watches real files.
import { appendFileSync, chmodSync, mkdirSync, readdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { FileChange, FileWatch, FileWatchEvent, FileWatchListener } from '../../src/ports/outbound/file-watch.js';
import { Collector } from './collector.js';

class Watched extends Collector<readonly FileWatchEvent[]> {
  has(change: FileChange, name: string): (all: readonly (readonly FileWatchEvent[])[]) => boolean {
    return (all) => all.flat().some((event) => event.kind === 'entry' && event.name === name && event.change === change);
  }

  gone(path: string): (all: readonly (readonly FileWatchEvent[])[]) => boolean {
    return (all) => all.flat().some((event) => event.kind === 'gone' && event.path === path);
  }
}

const throwsWith = (t: Test, call: () => unknown, kind: string, text: string): void => {
  t.throws(call, { name: 'PortError', kind }, text);
};

type Watching = (t: Test, body: (watch: FileWatch, seen: Watched, directory: string) => Promise<void>) => Promise<void>;

export async function fileWatchContract(t: Test, open: (listener: FileWatchListener) => FileWatch, burstEntries: number): Promise<void> {
  const watching: Watching = async (t, body) => {
    const seen = new Watched();
    const watch = open(seen.push);
    t.teardown(() => watch.close());
    await body(watch, seen, t.testdir({}));
  };
  await changesOfEntries(t, watching);
  await watchedObjectGone(t, watching);
  await addRemoveClose(t, watching);
  await burst(t, watching, burstEntries);
}

async function changesOfEntries(t: Test, watching: Watching): Promise<void> {
  await t.test('entries: created, modified, attributes, moved, deleted', (t) =>
    watching(t, async (watch, seen, directory) => {
      const path = join(directory, 'pod.yaml');
      watch.add(directory, 'changes');
      writeFileSync(path, 'a');
      await seen.until('created', seen.has('created', 'pod.yaml'));
      seen.clear();
      appendFileSync(path, 'b');
      await seen.until('modified', seen.has('modified', 'pod.yaml'));
      seen.clear();
      chmodSync(path, 0o600);
      await seen.until('attributes', seen.has('modified', 'pod.yaml'));
      renameSync(path, join(directory, 'other.yaml'));
      await seen.until('moved away', seen.has('deleted', 'pod.yaml'));
      await seen.until('moved here', seen.has('created', 'other.yaml'));
      unlinkSync(join(directory, 'other.yaml'));
      await seen.until('deleted', seen.has('deleted', 'other.yaml'));
      t.ok(seen.all.flat().every((event) => event.kind === 'entry' && event.path === directory));
    }),
  );

  await t.test('a single file, and a file moved over it', (t) =>
    watching(t, async (watch, seen, directory) => {
      const path = join(directory, 'ca.crt');
      writeFileSync(path, 'a');
      watch.add(path, 'changes');
      appendFileSync(path, 'b');
      await seen.until('modified', seen.has('modified', ''));
      writeFileSync(join(directory, 'next'), 'c');
      renameSync(join(directory, 'next'), path);
      await seen.until('gone', seen.gone(path));
      t.notOk(seen.all.flat().some((event) => event.kind === 'lost'));
    }),
  );
}

async function watchedObjectGone(t: Test, watching: Watching): Promise<void> {
  await t.test('directory deleted: gone, once; then watched again', (t) =>
    watching(t, async (watch, seen, parent) => {
      const directory = join(parent, 'manifests');
      mkdirSync(directory);
      watch.add(directory, 'changes');
      rmSync(directory, { recursive: true });
      await seen.until('gone', seen.gone(directory));
      throwsWith(t, () => watch.add(directory, 'changes'), 'not-found', 'an absent path');
      mkdirSync(directory);
      watch.add(directory, 'changes');
      writeFileSync(join(directory, 'x'), '');
      await seen.until('created', seen.has('created', 'x'));
      t.equal(seen.all.flat().filter((event) => event.kind === 'gone').length, 1);
    }),
  );

  await t.test('directory replaced under the watch: gone, and nothing of the old one afterwards', (t) =>
    watching(t, async (watch, seen, parent) => {
      const directory = join(parent, 'manifests');
      mkdirSync(directory);
      watch.add(directory, 'changes');
      renameSync(directory, `${directory}.old`);
      mkdirSync(directory);
      await seen.until('gone', seen.gone(directory));
      watch.add(directory, 'changes');
      writeFileSync(`${directory}.old/stale`, '');
      writeFileSync(`${directory}/fresh`, '');
      await seen.until('created', seen.has('created', 'fresh'));
      t.notOk(seen.has('created', 'stale')(seen.all));
    }),
  );
}

async function addRemoveClose(t: Test, watching: Watching): Promise<void> {
  await t.test('remove: idempotent, silent afterwards; add: idempotent', (t) =>
    watching(t, async (watch, seen, parent) => {
      const [one, two] = [join(parent, 'one'), join(parent, 'two')];
      mkdirSync(one);
      mkdirSync(two);
      watch.add(one, 'changes');
      watch.add(one, 'changes');
      watch.add(two, 'changes');
      watch.remove(one);
      watch.remove(one);
      watch.remove(join(parent, 'never'));
      writeFileSync(join(one, 'unseen'), '');
      writeFileSync(join(two, 'seen'), '');
      await seen.until('created', seen.has('created', 'seen'));
      t.notOk(seen.has('created', 'unseen')(seen.all));
    }),
  );

  await t.test('close: idempotent; add after it fails', (t) =>
    watching(t, async (watch, seen, directory) => {
      watch.add(directory, 'changes');
      writeFileSync(join(directory, 'pending'), '');
      watch.close();
      watch.close();
      watch.remove(directory);
      throwsWith(t, () => watch.add(directory, 'changes'), 'failed-precondition', 'add after close');
      await new Promise((resolve) => setImmediate(resolve));
      t.equal(seen.all.length, 0, 'no batch after close');
    }),
  );

  await t.test('errors name operation and path', (t) =>
    watching(t, async (watch, _seen, directory) => {
      const path = join(directory, 'absent');
      t.throws(() => watch.add(path, 'changes'), { name: 'PortError', kind: 'not-found', subject: path, operation: /add/ });
    }),
  );
}

async function burst(t: Test, watching: Watching, burstEntries: number): Promise<void> {
  await t.test(`burst of ${burstEntries}: every entry reported, or lost`, { timeout: 240_000 }, (t) =>
    watching(t, async (watch, seen, directory) => {
      watch.add(directory, 'changes');
      for (let index = 0; index < burstEntries; index++) writeFileSync(join(directory, `e${index}`), '');
      const created = new Set<string>();
      let examined = 0;
      await seen.until('all or lost', (all) => {
        for (; examined < all.length; examined++) {
          for (const event of all[examined]!) if (event.kind === 'entry' && event.change === 'created') created.add(event.name);
        }
        return created.size === burstEntries || all.at(-1)?.some((event) => event.kind === 'lost') === true;
      });
      t.equal(readdirSync(directory).length, burstEntries, 'a listing finds all');
      if (created.size < burstEntries) {
        t.ok(
          seen.all.flat().some((event) => event.kind === 'lost'),
          `${created.size} reported, the rest as lost`,
        );
      } else {
        t.pass('all reported');
      }
    }),
  );
}
