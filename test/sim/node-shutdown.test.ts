// Node shutdown in a world with an apiserver: events and conditions, the order and the grace periods of pods, refusals meanwhile, the release of
// the lock; a cancelled shutdown; and an agent that is killed, or starts, in the middle of one.
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { SimClusterOptions } from '../../src/sim/index.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, type PodShape, podOf, second } from './sim-pods.js';

const message = 'Pod was terminated in response to imminent node shutdown.';
const groups = [
  { priority: 0, shutdownGracePeriodSeconds: 20 },
  { priority: 1000, shutdownGracePeriodSeconds: 0 },
  { priority: 2_000_000_000, shutdownGracePeriodSeconds: 10 },
];
const options: Partial<SimClusterOptions> = { settings: { shutdownPriorities: groups } };
const critical: PodShape = { spec: { priorityClassName: 'system-cluster-critical' } };

function ready(world: ApiWorld): { readonly status?: string; readonly reason?: string; readonly message?: string } {
  const { body } = world.ask('get', { resource: { group: '', version: 'v1', plural: 'nodes' }, namespace: null, name: world.node.name });
  return (body as unknown as Node).status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
}

const nodeEvents = (world: ApiWorld): string[] =>
  world.node
    .events(world.node.name)
    .filter(({ record }) => record.reason === 'Shutdown')
    .map(({ record }) => `${record.type} ${record.message}`);

const init = (world: ApiWorld) => world.node.host.state.shutdown;
const failedAt = (world: ApiWorld, name: string): number => world.seen.find(({ pod }) => pod.metadata.name === name && pod.status?.phase === 'Failed')?.at ?? Number.NaN;
const times = (world: ApiWorld): { readonly startTime: string; readonly endTime: string } => JSON.parse(init(world).record ?? '{}');

scene(
  'static pods of a built-in priority class end with the critical pods, though no apiserver has resolved their class',
  (world, t) => {
    const classes = { plain: {}, cluster: { priorityClassName: 'system-cluster-critical' }, node: { priorityClassName: 'system-node-critical' } };
    for (const [name, spec] of Object.entries(classes)) world.node.put(`${name}.yaml`, podOf(name, { grace: 3, spec }));
    world.create('stubborn', { grace: 15, containers: { c: 'ignore-term' } });
    world.untilReady('stubborn', 'plain-node', 'cluster-node', 'node-node');
    world.node.announceShutdown(true);
    const running = (name: string): boolean => world.node.containers(world.node.pod(name)?.metadata.uid).some(({ state }) => state === 'running');
    world.until('the plain one has ended', () => !running('plain'), 10 * second);
    world.run(5 * second);
    t.strictSame([running('cluster'), running('node')], [true, true], 'their turn is later');
    world.until('all have ended', () => !running('cluster') && !running('node'), minute);
  },
  options,
);

scene(
  'a node goes down: the others end before the critical ones, each with the time of its group, and init goes on then',
  (world, t) => {
    world.create('quick', { grace: 5 });
    world.create('stubborn', { grace: 60, containers: { c: 'ignore-term' } });
    world.create('dns', { ...critical, grace: 3 });
    world.createPod({ metadata: { name: 'done', namespace: 'default' }, spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox' }] } } as Pod, world.node.name);
    world.untilReady('quick', 'stubborn', 'dns');
    world.run(minute);
    t.strictSame([init(world).isLocked, ready(world).status], [true, 'True'], 'init waits for us');
    const begun = world.cluster.now;
    world.node.announceShutdown(true);
    world.until('the Node says so', () => ready(world).status === 'False', 2 * second);
    t.match(ready(world), { reason: 'KubeletNotReady', message: 'node is shutting down' });
    t.strictSame(nodeEvents(world), ['Normal Shutdown manager detected shutdown event']);
    world.create('late', {});
    world.until('late is refused', () => world.status('late').phase === 'Failed', 5 * second);
    t.match(world.status('late'), { reason: 'NodeShutdown', message: 'Pod was rejected: Pod was rejected as the node is shutting down.' });
    world.until('quick has ended', () => world.status('quick').phase === 'Failed', 10 * second);
    t.match(world.status('quick'), { reason: 'Terminated', message });
    t.match(
      world.status('quick').conditions?.find(({ type }) => type === 'DisruptionTarget'),
      { status: 'True', reason: 'TerminationByKubelet', message },
    );
    t.equal(world.status('dns').phase, 'Running', 'its turn is later');
    t.ok(init(world).isLocked, 'init waits');
    world.until('all have ended', () => !init(world).isLocked, minute);
    t.match([world.status('stubborn').phase, world.status('dns').phase, world.status('dns').reason], ['Failed', 'Failed', 'Terminated']);
    t.ok(failedAt(world, 'dns') > failedAt(world, 'stubborn') || failedAt(world, 'dns') - begun >= 20 * second, 'the critical ones go last');
    t.ok(failedAt(world, 'stubborn') - begun < 25 * second, 'no pod has more time than its group');
    t.ok(world.cluster.now - begun < 31 * second, 'and all of it is no longer than the groups are');
    t.equal(world.running(undefined), 0);
    t.ok(times(world).endTime > times(world).startTime, 'the record has both times');
    t.strictSame(nodeEvents(world).length, 1);
  },
  options,
);

scene(
  'a shutdown that is called off: the lock is taken again, pods are let in again, and who has not been told goes on',
  (world, t) => {
    world.create('slow', { grace: 60, containers: { c: 'ignore-term' } });
    world.create('dns', critical);
    world.untilReady('slow', 'dns');
    world.node.announceShutdown(true);
    world.run(5 * second);
    world.node.announceShutdown(false);
    world.run(second);
    t.strictSame([init(world).isLocked, nodeEvents(world).at(-1)], [true, 'Normal Shutdown manager detected shutdown cancellation']);
    world.until('the Node is ready again', () => ready(world).status === 'True', 15 * second);
    world.create('next', {});
    world.untilReady('next');
    world.run(minute);
    t.strictSame([world.status('slow').phase, world.status('dns').phase], ['Failed', 'Running'], 'who was told to end ends');
    world.node.announceShutdown(true);
    world.until('the next one is one', () => !init(world).isLocked, minute);
    t.strictSame([world.status('dns').phase, world.status('next').phase], ['Failed', 'Failed']);
  },
  options,
);

scene(
  'an agent that is killed in the middle: the next one finds that the node goes down, and ends what is left',
  (world, t) => {
    world.create('slow', { grace: 60, containers: { c: 'ignore-term' } });
    world.create('dns', { ...critical, grace: 3 });
    world.untilReady('slow', 'dns');
    world.node.announceShutdown(true);
    world.run(2 * second);
    init(world).isLocked = false;
    world.node.start();
    world.until('all have ended', () => world.status('slow').phase === 'Failed' && world.status('dns').phase === 'Failed', 2 * minute);
    t.equal(world.running(undefined), 0);
  },
  options,
);

scene(
  'the way to init goes, and comes back: the lock is taken again',
  (world, t) => {
    world.create('a', {});
    world.untilReady('a');
    init(world).isPresent = false;
    init(world).isLocked = false;
    world.node.send({ type: 'shutdown-signals-lost' });
    world.run(10 * second);
    t.notOk(init(world).isLocked);
    init(world).isPresent = true;
    world.run(2 * second);
    t.ok(init(world).isLocked);
    world.node.announceShutdown(true);
    world.until('a has ended', () => world.status('a').phase === 'Failed', minute);
  },
  options,
);

scene(
  'an init that won’t wait for so long at the start: nothing is managed, and pods are let in',
  (world, t) => {
    init(world).delaySecondsMax = 5;
    init(world).isLocked = false;
    world.node.start();
    world.run(5 * second);
    t.strictSame([init(world).isLocked, world.node.agent.shutdown.manager.phase], [false, 'failed']);
    world.node.announceShutdown(true);
    world.create('a', {});
    world.untilReady('a');
    t.strictSame(nodeEvents(world), []);
  },
  options,
);
