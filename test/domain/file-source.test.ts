// The file source on a manifest directory in memory: watch, listings, bursts, and the traps of both.

import t from 'tap';
import { mergeSet, newPodConfig } from '../../src/domain/pod-sources/pod-config.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { FileSourceRun } from './file-source-harness.js';
import { document, MemoryManifests, podValue, portError } from './manifest-samples.js';

t.test('KB001: a manifest that is taken away and put back unchanged is the same pod again', async (t) => {
  const manifests = new MemoryManifests('/m');
  const content = document(podValue('a'));
  manifests.put('a.yaml', content);
  const run = await new FileSourceRun({ path: '/m' }, manifests).start();
  const config = newPodConfig(['file']);
  const ops = (): string[] =>
    run.sets.splice(0).flatMap((set) => mergeSet(config, 'file', set, instantOf(run.now)).deliveries.map(({ op, pods }) => `${op} ${pods.map((pod) => pod.metadata.uid)}`));
  const [first] = ops();
  t.match(first, /^ADD [0-9a-f]{32}$/);
  const uid = first?.slice(4);
  await run.saw(manifests.remove('a.yaml'));
  t.strictSame(ops(), [`REMOVE ${uid}`]);
  await run.saw(manifests.put('a.yaml', structuredClone(content)));
  t.strictSame(ops(), [`ADD ${uid}`], 'under the same uid');
  await run.saw(manifests.remove('a.yaml'), manifests.put('a.yaml', structuredClone(content)));
  t.strictSame(ops(), [], 'within one batch nothing has happened');
});

t.test('KB008: an editor that saves by renaming leaves the final content, and a half-written file removes nothing', async (t) => {
  const manifests = new MemoryManifests('/m');
  manifests.put('p.yaml', document(podValue('p', { priority: 1 })));
  const run = await new FileSourceRun({ path: '/m' }, manifests).start();
  const priorities = (): (number | undefined)[] => (run.sets.at(-1) ?? []).map((pod) => pod.spec.priority);
  t.strictSame(priorities(), [1]);
  await run.saw(manifests.put('.p.yaml.swp', { kind: 'unreadable', message: 'a binary file' }));
  t.equal(run.asked.includes('readFile .p.yaml.swp'), false, 'dot files are not even read');
  await run.saw(manifests.put('p.yaml~', document(podValue('p', { priority: 1 }))), manifests.remove('p.yaml'));
  await run.saw(manifests.put('p.yaml', document(podValue('p', { priority: 2 }))), manifests.remove('p.yaml~'), manifests.remove('.p.yaml.swp'));
  t.strictSame(priorities(), [2], 'the final content, with no listing needed');
  const sets = run.sets.length;
  await run.saw(manifests.put('p.yaml', { kind: 'unreadable', message: 'unexpected end of the stream' }));
  t.equal(run.sets.length, sets, 'the first half changes nothing');
  t.match(run.log.at(-1), /can't process config file "\/m\/p\.yaml": \/m\/p\.yaml: couldn't parse as pod\(unexpected end of the stream\), please check config file/);
  await run.saw(manifests.put('p.yaml', document(podValue('p', { priority: 3 }))));
  t.strictSame(priorities(), [3]);
});

t.test('KB041: without a watch the pods are found by listing, and the warning names the limit', async (t) => {
  const manifests = new MemoryManifests('/m');
  manifests.put('a.yaml', document(podValue('a')));
  manifests.refusal = portError('resource-exhausted', 'inotify_init1: too many open files');
  const run = await new FileSourceRun({ path: '/m' }, manifests).start();
  t.strictSame(run.names, ['a-node-a']);
  t.strictSame(run.log, [
    "warn can't watch the manifest path, changes are found by listing it " +
      '(fs.inotify.max_user_instances or fs.inotify.max_user_watches is used up): inotify_init1: too many open files',
  ]);
  manifests.put('b.yaml', document(podValue('b')));
  await run.pass(21);
  t.strictSame(run.names, ['a-node-a', 'b-node-a'], 'polling goes on');
  const tries = run.asked.filter((asked) => asked === 'watch').length;
  t.ok(tries >= 4 && tries <= 6, `the watch is tried again with growing pauses (${tries})`);
  manifests.refusal = null;
  await run.pass(20);
  await run.saw(manifests.put('c.yaml', document(podValue('c'))));
  t.strictSame(run.names, ['a-node-a', 'b-node-a', 'c-node-a'], 'the limit was raised: events work');
  t.equal(run.log.length, 1, 'one warning');
});

const start = async (files: Readonly<Record<string, unknown>>, path = '/m'): Promise<{ manifests: MemoryManifests; run: FileSourceRun }> => {
  const manifests = new MemoryManifests('/m');
  for (const [name, value] of Object.entries(files)) manifests.put(name, document(value));
  return { manifests, run: await new FileSourceRun({ path }, manifests).start() };
};

t.test('the watch is armed before the first listing', async (t) => {
  const { run } = await start({ 'a.yaml': podValue('a') }, '/m/');
  t.strictSame(run.asked, ['watch', 'list']);
  await run.pass(61);
  t.strictSame(run.asked.slice(2), ['list', 'list', 'list'], 'then it is listed at intervals');
  t.equal(run.sets[0]?.[0], run.sets.at(-1)?.[0], 'an unchanged file stays the same object');
});

t.test('a bad file is told once, the others go on; a file that turns bad is dropped by the next listing', async (t) => {
  const { manifests, run } = await start({ 'bad.yaml': podValue('Bad_'), 'good.yaml': podValue('good') });
  t.strictSame(run.names, ['good-node-a']);
  await run.pass(60);
  t.equal(run.log.length, 1);
  t.match(run.log[0], /^error Could not process manifest file "\/m\/bad\.yaml": invalid pod: metadata\.name: Invalid value: "Bad_-node-a"/);
  await run.saw(manifests.put('good.yaml', document({ kind: 'Pod' })));
  t.strictSame(run.names, ['good-node-a'], 'not yet');
  t.match(run.log[1], /^error can't process config file "\/m\/good\.yaml": /);
  await run.pass(21);
  t.strictSame(run.names, []);
  t.equal(run.log.length, 2, 'told once, although the watch found it first and the listing again');
  await run.saw(manifests.put('good.yaml', document(podValue('good'))));
  t.strictSame(run.names, ['good-node-a'], 'and is back when it is good again');
});

t.test('a listing without pods clears the store: a later event does not bring old pods back', async (t) => {
  const { manifests, run } = await start({ 'a.yaml': podValue('a') });
  manifests.files.clear();
  await run.pass(21);
  t.strictSame(run.names, []);
  await run.saw(manifests.put('b.yaml', document(podValue('b'))));
  t.strictSame(run.names, ['b-node-a']);
});

t.test('two files with one pod: the last path counts, and the other takes over when it goes', async (t) => {
  const { manifests, run } = await start({ 'a.yaml': podValue('p', { priority: 1 }), 'b.yaml': podValue('p', { priority: 2 }), 'c.yaml': podValue('q') });
  const priorities = (): (number | undefined)[] => (run.sets.at(-1) ?? []).map((pod) => pod.spec.priority);
  t.strictSame(priorities(), [2, undefined]);
  t.strictSame(run.log, ['warn /m/a.yaml: pod "p-node-a" in namespace "default" is also defined by /m/b.yaml, which is used']);
  await run.pass(41);
  t.equal(run.log.length, 1, 'told once');
  await run.saw(manifests.remove('b.yaml'));
  t.strictSame(run.names, ['p-node-a', 'q-node-a'], 'the pod does not vanish');
  t.strictSame(priorities(), [1, undefined]);
});

t.test('lost events and many events lead to a listing', async (t) => {
  const { manifests, run } = await start({});
  manifests.put('a.yaml', document(podValue('a')));
  await run.saw({ kind: 'lost' });
  t.strictSame(run.names, ['a-node-a']);
  const flood = Array.from({ length: 300 }, (_, i) => manifests.put(`f${i}.yaml`, document(podValue(`f${i}`))));
  const before = run.asked.length;
  await run.saw(...flood);
  t.equal(run.names?.length, 301);
  t.strictSame(run.asked.slice(before), ['list']);
});

t.test('a directory that is replaced is watched again', async (t) => {
  const { manifests, run } = await start({ 'a.yaml': podValue('a') });
  manifests.files.clear();
  manifests.put('b.yaml', document(podValue('b')));
  const before = run.asked.length;
  await run.saw({ kind: 'gone', path: '/m' });
  t.strictSame(run.asked.slice(before), ['watch', 'list']);
  t.strictSame(run.names, ['b-node-a']);
  await run.saw({ kind: 'failed', message: 'EIO' });
  t.strictSame(run.asked.slice(before + 2), ['watch', 'list'], 'also after the watch has failed');
});

t.test('a directory that goes away stops its pods, and is looked for each second', async (t) => {
  const { manifests, run } = await start({ 'a.yaml': podValue('a') });
  manifests.refusal = portError('not-found', 'no such directory');
  manifests.listing = { kind: 'absent' };
  await run.saw({ kind: 'gone', path: '/m' });
  t.strictSame(run.names, []);
  await run.pass(3);
  t.strictSame(run.log, ['error path does not exist, ignoring: static pods of this path are stopped'], 'told once, loudly');
  manifests.refusal = null;
  manifests.listing = null;
  await run.pass(1);
  t.strictSame(run.names, ['a-node-a']);
});

t.test('what is no answer changes nothing', async (t) => {
  const { manifests, run } = await start({ 'a.yaml': podValue('a') });
  const sets = run.sets.length;
  manifests.listing = portError('permission-denied', 'EACCES');
  await run.pass(21);
  manifests.listing = { kind: 'other' };
  await run.pass(20);
  t.equal(run.sets.length, sets);
  t.strictSame(run.log, ['error unable to read the manifest path: EACCES', 'error path is not a directory or file']);
});

t.test('one file: it stays while its new content is bad', async (t) => {
  const manifests = new MemoryManifests('/m.yaml');
  const file = (value: unknown): void => {
    manifests.listing = { kind: 'file', file: { path: '/m.yaml', content: document(value) } };
  };
  file(podValue('a'));
  const run = await new FileSourceRun({ path: '/m.yaml' }, manifests).start();
  t.strictSame(run.names, ['a-node-a']);
  file({ kind: 'Pod' });
  const sets = run.sets.length;
  await run.saw({ kind: 'entry', path: '/m.yaml', name: '', change: 'modified' });
  t.equal(run.sets.length, sets);
  file(podValue('b'));
  await run.saw({ kind: 'gone', path: '/m.yaml' });
  t.strictSame(run.names, ['b-node-a']);
});
