// Pods in user namespaces of their own: which ids they get, that they keep them, and that kills, faults and files of others don't mix them up.
import t from 'tap';
import { writeUserNamespace } from '../../src/domain/checkpoints/small-state-files.js';
import { draw, streamOf } from '../../src/domain/kernel/random.js';
import type { UserNamespaceOptions } from '../../src/ports/model/sandbox-config.js';
import { SimCluster, type SimClusterNode } from '../../src/sim/index.js';
import { scenario } from './scenario.js';
import { minute, ms, podOf, second } from './sim-pods.js';

t.setTimeout(300_000);

const unit = 65_536;
const apart = (uid: string, containers: Record<string, string> = { c: 'run=forever' }) => podOf(uid, { uid, containers, spec: { hostUsers: false } });

function optionsOf(node: SimClusterNode, uid: string): UserNamespaceOptions[] {
  const found = [...node.runtime.state.sandboxes.values()].filter(({ config }) => config.metadata.uid === uid);
  return found.flatMap(({ config }) => config.linux?.securityContext?.namespaceOptions?.usernsOptions ?? []);
}

function hostIdOf(node: SimClusterNode, uid: string): number | null {
  return optionsOf(node, uid).at(-1)?.uids?.[0]?.hostId ?? null;
}

const fileOf = (node: SimClusterNode, uid: string) => node.host.state.podDirectories.get(uid)?.userNamespace;
const messages = (node: SimClusterNode, name: string) => node.events(name).map(({ record: { reason, message } }) => `${reason} ${message}`);

scenario('two pods get ids apart, on disk before anything is made with them, in sandbox, container and mounts', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', apart('a'));
  node.put('b.yaml', apart('b'));
  node.put('n.yaml', podOf('n', { uid: 'n' }));
  for (const name of ['a', 'b', 'n']) stage.untilPhase(name, 'Running', minute);
  const [a, b] = [hostIdOf(node, 'a') ?? 0, hostIdOf(node, 'b') ?? 0];
  t.ok(a >= unit && b >= unit && a !== b && a % unit === 0);
  t.equal(fileOf(node, 'a'), writeUserNamespace(a, unit), 'as the reference writes it');
  const ids = [{ hostId: a, containerId: 0, length: unit }];
  t.strictSame(optionsOf(node, 'a'), [{ mode: 'POD', uids: ids, gids: ids }]);
  const [container] = [...node.runtime.state.containers.values()].filter(({ podUid }) => podUid === 'a');
  t.strictSame(container?.config.linux?.securityContext?.namespaceOptions?.usernsOptions, { mode: 'POD', uids: ids, gids: ids });
  t.ok((container?.config.mounts ?? []).length > 0);
  for (const mount of container?.config.mounts ?? []) t.match(mount, { uidMappings: ids, gidMappings: ids });
  t.strictSame(optionsOf(node, 'n'), [{ mode: 'NODE' }]);
  t.equal(fileOf(node, 'n'), null);

  node.remove('a.yaml');
  stage.until('its directory is gone, and its ids with it', () => !node.host.state.podDirectories.has('a') && !node.agent.userNamespaces.ranges.has('a'), 5 * minute);
});

scenario('a new sandbox of the pod has the same ids, and so has a container that starts again', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', apart('a', { c: 'run=20s,exit=1;run=forever' }));
  stage.untilPhase('a', 'Running', minute);
  const first = hostIdOf(node, 'a');
  stage.until('it was started again', () => node.containers('a').length > 1 && stage.running('a').length === 1, 2 * minute);
  const [sandbox] = node.sandboxes('a').filter(({ state }) => state === 'ready');
  node.runtime.handle('sandboxes.stop', { sandboxId: sandbox?.id ?? '' }, stage.cluster.now);
  stage.until('it has a new sandbox', () => node.sandboxes('a').some(({ id, state }) => state === 'ready' && id !== sandbox?.id), 2 * minute);
  t.ok(optionsOf(node, 'a').length >= 2);
  t.strictSame([...new Set(optionsOf(node, 'a').map(({ uids }) => uids?.[0]?.hostId))], [first]);
});

scenario(
  'a range that is enough for two pods: the third waits, and is told why, until one has gone',
  { settings: { userNamespaces: { idsPerPod: unit, firstId: unit, slots: 2 } } },
  (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', apart('a'));
    node.put('b.yaml', apart('b'));
    for (const name of ['a', 'b']) stage.untilPhase(name, 'Running', minute);
    node.put('x.yaml', apart('x'));
    stage.run(30 * second);
    t.match(node.status('x'), { phase: 'Pending' });
    const text = 'FailedCreatePodSandBox Failed to create pod sandbox: create user namespace: could not find an empty slot to allocate a user namespace';
    t.ok(messages(node, 'x').includes(text), messages(node, 'x').join(' | '));
    const freed = hostIdOf(node, 'a');
    node.remove('a.yaml');
    stage.untilPhase('x', 'Running', 10 * minute);
    t.equal(hostIdOf(node, 'x'), freed);
  },
);

scenario(
  'files of a kubelet before this one: a good one counts, a bad one keeps new pods waiting until its pod is gone',
  { settings: { userNamespaces: { idsPerPod: unit, firstId: unit, slots: 3 } } },
  (stage) => {
    const { t, node } = stage;
    const directories = node.host.models.podDirectories;
    directories.writeUserNamespace({
      uid: 'a',
      text: '{"uidMappings":[{"hostId":131072,"containerId":0,"length":65536}],"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}',
    });
    directories.writeUserNamespace({ uid: 'gone', text: '{"uidMap' });
    directories.mount('gone', 'volumes/x', true);
    node.put('a.yaml', apart('a'));
    node.put('b.yaml', apart('b'));
    stage.untilPhase('a', 'Running', minute);
    t.equal(hostIdOf(node, 'a'), 2 * unit);
    stage.run(20 * second);
    t.match(node.status('b'), { phase: 'Pending' });
    t.ok(messages(node, 'b').some((text) => text.includes('create user namespace: the range of pod "gone" is unknown: ')));
    directories.mount('gone', 'volumes/x', false);
    stage.untilPhase('b', 'Running', 10 * minute);
    t.not(hostIdOf(node, 'b'), 2 * unit);
  },
);

/** From now on. */
function betweenFileAndSandbox(origin: SimCluster, uids: readonly string[]): number {
  const fork = origin.fork();
  const isBetween = (): boolean => uids.some((uid) => fileOf(fork.node(), uid) != null && hostIdOf(fork.node(), uid) === null);
  for (let after = 0; after < 3 * second; after += 100) {
    fork.world.runUntil(origin.now + after);
    if (isBetween()) return after;
  }
  throw new Error('no pod has its file before its sandbox');
}

t.test('killed at 60 moments, among them between the file and the sandbox: everyone has ids of its own, and those that ran keep theirs', async (t) => {
  const origin = new SimCluster({ seed: 5, settings: { userNamespaces: { idsPerPod: unit, firstId: unit, slots: 4 } } });
  const uids = ['a', 'b', 'c'];
  for (const uid of uids) origin.node().put(`${uid}.yaml`, apart(uid));
  const begun = origin.now;
  const drawn = Array.from({ length: 59 }, (_, i) => Math.floor(draw(streamOf(3, 'kill', ''), i) ** 8 * 3 * second));
  const moments = [...drawn, betweenFileAndSandbox(origin, uids)].sort((x, y) => x - y);
  const met = new Set<string>();
  for (const moment of moments) {
    origin.world.runUntil(begun + moment);
    const fork = origin.fork();
    const before = new Map(uids.map((uid) => [uid, hostIdOf(fork.node(), uid)]));
    for (const uid of uids) met.add(`${fileOf(fork.node(), uid) == null ? 'no file' : 'file'}, ${before.get(uid) === null ? 'no sandbox' : 'sandbox'}`);
    fork.node().kill();
    fork.run(100 * ms);
    fork.node().start();
    fork.node().put('d.yaml', apart('d'));
    fork.run(2 * minute);
    const after = [...uids, 'd'].map((uid) => hostIdOf(fork.node(), uid));
    t.equal(new Set(after).size, 4, `killed after ${moment / second} s: ${after.join(' ')}`);
    t.notOk(after.includes(null));
    for (const [uid, id] of before) if (id !== null) t.equal(hostIdOf(fork.node(), uid), id, 'what ran keeps its ids');
    for (const uid of uids) t.equal(fileOf(fork.node(), uid), writeUserNamespace(hostIdOf(fork.node(), uid) ?? 0, unit));
    t.strictSame(fork.violations, []);
  }
  t.strictSame([...met].sort(), ['file, no sandbox', 'file, sandbox', 'no file, no sandbox'], 'each of these was met');
});

t.test('reads and writes that fail, hang or whose answers are lost: it converges, nothing is shared', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const faults = ['podDirectories.writeUserNamespace', 'podDirectories.readUserNamespaces', 'sandboxes.run'].flatMap((operation) =>
      (['before', 'after'] as const).map((moment) => {
        return { operation, trigger: { probability: 0.3, untilMicros: 20 * second }, action: { kind: 'error' as const, moment, error: 'unavailable' as const, message: 'no' } };
      }),
    );
    const cluster = new SimCluster({ seed, faults, settings: { userNamespaces: { idsPerPod: unit, firstId: unit, slots: 3 } } });
    const node = cluster.node();
    for (const uid of ['a', 'b', 'c']) node.put(`${uid}.yaml`, apart(uid));
    cluster.run(30 * second);
    node.kill();
    cluster.run(second);
    node.start();
    const ok = cluster.runUntil(() => ['a', 'b', 'c'].every((uid) => node.status(uid)?.phase === 'Running'), 30 * minute);
    t.ok(ok, `seed ${seed} converges`);
    t.strictSame(cluster.violations, [], `seed ${seed}`);
  }
});
