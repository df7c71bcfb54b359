// A node on which another kubelet ran: its pods in the runtime, on disk and in cgroups are taken over, and no container with an
// unchanged spec is touched. The fixture is written from a Go kubelet's traces (labels, annotations, names), with nothing of this agent's own.
import t from 'tap';
import { isOwnGeneratedUid } from '../../src/domain/values/generated-uid.js';
import { SimCluster, type SimClusterNode } from '../../src/sim/index.js';
import { goContainerHash, goContainerMetadata, goSandboxMetadata } from '../go-kubelet-fixture.js';
import { minute, podOf, second } from './sim-pods.js';

const goUid = '6287591835d55682e8af25e213704261';
const fixedUid = '6f1d0a52-3c5e-4b6e-8a57-000000000001';

interface Left {
  readonly sandboxId: string;
  readonly containers: Readonly<Record<string, string>>;
}

/** A Go kubelet's traces of a running pod, with restart count 3. */
function leave(node: SimClusterNode, now: number, name: string, uid: string, containers: readonly string[], image = 'busybox'): Left {
  const pod = { name: `${name}-${node.name}`, namespace: 'default', uid };
  const ask = (op: string, request: object): never => {
    const { outcome } = node.runtime.handle(op as never, request as never, now);
    if (!outcome.ok) throw new Error(outcome.error.message);
    return outcome.value as never;
  };
  const sandboxConfig = { metadata: { ...pod, attempt: 0 }, hostname: pod.name, logDirectory: `/var/log/pods/default_${pod.name}_${uid}`, ...goSandboxMetadata(pod) };
  ask('images.pull', { image: { image }, credentials: null, sandboxConfig: null });
  node.runtime.advance(now);
  const { sandboxId } = ask('sandboxes.run', { config: sandboxConfig, runtimeHandler: '' }) as { sandboxId: string };
  const ids: Record<string, string> = {};
  for (const container of containers) {
    const config = {
      metadata: { name: container, attempt: 3 },
      image: { image },
      logPath: `${container}/3.log`,
      linux: {},
      ...goContainerMetadata(pod, { name: container, image, restartCount: 3, gracePeriodSeconds: 5 }),
    };
    const { containerId } = ask('containers.create', { sandboxId, config, sandboxConfig }) as { containerId: string };
    ask('containers.start', { containerId });
    ids[container] = containerId;
  }
  node.host.models.podDirectories.prepare({ uid });
  node.host.models.podCgroups.ensure({ name: ['kubepods', 'besteffort', `pod${uid}`], values: null, rewrite: false });
  return { sandboxId, containers: ids };
}

/** A cluster whose agent has not begun, with an image there. */
function beginning(runtimeSendsEvents: boolean): { readonly cluster: SimCluster; readonly node: SimClusterNode } {
  const images = [{ reference: 'docker.io/library/busybox:latest', sizeBytes: 1, present: true }];
  const cluster = new SimCluster({ seed: 5, runtimeSendsEvents, runtime: { images, registry: 'listed' } });
  const node = cluster.node();
  node.kill();
  return { cluster, node };
}

const two = { containers: { one: 'run=forever', two: 'run=forever' } };
const running = (node: SimClusterNode) =>
  node
    .containers()
    .filter(({ state }) => state === 'running')
    .map(({ id }) => id)
    .sort();

t.equal(goContainerHash('test_container', 'foo/image:v1'), '8e45cbd0', 'the fixture hashes as the reference does');
t.notOk(isOwnGeneratedUid(goUid));

for (const tells of [false, true]) {
  const how = tells ? 'told of changes' : 'looking for them';
  t.test(`a static pod whose UID the other kubelet made, ${how}`, async (t) => {
    const { cluster, node } = beginning(tells);
    const left = leave(node, cluster.now, 'a', goUid, ['one', 'two']);
    const before = running(node);
    node.put('a.yaml', podOf('a', two));
    node.start();
    cluster.run(3 * minute);
    t.strictSame(running(node), before, 'the same containers run');
    t.equal(node.containers().length, 2, 'and no other was made');
    t.equal(node.pod('a')?.metadata.uid, goUid);
    t.match(node.pod('a')?.metadata.annotations, { 'kubernetes.io/config.hash': goUid });
    t.match(node.status('a'), { phase: 'Running', containerStatuses: [{ name: 'one', restartCount: 3, ready: true }, { restartCount: 3 }] });
    t.ok(
      node.events('a').every(({ record }) => record.type === 'Normal' && !['Killing', 'Created', 'Started'].includes(record.reason)),
      'nothing was done to it',
    );
    t.strictSame([...node.host.state.podDirectories.keys()], [goUid]);

    node.start();
    cluster.run(3 * minute);
    t.strictSame(running(node), before, 'nor after a restart of this agent');
    node.runtime.killContainer(left.containers.one ?? '', cluster.now);
    cluster.run(30 * second);
    t.match(node.status('a'), { containerStatuses: [{ name: 'one', restartCount: 4, state: { running: {} } }, { restartCount: 3 }] });

    node.put('a.yaml', podOf('a', { ...two, env: '2' }));
    cluster.run(2 * minute);
    const uid = node.pod('a')?.metadata.uid ?? '';
    t.ok(isOwnGeneratedUid(uid), 'a changed manifest is another pod');
    t.ok(node.containers().every(({ podUid, state }) => podUid === uid || state !== 'running'));
    t.equal(running(node).length, 2);
    t.strictSame(cluster.violations, []);
  });

  t.test(`a pod with a UID of its own, ${how}`, async (t) => {
    const { cluster, node } = beginning(tells);
    leave(node, cluster.now, 'b', fixedUid, ['one', 'two']);
    const before = running(node);
    node.put('b.yaml', podOf('b', { ...two, uid: fixedUid }));
    node.start();
    cluster.run(3 * minute);
    t.strictSame(running(node), before);
    t.equal(node.containers().length, 2);
    t.strictSame(cluster.violations, []);
  });

  t.test(`what is not the same is replaced, one after the other, ${how}`, async (t) => {
    const { cluster, node } = beginning(tells);
    leave(node, cluster.now, 'a', goUid, ['one', 'two'], 'docker.io/library/busybox:latest');
    node.put('a.yaml', podOf('a', two));
    node.start();
    cluster.run(2 * minute);
    t.not(node.pod('a')?.metadata.uid, goUid, 'another image');
    t.equal(running(node).length, 2);
    t.ok(node.containers().every(({ podUid, state }) => podUid !== goUid || state !== 'running'));
    t.strictSame(cluster.violations, []);
  });

  t.test(`a runtime that can not tell at first costs nobody a container, ${how}`, async (t) => {
    const { cluster, node } = beginning(tells);
    leave(node, cluster.now, 'a', goUid, ['one', 'two']);
    const before = running(node);
    node.put('a.yaml', podOf('a', two));
    node.setFaults([{ operation: 'runtime.inspectPod', trigger: { untilMicros: 20 * second }, action: { kind: 'error', moment: 'before', error: 'unknown', message: 'busy' } }]);
    node.start();
    cluster.run(15 * second);
    t.equal(node.pod('a'), null, 'it waits');
    cluster.run(tells ? 6 * minute : minute);
    t.equal(node.pod('a')?.metadata.uid, goUid);
    t.strictSame(running(node), before);
  });
}

t.test("this agent's own pods are not another kubelet's", async (t) => {
  const cluster = new SimCluster({ seed: 6 });
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { ...two, env: '1' }));
  cluster.run(30 * second);
  const uid = node.pod('a')?.metadata.uid ?? '';
  t.ok(isOwnGeneratedUid(uid));
  node.kill();
  node.put('a.yaml', podOf('a', { ...two, env: '2' }));
  node.start();
  cluster.run(2 * minute);
  t.not(node.pod('a')?.metadata.uid, uid, 'a manifest that changed while it was away is another pod, although its containers have the same hash');
});

for (const tells of [false, true]) {
  t.test(`an inspection that hangs holds up the static pod of that name alone, ${tells ? 'told of changes' : 'looking for them'}`, async (t) => {
    const { cluster, node } = beginning(tells);
    leave(node, cluster.now, 'a', goUid, ['one', 'two']);
    const before = running(node);
    node.put('a.yaml', podOf('a', two));
    node.put('b.yaml', podOf('b'));
    node.setFaults([{ operation: 'runtime.inspectPod', trigger: { nth: 1 }, action: { kind: 'hang', moment: 'before' } }]);
    node.start();
    t.ok(
      cluster.runUntil(() => node.status('b')?.phase === 'Running', 10 * second),
      'the other pod of the source runs',
    );
    t.equal(node.pod('a'), null, 'it waits');
    node.put('c.yaml', podOf('c'));
    t.ok(
      cluster.runUntil(() => node.status('c')?.phase === 'Running', 40 * second),
      'so does one that comes meanwhile',
    );
    cluster.run(10 * second);
    t.equal(node.pod('a'), null, 'it still waits');
    t.ok(
      before.every((id) => running(node).includes(id)),
      'what runs under its name runs on',
    );
    cluster.run(4 * minute);
    t.equal(node.pod('a')?.metadata.uid, goUid, 'it is taken over');
    t.ok(
      before.every((id) => running(node).includes(id)),
      'as it ran',
    );
    t.equal(node.containers(goUid).length, 2);
  });
}
