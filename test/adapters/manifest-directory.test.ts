// The manifest directory on a real file system, with the file source on top: every bad file is one line, and the good ones run.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { LinuxManifestDirectory } from '../../src/adapters/linux/manifest-directory.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { FileWatch, FileWatchListener } from '../../src/ports/outbound/file-watch.js';
import type { ManifestContent, ManifestDirectoryOperations, ManifestsChanged } from '../../src/ports/outbound/manifests.js';
import { PortError } from '../../src/ports/port-error.js';
import { FileSourceRun } from '../domain/file-source-harness.js';
import { failureOf } from '../support/port-failures.js';

const call: Call = { signal: { aborted: false, reason: undefined, addEventListener: () => {}, removeEventListener: () => {} }, timeoutMicros: null };
const noWatch = { openFileWatch: null, deliver: () => {} };

function manifest(name: string, more = ''): string {
  return `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n  - name: c\n    image: nginx:1\n${more}`;
}

function temporary(test: { readonly teardown: (run: () => void) => unknown }): string {
  const directory = mkdtempSync(join(tmpdir(), 'manifests-'));
  test.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What the port answers with, as data; an answer that is none, or another kind of error, fails the test. */

/** Nine levels, each nine aliases to the level before. */
function aliasBomb(): string {
  const levels = Array.from(
    { length: 9 },
    (_, i) =>
      `  l${i + 1}: &l${i + 1} [${Array(9)
        .fill(i === 0 ? 'x' : `*l${i}`)
        .join(', ')}]`,
  );
  return `apiVersion: v1\nkind: Pod\nbomb:\n${levels.join('\n')}\nmetadata:\n  name: bomb\n  annotations:\n    a: *l9\n`;
}

interface BadFile {
  readonly name: string;
  readonly make: (path: string) => void;
  /** The one line about it; null: nothing is said. */
  readonly line: RegExp | null;
  /** The pod that it gives in spite of it. */
  readonly pod?: string;
}

const badFiles: readonly BadFile[] = [
  {
    name: 'broken.yaml',
    make: (path) => writeFileSync(path, 'apiVersion: v1\nkind: Pod\nmetadata: {name: "a\n'),
    line: /^error Could not process manifest file ".*\/broken\.yaml": .*couldn't parse as pod\(.*\(line \d+, column \d+\)\), please check config file$/,
  },
  { name: 'half.json', make: (path) => writeFileSync(path, '{"apiVersion":"v1","kind":"Pod","meta'), line: /half\.json": .*couldn't parse as pod\(.*\(line 1, column 33\)/ },
  { name: 'tabs.yaml', make: (path) => writeFileSync(path, 'apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n'), line: /tabs\.yaml": .*couldn't parse as pod\(.*line 4/ },
  { name: 'bom.yaml', make: (path) => writeFileSync(path, `\ufeff${manifest('bom')}`), line: null, pod: 'bom' },
  { name: 'crlf.yaml', make: (path) => writeFileSync(path, manifest('crlf').replaceAll('\n', '\r\n')), line: null, pod: 'crlf' },
  {
    name: 'twice.yaml',
    make: (path) => writeFileSync(path, manifest('twice', '  priority: 1\n  priority: 2\n')),
    line: /^warn .*\/twice\.yaml: spec\.priority is set more than once, the value of line 10 is used$/,
    pod: 'twice',
  },
  {
    name: 'alias.yaml',
    make: (path) => writeFileSync(path, `x: &i nginx:1\n${manifest('alias').replace('nginx:1', '*i')}`),
    line: /^warn .*\/alias\.yaml: unknown field is ignored: x$/,
    pod: 'alias',
  },
  {
    name: 'documents.yaml',
    make: (path) => writeFileSync(path, `# first\n---\n${manifest('first')}---\n${manifest('second')}`),
    line: /^warn .*\/documents\.yaml: only the first of several documents is read$/,
    pod: 'first',
  },
  { name: 'marker.yaml', make: (path) => writeFileSync(path, `---\n${manifest('marker')}---\n# the end\n`), line: null, pod: 'marker' },
  { name: 'huge.yaml', make: (path) => writeFileSync(path, manifest('huge').padEnd(50 * 1024 * 1024, '#')), line: /huge\.yaml": .*larger than 10 MiB/ },
  { name: 'binary.yaml', make: (path) => writeFileSync(path, Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2])), line: /binary\.yaml": .*a binary file/ },
  { name: 'latin.yaml', make: (path) => writeFileSync(path, Buffer.from([0x61, 0x3a, 0x20, 0xe4, 0x0a])), line: /latin\.yaml": .*UTF-8/ },
  { name: 'empty.yaml', make: (path) => writeFileSync(path, ''), line: /empty\.yaml": .*couldn't parse as pod\(invalid pod: the document is empty\)/ },
  { name: 'directory.yaml', make: (path) => mkdirSync(path), line: /^warn .*\/directory\.yaml: a directory, not a manifest, ignoring$/ },
  { name: 'pipe.yaml', make: (path) => execFileSync('mkfifo', [path]), line: /^warn .*\/pipe\.yaml: not a regular file, ignoring$/ },
  { name: 'loop.yaml', make: (path) => symlinkSync(path, path), line: /loop\.yaml": .*too many levels of symbolic links/ },
  { name: 'dangling.yaml', make: (path) => symlinkSync(`${path}.nowhere`, path), line: /dangling\.yaml": .*a symbolic link to a file that does not exist/ },
  {
    name: 'unknown.yaml',
    make: (path) => writeFileSync(path, manifest('unknown', '  shape: round\n  HostNetwork: true\n')),
    line: /^warn .*\/unknown\.yaml: unknown fields are ignored: spec\.shape, spec\.HostNetwork$/,
    pod: 'unknown',
  },
  { name: 'name.yaml', make: (path) => writeFileSync(path, manifest('Not_A_Name')), line: /name\.yaml": invalid pod: metadata\.name: Invalid value: "Not_A_Name-node-a"/ },
  {
    name: 'quantity.yaml',
    make: (path) => writeFileSync(path, manifest('q', '    resources: {limits: {memory: 1 Gi}}\n')),
    line: /quantity\.yaml": .*spec\.containers\[0\]\.resources\.limits\[memory\]: "1 Gi": quantities must match/,
  },
  {
    name: 'second-good.yaml',
    make: (path) => writeFileSync(path, manifest('good')),
    line: /^warn .*\/good\.yaml: pod "good-node-a" in namespace "default" is also defined by .*\/second-good\.yaml, which is used$/,
  },
  {
    name: 'yes.yaml',
    make: (path) => writeFileSync(path, manifest('no-text', '    env: [{name: A, value: yes}]\n')),
    line: /yes\.yaml": .*spec\.containers\[0\]\.env\[0\]\.value: expected a string, got the boolean true/,
  },
  { name: '.hidden.yaml', make: (path) => writeFileSync(path, 'broken: {'), line: null },
];

t.test('every bad file is one line that names it, and the other pods go on', async (t) => {
  for (const bad of badFiles) {
    const directory = temporary(t);
    writeFileSync(join(directory, 'good.yaml'), manifest('good'));
    bad.make(join(directory, bad.name));
    const run = await new FileSourceRun({ path: directory }, new LinuxManifestDirectory(noWatch)).start();
    const lines = run.log.filter((line) => !line.includes("can't watch"));
    t.strictSame(run.names, ['good', ...(bad.pod === undefined ? [] : [bad.pod])].map((name) => `${name}-node-a`).sort(), `${bad.name}: pods`);
    if (bad.line === null) t.strictSame(lines, [], `${bad.name}: nothing to say`);
    else {
      t.equal(lines.length, 1, `${bad.name}: one line`);
      t.match(lines[0], bad.line, bad.name);
    }
    await run.pass(60);
    t.equal(run.log.filter((line) => !line.includes("can't watch")).length, lines.length, `${bad.name}: told once`);
  }
});

t.test('all of them at once', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'good.yaml'), manifest('good'));
  for (const bad of badFiles) bad.make(join(directory, bad.name));
  const run = await new FileSourceRun({ path: directory }, new LinuxManifestDirectory(noWatch)).start();
  const wanted = badFiles.flatMap((bad) => bad.pod ?? []).concat('good');
  t.strictSame(run.names, wanted.map((name) => `${name}-node-a`).sort());
  t.equal(run.log.filter((line) => !line.includes("can't watch")).length, badFiles.filter((bad) => bad.line !== null).length);
});

t.test('KB012: nested aliases are refused fast, for that file only', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'bomb.yaml'), aliasBomb());
  writeFileSync(join(directory, 'self.yaml'), 'apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: self\n  annotations: *m\n');
  writeFileSync(
    join(directory, 'merge.yaml'),
    `x: &base {image: 'nginx:1'}\napiVersion: v1\nkind: Pod\nmetadata: {name: merge}\nspec:\n  containers:\n  - <<: *base\n    name: c\n    image: 'nginx:2'\n`,
  );
  const before = { time: process.hrtime.bigint(), memory: process.memoryUsage().rss };
  const run = await new FileSourceRun({ path: directory }, new LinuxManifestDirectory(noWatch)).start();
  t.strictSame(run.names, ['merge-node-a'], 'honest anchors and merge keys work');
  t.notOk(
    run.log.some((line) => line.includes('more than once')),
    'a merge key is there to be overridden',
  );
  const lines = run.log.filter((line) => line.startsWith('error'));
  t.equal(lines.length, 2);
  t.match(lines[0], /bomb\.yaml": .*alias/, 'the bomb');
  t.match(lines[1], /self\.yaml": /, 'an alias of itself');
  t.ok(process.hrtime.bigint() - before.time < 2_000_000_000n, 'fast');
  t.ok(process.memoryUsage().rss - before.memory < 200 * 1024 * 1024, 'and small');
});

t.test('a file that may not be read', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'good.yaml'), manifest('good'));
  writeFileSync(join(directory, 'secret.yaml'), manifest('secret'));
  chmodSync(join(directory, 'secret.yaml'), 0);
  const real = new LinuxManifestDirectory(noWatch);
  // Root may read everything, so the test substitutes the error of other users.
  const denied: ManifestContent = { kind: 'unreadable', message: 'permission denied' };
  const port: PortOf<ManifestDirectoryOperations> = {
    list: async (request, c) => {
      const listing = await real.list(request, c);
      if (process.getuid?.() !== 0 || listing.kind !== 'directory') return listing;
      return { kind: 'directory', files: listing.files.map((file) => (file.path.endsWith('secret.yaml') ? { ...file, content: denied } : file)) };
    },
    readFile: (request) => real.readFile(request),
    watch: (request) => real.watch(request),
  };
  const run = await new FileSourceRun({ path: directory }, port).start();
  t.strictSame(run.names, ['good-node-a']);
  t.match(run.log.at(-1), /^error Could not process manifest file ".*\/secret\.yaml": .*permission denied/);
});

t.test('listing', async (t) => {
  await t.test('an unchanged file is not parsed again, a changed one is', async (t) => {
    const directory = temporary(t);
    const path = join(directory, 'a.yaml');
    writeFileSync(path, manifest('a'));
    const adapter = new LinuxManifestDirectory(noWatch);
    const read = async (): Promise<ManifestContent> => (await adapter.readFile({ path })).content;
    t.not(await read(), await read(), 'a file that has just changed may change again within one tick: it is read again');
    writeFileSync(path, manifest('b'));
    t.match(await read(), { kind: 'document', value: { metadata: { name: 'b' } } });
    utimesSync(path, 1, 1);
    t.match(await read(), { kind: 'document', value: { metadata: { name: 'b' } } });
  });
  await t.test('what the path itself may be', async (t) => {
    const directory = temporary(t);
    const adapter = new LinuxManifestDirectory(noWatch);
    t.strictSame(await adapter.list({ path: join(directory, 'none') }, call), { kind: 'absent' });
    writeFileSync(join(directory, 'one.yaml'), manifest('one'));
    t.match(await adapter.list({ path: join(directory, 'one.yaml') }, call), { kind: 'file', file: { content: { kind: 'document' } } });
    const server = createServer().listen(join(directory, 'socket'));
    t.teardown(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    t.strictSame(await adapter.list({ path: join(directory, 'socket') }, call), { kind: 'other' });
    symlinkSync(directory, join(directory, 'link'));
    t.equal((await adapter.list({ path: join(directory, 'link') }, call)).kind, 'directory', 'a symbolic link is followed');
    symlinkSync('loop', join(directory, 'loop'));
    t.match(await failureOf(adapter.list({ path: join(directory, 'loop') }, call)), { kind: 'failed-precondition' });
    t.match(await adapter.readFile({ path: join(directory, 'none') }), { content: { kind: 'absent' } });
    t.match(await failureOf(adapter.list({ path: directory }, { ...call, signal: { ...call.signal, aborted: true } })), { kind: 'cancelled' });
  });
});

class ScriptedWatch implements FileWatch {
  readonly added: string[] = [];
  isClosed = false;
  constructor(readonly listener: FileWatchListener) {}
  add(path: string): void {
    this.added.push(path);
  }
  remove(): void {}
  close(): void {
    this.isClosed = true;
  }
}

t.test('the watch', async (t) => {
  const directory = temporary(t);
  const seen: ManifestsChanged[] = [];
  const watches: ScriptedWatch[] = [];
  const openFileWatch = (listener: FileWatchListener): FileWatch => {
    const watch = new ScriptedWatch(listener);
    watches.push(watch);
    return watch;
  };
  const adapter = new LinuxManifestDirectory({ openFileWatch, deliver: (event) => seen.push(event) });
  await adapter.watch({ path: directory });
  await adapter.watch({ path: directory });
  t.equal(watches.length, 1, 'one watch');
  t.strictSame(watches[0]?.added, [directory, directory], 'arming again is asked of it each time');
  watches[0]?.listener([{ kind: 'failed', message: 'EIO' }]);
  await adapter.watch({ path: directory });
  t.equal(watches.length, 2, 'another one after it has failed');
  adapter.close();
  t.equal(watches[1]?.isClosed, true);
  watches[1]?.listener([{ kind: 'lost' }]);
  t.strictSame(seen, [{ type: 'manifests-changed', events: [{ kind: 'failed', message: 'EIO' }] }], 'nothing is delivered after close');
  t.match(await failureOf(new LinuxManifestDirectory(noWatch).watch({ path: directory })), { kind: 'unimplemented' });
  const refused = new LinuxManifestDirectory({
    openFileWatch: () => {
      throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    },
    deliver: () => {},
  });
  const error = await refused.watch({ path: directory }).catch((cause: unknown) => cause);
  t.ok(error instanceof PortError && error.kind === 'resource-exhausted', 'a used-up limit has its own kind');
});

t.test('KB008: the file dance of an editor, on a real directory', async (t) => {
  const directory = temporary(t);
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('p.yaml'), manifest('p', '  priority: 1\n'));
  const run = await new FileSourceRun({ path: directory }, new LinuxManifestDirectory(noWatch)).start();
  writeFileSync(at('.p.yaml.swp'), Buffer.from([0, 1, 2]));
  writeFileSync(at('p.yaml~'), manifest('p', '  priority: 1\n'));
  renameSync(at('p.yaml'), at('p.yaml~'));
  writeFileSync(at('4913.tmp'), manifest('p', '  priority: 2\n'));
  renameSync(at('4913.tmp'), at('p.yaml'));
  rmSync(at('p.yaml~'));
  rmSync(at('.p.yaml.swp'));
  await run.pass(20);
  t.strictSame(
    run.sets.at(-1)?.map((pod) => pod.spec.priority),
    [2],
    'applied within one file-check period',
  );
  const text = manifest('p', '  priority: 3\n');
  writeFileSync(at('p.yaml'), text.slice(0, 40));
  await run.pass(20);
  writeFileSync(at('p.yaml'), text);
  await run.pass(20);
  t.strictSame(
    run.sets.at(-1)?.map((pod) => pod.spec.priority),
    [3],
    'a half-written file removes nothing for good',
  );
});
