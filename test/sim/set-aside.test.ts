// A pod whose input ends the agent doesn't take the node down: after its second end the agent sets it aside, and everything else continues.
import t from 'tap';
import { isAside } from '../../src/domain/agent/set-aside/aside-pods.js';
import { setAsideFileName } from '../../src/domain/agent/set-aside/set-aside-state.js';
import { asideReadings } from '../../src/domain/kubelet-metrics/kubelet-readings.js';
import { SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { type Deadly, endsByPod, isPlanted } from './planted/deadly-pod.js';
import { minute, podOf, second } from './sim-pods.js';

type Checks = Parameters<Parameters<typeof t.test>[0]>[0];

const hour = 60 * minute;
t.setTimeout(600_000);

function world(options: Partial<SimClusterOptions> = {}): { readonly cluster: SimCluster; readonly deadly: Deadly } {
  const deadly: Deadly = { operation: null, uids: new Set(), struck: 0 };
  return { cluster: new SimCluster({ seed: 5, agent: endsByPod(deadly), survives: isPlanted, ...options }), deadly };
}

const running = (cluster: SimCluster, uid: string): string[] =>
  cluster
    .node()
    .containers(uid)
    .filter(({ state }) => state === 'running')
    .map(({ id }) => id);

function nothingFound(t: Checks, cluster: SimCluster): void {
  t.strictSame(
    cluster.violations.map(({ checker, message }) => `${checker}: ${message}`),
    [],
  );
}

function start(t: Checks, options: Partial<SimClusterOptions> = {}) {
  const { cluster, deadly } = world({ apiserver: {}, node: {}, ...options });
  const api = new ApiWorld(cluster, t);
  const uid = api.create('bad').metadata.uid ?? '';
  const good = api.create('good').metadata.uid ?? '';
  api.untilReady('bad', 'good');
  cluster.run(5 * second);
  deadly.uids.add(uid);
  return { cluster, deadly, api, uid, good };
}

for (const runtimeSendsEvents of [true, false]) {
  t.test(`a pod of the API that runs, ${runtimeSendsEvents ? 'told of changes' : 'looking for changes'}`, async (t) => {
    const { cluster, deadly, api, uid, good } = start(t, { runtimeSendsEvents });
    const node = cluster.node();
    const before = running(cluster, uid);
    const lives = node.lives;
    deadly.operation = 'apiWriter.patch';
    node.runtime.killContainer(before[0] as string, cluster.now);
    cluster.world.refresh(node.name);
    cluster.run(20 * second);
    t.equal(node.lives, lives + 2, 'it ended the agent twice');
    t.ok(isAside(node.agent, uid));
    api.create('other');
    api.untilReady('good', 'other');
    const kept = running(cluster, uid);
    const status = JSON.stringify(api.status('bad'));
    cluster.run(8 * minute);
    t.equal(node.lives, lives + 2, 'nothing ends the agent any more');
    t.strictSame(running(cluster, uid), kept, 'its containers are as they were');
    t.equal(JSON.stringify(api.status('bad')), status, 'its status is as it was');
    t.strictSame(running(cluster, good).length, 1);
    const events = node.events().filter(({ record }) => record.reason === 'PodSetAside');
    t.strictSame(events.map(({ record }) => record.involvedObject.kind).sort(), ['Node', 'Pod']);
    t.match(events[0]?.record.message, /ended-steps\/1\.json/);
    t.test('it is tried again after a pause that doubles', async (t) => {
      const ends: number[] = [];
      for (const until = cluster.now + 3 * hour; cluster.now < until; ) {
        const before = node.lives;
        cluster.runUntil(() => node.lives > before, 5 * hour);
        ends.push(cluster.now);
      }
      const pauses = ends.slice(1).map((at, i) => Math.round((at - (ends[i] as number)) / minute));
      t.strictSame(pauses.slice(0, 3), [20, 40, 80]);
    });
    t.test('it is well again', async (t) => {
      deadly.operation = null;
      api.until('it is tried', () => !isAside(node.agent, uid), 7 * hour);
      t.ok(node.events('bad').some(({ record }) => record.reason === 'PodTriedAgain'));
      api.untilReady('bad');
      cluster.run(11 * minute);
      t.equal(node.agent.setAside.pods.size, 0);
      t.match(node.host.state.stateFiles.get(setAsideFileName), 'ended-steps/0.json');
      t.strictSame(running(cluster, uid).length, 1);
      node.start();
      cluster.run(minute);
      t.equal(node.agent.setAside.pods.size, 0, 'what is forgiven stays so');
    });
    nothingFound(t, cluster);
  });
}

t.test('that it is well again can not be written: it is tried again after pauses of up to a minute', async (t) => {
  let tries = 0;
  const { cluster, deadly, uid } = start(t, {
    observe: (_node, input) => {
      const reply = input as { readonly address?: { readonly machine: string }; readonly slot?: string } | null;
      if (reply?.address?.machine === 'set-aside' && reply.slot === 'write') tries++;
    },
  });
  const node = cluster.node();
  deadly.operation = 'apiWriter.patch';
  node.runtime.killContainer(running(cluster, uid)[0] as string, cluster.now);
  cluster.world.refresh(node.name);
  t.ok(cluster.runUntil(() => isAside(node.agent, uid), minute));
  deadly.operation = null;
  node.setFaults([{ operation: 'stateFiles.write', trigger: {}, action: { kind: 'error', moment: 'before', error: 'internal', message: 'the disk is full' } }]);
  t.ok(
    cluster.runUntil(() => node.agent.setAside.file.problem !== null, 30 * minute),
    'its trial is over',
  );
  cluster.run(10 * minute);
  t.ok(tries >= 14 && tries <= 17, `${tries} tries in ten minutes`);
  node.setFaults([]);
  cluster.run(2 * minute);
  t.ok(node.host.state.stateFiles.has(setAsideFileName), 'it is written');
});

t.test('a restart of the agent keeps it aside', async (t) => {
  const { cluster, deadly, api, uid } = start(t);
  const node = cluster.node();
  deadly.operation = 'runtime.inspectPod';
  node.start();
  cluster.run(30 * second);
  t.ok(isAside(node.agent, uid));
  deadly.operation = null;
  const kept = running(cluster, uid);
  node.start();
  cluster.run(minute);
  t.ok(isAside(node.agent, uid));
  t.strictSame(running(cluster, uid), kept);
  api.untilReady('good');
  nothingFound(t, cluster);
});

for (const by of [-2 * hour, 2 * hour]) {
  const what = `the wall clock is set ${by < 0 ? 'back' : 'forward'} by two hours`;

  t.test(`${what} between two ends: it is set aside`, async (t) => {
    const { cluster, deadly, uid } = start(t);
    const node = cluster.node();
    Object.assign(deadly, { operation: 'runtime.inspectPod', times: 1 });
    node.start();
    cluster.run(30 * second);
    t.equal(deadly.struck, 1);
    t.notOk(isAside(node.agent, uid));
    node.stepWall(by);
    deadly.times = 1;
    node.start();
    cluster.run(30 * second);
    t.equal(deadly.struck, 2);
    t.ok(isAside(node.agent, uid));
    nothingFound(t, cluster);
  });

  t.test(`${what} between two ends that are far from each other: it isn't`, async (t) => {
    const { cluster, deadly, uid } = start(t);
    const node = cluster.node();
    for (let ends = 1; ends <= 2; ends++) {
      Object.assign(deadly, { operation: 'runtime.inspectPod', times: 1 });
      node.start();
      cluster.run(30 * second);
      t.equal(deadly.struck, ends);
      t.notOk(isAside(node.agent, uid));
      cluster.run(115 * minute);
      node.stepWall(by);
    }
    t.equal(running(cluster, uid).length, 1);
    nothingFound(t, cluster);
  });

  for (const isDown of [true, false]) {
    t.test(`${what} ${isDown ? 'while no agent runs' : 'before a restart'}: it is tried again after the same pause`, async (t) => {
      const { cluster, deadly, api, uid } = start(t);
      const node = cluster.node();
      deadly.operation = 'runtime.inspectPod';
      node.start();
      t.ok(cluster.runUntil(() => isAside(node.agent, uid), minute));
      const endedAt = cluster.now;
      deadly.operation = null;
      cluster.run(2 * minute);
      if (isDown) node.kill();
      node.stepWall(by);
      cluster.run(5 * second);
      node.start();
      api.until('it is tried', () => !isAside(node.agent, uid), 12 * minute);
      const waited = cluster.now - endedAt;
      t.ok(waited > 595 * second && waited < 605 * second, `after ${waited / second} s`);
      api.untilReady('bad', 'good');
      nothingFound(t, cluster);
    });
  }
}

t.test('logs of its containers are rotated while it is aside, and the gauge counts it', async (t) => {
  const kib = 1024;
  const logRotation = { maxSizeBytes: 50 * kib, maxFiles: 3, maxWorkers: 1, monitorInterval: 10 * second };
  const { cluster, deadly } = world({ apiserver: {}, node: {}, settings: { logRotation } });
  const api = new ApiWorld(cluster, t);
  const uid = api.create('bad', { containers: { c: 'log=50/s', other: 'log=1/s' } }).metadata.uid ?? '';
  api.untilReady('bad');
  deadly.uids.add(uid);
  const node = cluster.node();
  t.strictSame(asideReadings(node.agent), [['kubelet_ts_pods_set_aside', {}, 0]]);
  deadly.operation = 'apiWriter.patch';
  const ended = node.containers(uid).find(({ config }) => config.metadata.name === 'other');
  node.runtime.killContainer(ended?.id ?? '', cluster.now);
  cluster.world.refresh(node.name);
  cluster.run(20 * second);
  t.ok(isAside(node.agent, uid));
  t.strictSame(asideReadings(node.agent), [['kubelet_ts_pods_set_aside', {}, 1]], 'the gauge');
  const files = () => [...node.host.state.logs].flatMap(([, containers]) => [...(containers.get('c') ?? [])]);
  let largest = 0;
  for (let i = 0; i < 45; i++) {
    cluster.run(10 * second);
    largest = Math.max(largest, ...files().map(([, size]) => size));
  }
  t.ok(isAside(node.agent, uid));
  t.equal(files().length, 3, 'rotated files within their number');
  t.ok(largest < logRotation.maxSizeBytes + 11 * 5_000, `${largest} bytes at most`);
  nothingFound(t, cluster);
});

t.test('its object changes: it is tried at once', async (t) => {
  const { cluster, deadly, api, uid } = start(t);
  const node = cluster.node();
  deadly.operation = 'apiWriter.patch';
  node.runtime.killContainer(running(cluster, uid)[0] as string, cluster.now);
  cluster.world.refresh(node.name);
  cluster.run(20 * second);
  t.ok(isAside(node.agent, uid));
  t.test('in vain: the next change waits', async (t) => {
    const { lives } = node;
    api.patch('bad', { metadata: { labels: { changed: '1' } } });
    api.until('it was tried', () => node.lives === lives + 1, 10 * second);
    cluster.run(5 * second);
    t.ok(isAside(node.agent, uid));
    api.patch('bad', { metadata: { labels: { changed: '2' } } });
    cluster.run(10 * second);
    t.equal(node.lives, lives + 1);
    api.until('it was tried', () => node.lives === lives + 2, 2 * minute);
  });
  t.test('with success', async (t) => {
    deadly.operation = null;
    cluster.run(5 * minute);
    api.patch('bad', { metadata: { labels: { changed: '3' } } });
    api.until('it is tried', () => !isAside(node.agent, uid), 5 * second);
    api.untilReady('bad');
    t.equal(running(cluster, uid).length, 1);
  });
  nothingFound(t, cluster);
});

for (const gracePeriodSeconds of [null, 0]) {
  t.test(`its object is deleted${gracePeriodSeconds === 0 ? ' by force' : ''}: nothing is left of it`, async (t) => {
    const { cluster, deadly, api, uid } = start(t);
    const node = cluster.node();
    deadly.operation = 'runtime.inspectPod';
    node.start();
    cluster.run(30 * second);
    t.ok(isAside(node.agent, uid));
    deadly.operation = null;
    api.remove('bad', gracePeriodSeconds);
    api.untilGone('bad');
    api.until('nothing is left', () => node.containers(uid).length + node.sandboxes(uid).length === 0 && !node.host.state.podDirectories.has(uid), 5 * minute);
    nothingFound(t, cluster);
  });
}

t.test('its object is deleted while no agent runs', async (t) => {
  const { cluster, deadly, api, uid } = start(t);
  const node = cluster.node();
  deadly.operation = 'runtime.inspectPod';
  node.start();
  cluster.run(30 * second);
  node.kill();
  deadly.operation = null;
  api.remove('bad', 0);
  node.start();
  api.until('nothing is left', () => node.containers(uid).length + node.sandboxes(uid).length === 0 && !node.host.state.podDirectories.has(uid), 5 * minute);
  nothingFound(t, cluster);
});

t.test('a static pod', async (t) => {
  const { cluster, deadly } = world();
  const node = cluster.node();
  node.put('bad.yaml', podOf('bad'));
  node.put('good.yaml', podOf('good', { uid: 'good' }));
  const uidOf = () => node.pod('bad')?.metadata.uid ?? '';
  t.ok(cluster.runUntil(() => node.status('bad')?.phase === 'Running' && node.status('good')?.phase === 'Running', minute));
  const uid = uidOf();
  deadly.uids.add(uid);
  deadly.operation = 'runtime.inspectPod';
  node.start();
  cluster.run(30 * second);
  const kept = running(cluster, uid);
  t.ok(isAside(node.agent, uid));
  t.equal(kept.length, 1);
  cluster.run(8 * minute);
  t.strictSame(running(cluster, uid), kept);
  t.equal(node.status('good')?.phase, 'Running');
  t.test('another manifest takes its place, after its end', async (t) => {
    deadly.operation = null;
    node.put('bad.yaml', podOf('bad', { env: '2' }));
    let both = false;
    const isReplaced = () => {
      both ||= running(cluster, uid).length > 0 && running(cluster, uidOf()).length > 0 && uidOf() !== uid;
      return uidOf() !== uid && running(cluster, uidOf()).length === 1 && running(cluster, uid).length === 0;
    };
    t.ok(cluster.runUntil(isReplaced, 2 * minute));
    t.notOk(both, 'never beside it');
  });
  nothingFound(t, cluster);
});

t.test('a static pod whose manifest was changed while no agent ran', async (t) => {
  const { cluster, deadly } = world();
  const node = cluster.node();
  node.put('bad.yaml', podOf('bad'));
  t.ok(cluster.runUntil(() => node.status('bad')?.phase === 'Running', minute));
  const uid = node.pod('bad')?.metadata.uid ?? '';
  deadly.uids.add(uid);
  deadly.operation = 'runtime.inspectPod';
  node.start();
  cluster.run(30 * second);
  node.kill();
  deadly.operation = null;
  node.put('bad.yaml', podOf('bad', { env: '2' }));
  node.start();
  let both = false;
  const next = () => node.pod('bad')?.metadata.uid ?? '';
  const isReplaced = () => {
    both ||= running(cluster, uid).length > 0 && next() !== uid && running(cluster, next()).length > 0;
    return next() !== uid && next() !== '' && running(cluster, next()).length === 1 && running(cluster, uid).length === 0;
  };
  t.ok(cluster.runUntil(isReplaced, 2 * minute));
  t.notOk(both, 'never beside it');
  nothingFound(t, cluster);
});

const operations = [
  'podCgroups.ensure',
  'podDirectories.prepare',
  'images.status',
  'images.pull',
  'sandboxes.run',
  'containers.create',
  'containers.start',
  'containers.stop',
  'sandboxes.stop',
  'apiReader.get',
  'apiWriter.patch',
  'apiWriter.delete',
  'runtime.inspectPod',
  'volumeMounts.mount',
  'podVolumes.list',
  'podDirectories.remove',
  'podCgroups.destroy',
  'probing.http',
];

for (const operation of operations) {
  t.test(`at any command about it: ${operation}`, async (t) => {
    const { cluster, deadly } = world({ apiserver: {}, node: {}, runtimeSendsEvents: true });
    const node = cluster.node();
    const api = new ApiWorld(cluster, t);
    const probe = { httpGet: { port: 80, path: '/' }, periodSeconds: 5 };
    const spec = { volumes: [{ name: 'v', emptyDir: {} }] };
    const bad = podOf('bad', { spec, image: 'bad-image' });
    const containers = bad.spec.containers.map((container) => ({ ...container, readinessProbe: probe, volumeMounts: [{ name: 'v', mountPath: '/v' }] }));
    deadly.operation = operation;
    const uid = api.createPod({ ...bad, spec: { ...bad.spec, containers } }, node.name).metadata.uid ?? '';
    deadly.uids.add(uid);
    api.create('good');
    api.untilReady('good');
    cluster.run(minute);
    api.remove('bad');
    cluster.run(5 * minute);
    api.create('later');
    api.untilReady('good', 'later');
    // Each try is one end: few of them in half an hour.
    const { lives } = node;
    cluster.run(30 * minute);
    t.ok(node.lives - lives <= 4, `${node.lives - lives} ends in half an hour`);
    deadly.operation = null;
    if (api.get('bad') !== null) api.untilGone('bad', 7 * hour);
    api.until('nothing is left', () => node.containers(uid).length + node.sandboxes(uid).length === 0 && !node.host.state.podDirectories.has(uid), 7 * hour);
    api.untilReady('good', 'later');
    nothingFound(t, cluster);
    t.comment(`${operation}: struck ${deadly.struck} times`);
  });
}
