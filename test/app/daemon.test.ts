// The daemon in this process, on the mock runtime: manifests become containers, and what a restart, a stranger or a record makes of that.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { replayFile } from '../../src/app/daemon/replay-file.js';
import { tokens } from '../../src/app/tokens.js';
import { until } from '../support/until.js';
import { phaseOf, podNamed, Stage } from './stage.js';

t.test('pods of manifests run, and the listener tells of them', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  stage.manifest('b.yaml', stage.pod('b', 'busybox', 'run=100ms,exit=0', '  restartPolicy: Never\n'));
  const daemon = await stage.start();
  await until('a runs and b has ended', () => phaseOf(daemon, 'a-n1') === 'Running' && phaseOf(daemon, 'b-n1') === 'Succeeded');

  const list = (await (await fetch(`http://${daemon.address}/pods`)).json()) as { kind: string; items: { metadata: { name: string }; status: { phase: string } }[] };
  t.equal(list.kind, 'PodList');
  t.same(list.items.map(({ metadata, status }) => `${metadata.name} ${status.phase}`).sort(), ['a-n1 Running', 'b-n1 Succeeded']);
  t.equal(await (await fetch(`http://${daemon.address}/healthz`)).text(), 'ok');
  t.ok(stage.log.find('"reason":"Starting"'), 'the event that every kubelet begins with');
  const { status } = podNamed(daemon, 'a-n1') ?? {};
  t.match(status, { containerStatuses: [{ name: 'c', ready: true, restartCount: 0, containerID: `mock://${stage.running[0]}` }] });
});

t.test('a manifest is edited, replaced, removed and put back', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a', 'busybox:1'));
  const daemon = await stage.start();
  const images = (): string[] => stage.containers.filter(({ state }) => state === 'running').map(({ config }) => config.image.userSpecifiedImage ?? '');
  await until('the first version runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const uid = podNamed(daemon, 'a-n1')?.metadata.uid;

  stage.manifest('a.yaml', stage.pod('a', 'busybox:2'));
  await until('the second version runs alone', () => phaseOf(daemon, 'a-n1') === 'Running' && images().join() === 'busybox:2');
  t.not(podNamed(daemon, 'a-n1')?.metadata.uid, uid, 'another spec is another pod');

  stage.remove('a.yaml');
  await until('nothing of it runs', () => daemon.queries.pods().items === null && stage.isIdle);
  await until('its directory is gone', () => !existsSync(join(stage.root, 'pods', uid ?? '')));

  stage.manifest('a.yaml', stage.pod('a', 'busybox:2'));
  await until('the same again runs again', () => phaseOf(daemon, 'a-n1') === 'Running' && stage.running.length === 1);
});

t.test('a bad manifest costs a line that names file and field, and nothing else', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('bad.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: {name: Bad_Name}\nspec: {containers: [{name: c, image: i}]}\n');
  stage.manifest('broken.yaml', 'a: [\n');
  stage.manifest('good.yaml', stage.pod('good'));
  const daemon = await stage.start();
  await until('the good one runs', () => phaseOf(daemon, 'good-n1') === 'Running');
  const line = stage.log.find('bad.yaml') ?? '';
  t.match(line, /metadata\.name/);
  t.ok(stage.log.find('broken.yaml'));
  t.equal(daemon.queries.pods().items?.length, 1);
});

t.test('a daemon that is stopped leaves its containers, and one that comes back finds them', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  for (const name of ['a', 'b', 'c']) stage.manifest(`${name}.yaml`, stage.pod(name));
  const first = await stage.start();
  await until('three run', () => ['a-n1', 'b-n1', 'c-n1'].every((name) => phaseOf(first, name) === 'Running'));
  const before = stage.running;
  const begun = performance.now();
  await first.stop();
  t.ok(performance.now() - begun < 10_000, 'at once');
  t.same(stage.running, before);

  const second = await stage.start();
  await until('three are known to run', () => ['a-n1', 'b-n1', 'c-n1'].every((name) => phaseOf(second, name) === 'Running'));
  t.same(stage.running, before, 'the same containers');
  t.equal(stage.containers.length, 3, 'none doubled');
});

t.test('a runtime without an event stream is looked at', async (t) => {
  const stage = await Stage.open({ offersEvents: false });
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=50ms,exit=1; run=forever'));
  const daemon = await stage.start();
  await until('it was started again', () => podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.restartCount === 1 && stage.running.length === 1);
  t.equal(phaseOf(daemon, 'a-n1'), 'Running');
});

t.test('pods of others', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  for (const name of ['a', 'b']) stage.manifest(`${name}.yaml`, stage.pod(name));
  const owner = await stage.start();
  await until('two run', () => stage.running.length === 2);
  await owner.stop();
  for (const name of ['a', 'b']) stage.remove(`${name}.yaml`);
  const before = stage.running;
  const other = join(stage.directory, 'other-root');

  await t.rejects(stage.start({}, other), {
    name: 'StartRefusal',
    message:
      /^failed to run Kubelet: the runtime at unix:.* is in use: it holds pods that this agent does not know \(default\/a-n1, default\/b-n1\); nothing was touched\. Advice\.$/,
  });
  t.same(stage.running, before, 'untouched');

  const again = await stage.start();
  await until('the owner is not refused, and stops what its manifests no longer ask for', () => stage.isIdle);
  await again.stop();

  stage.manifest('a.yaml', stage.pod('a'));
  const third = await stage.start();
  await until('one runs', () => stage.running.length === 1);
  await third.stop();
  stage.remove('a.yaml');
  const taker = await stage.start({ takeOver: true }, other);
  await until('whoever takes over stops it', () => stage.isIdle);
  await taker.stop();
});

t.test('two agents on one root directory', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const first = await stage.start();
  await t.rejects(stage.start(), { name: 'StartRefusal', message: /^failed to run Kubelet: another kubelet runs on the root directory / });
  await first.stop();
  await t.resolves(stage.start(), 'once the first has gone');
});

t.test('a flight record, run again, gives the same commands', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const path = join(stage.directory, 'flight.ndjson');
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=100ms,exit=1; run=forever'));
  stage.manifest('c.yaml', 'not: [a pod');
  const daemon = await stage.start({ flightRecord: { path, bytesMax: 100_000_000 } });
  await until('a crashed once and runs', () => podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.restartCount === 1);
  stage.manifest('b.yaml', stage.pod('b'));
  await until('b runs', () => phaseOf(daemon, 'b-n1') === 'Running');
  stage.remove('a.yaml');
  await until('a is gone', () => podNamed(daemon, 'a-n1') === undefined && stage.running.length === 1);
  await daemon.stop();

  const result = replayFile(path);
  t.match(result, { kind: 'same' });
  t.ok(result.kind === 'same' && result.steps > 50, 'it holds the whole run');

  const lines = readFileSync(path, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.includes('containers.start'));
  lines[at] = (lines[at] ?? '').replace('containers.start', 'containers.stop');
  writeFileSync(path, lines.join('\n'));
  t.match(replayFile(path), { kind: 'diverged', divergence: { step: at - 1 } }, 'the first step that differs is told');

  writeFileSync(path, `${lines[0]}\n{"now":1,"inp`);
  t.same(replayFile(path), { kind: 'same', steps: 0 }, 'a last line that was cut off does not count');
  writeFileSync(path, 'no record\n');
  t.match(replayFile(path), { kind: 'unreadable' });
});

t.test('a flight record ends at its bound, and the daemon goes on', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const path = join(stage.directory, 'flight.ndjson');
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start({ flightRecord: { path, bytesMax: 20_000 } });
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  await daemon.stop();
  t.ok(readFileSync(path).length <= 20_000);
  t.match(readFileSync(path, 'utf8'), /\{"end":"the record has reached its size limit"\}\n$/);
  t.match(replayFile(path), { kind: 'same' });
  t.ok(stage.log.find('The flight record has ended'));
  const record = readFileSync(path, 'utf8');
  const next = await stage.start({ flightRecord: { path, bytesMax: 20_000 } });
  await next.stop();
  t.equal(readFileSync(`${path}.previous`, 'utf8'), record, 'the start after a crash does not take the record of the crash away');
});

t.test('a failed assertion ends the daemon, and nothing is done afterwards', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const address = { machine: 'relist', key: '' };
  const outcome = { ok: true, value: { observedAt: 0, pods: [], foreign: 0, foreignImages: [] } } as const;
  daemon.resolver.get(tokens.shell).deliver({ type: 'reply', id: 1_000_000, op: 'runtime.listPods', address, slot: 'list', outcome });
  t.match(await daemon.ended, { kind: 'failed', error: { message: /answers no command in flight/ } });
  t.ok(stage.log.find('The agent failed and ends'));
  stage.remove('a.yaml');
  await daemon.stop();
  t.equal(stage.running.length, 1);
});

t.test('pods that are withdrawn go, and manifests that change then bring none back', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  daemon.withdrawPods();
  stage.manifest('b.yaml', stage.pod('b'));
  await until('nothing runs', () => stage.isIdle);
  t.equal(daemon.queries.pods().items, null);
});
