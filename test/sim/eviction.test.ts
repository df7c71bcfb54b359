// Evictions in a world with an apiserver: events and the Node's conditions when the disk, the memory or a pod's own limit is exhausted, the order of
// evictions, the reclaims before, and that no other pod is affected.
import type { AgentSettings } from '../../src/domain/agent/settings.js';
import { parseEvictionThresholds } from '../../src/domain/eviction/thresholds.js';
import type { Node } from '../../src/ports/model/node.js';
import type { SimClusterOptions } from '../../src/sim/index.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, type PodShape, second } from './sim-pods.js';

const mebi = 1024 ** 2;
const gibi = 1024 ** 3;

function settings(hard: Record<string, string>, soft: Record<string, { readonly value: string; readonly grace: string }> = {}): AgentSettings['eviction'] {
  const evictionSoft = Object.fromEntries(Object.entries(soft).map(([signal, { value }]) => [signal, value]));
  const evictionSoftGracePeriod = Object.fromEntries(Object.entries(soft).map(([signal, { grace }]) => [signal, grace]));
  const parsed = parseEvictionThresholds({ evictionHard: hard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim: {}, enforceNodeAllocatable: [] });
  if (!parsed.ok) throw new Error(parsed.error);
  return { thresholds: parsed.value, policy: { pressureTransitionPeriod: 5 * minute, maxPodGracePeriodSeconds: 20, localStorageCapacityIsolation: true } };
}

const options = (eviction: AgentSettings['eviction'], more: Partial<SimClusterOptions> = {}): Partial<SimClusterOptions> => ({ ...more, settings: { eviction } });

function uses(world: ApiWorld, name: string, used: { memoryBytes?: number; rootfsBytes?: number; volumes?: Record<string, number> }): void {
  const uid = world.get(name)?.metadata.uid ?? '';
  world.node.host.state.usage.pods.set(uid, { memoryBytes: used.memoryBytes ?? 0, rootfsBytes: used.rootfsBytes ?? 0, volumes: used.volumes ?? {} });
}

function pressure(world: ApiWorld, type: string): string | undefined {
  const { body } = world.ask('get', { resource: { group: '', version: 'v1', plural: 'nodes' }, namespace: null, name: world.node.name });
  return (body as unknown as Node).status?.conditions?.find((condition) => condition.type === type)?.status;
}

const events = (world: ApiWorld, name: string): string[] =>
  [...world.cluster.apiserver.store.all('events')].flatMap((event) => {
    const { involvedObject, type, reason, message } = event as unknown as { involvedObject: { name: string }; type: string; reason: string; message: string };
    return involvedObject.name === name && ['Evicted', 'EvictionThresholdMet'].includes(reason) ? [`${type} ${reason} ${message}`] : [];
  });

const disruption = (world: ApiWorld, name: string) => world.status(name).conditions?.find(({ type }) => type === 'DisruptionTarget');
const running = (world: ApiWorld, ...names: readonly string[]): string[] => names.filter((name) => world.status(name).phase === 'Running');

const scratch: PodShape = { spec: { volumes: [{ name: 'v', emptyDir: { sizeLimit: '10Mi' } }] } };

scene(
  'a volume beyond its size limit costs its pod, and no other',
  (world, t) => {
    world.create('a', scratch);
    world.create('b', scratch);
    world.untilReady('a', 'b');
    uses(world, 'b', { volumes: { v: 10 * mebi } });
    uses(world, 'a', { volumes: { v: 10 * mebi + 1 } });
    world.until('a has failed', () => world.status('a').phase === 'Failed', 30 * second);
    const message = 'Usage of EmptyDir volume "v" exceeds the limit "10Mi". ';
    t.match(world.status('a'), { reason: 'Evicted', message });
    t.equal(disruption(world, 'a'), undefined, 'nobody else wanted it gone');
    t.strictSame(events(world, 'a'), [`Warning Evicted ${message}`]);
    world.run(2 * minute);
    t.strictSame([world.node.containers(world.get('a')?.metadata.uid).length, world.node.sandboxes(world.get('a')?.metadata.uid).length], [0, 0], 'nothing of it is left');
    t.strictSame([...(world.node.host.state.podDirectories.get(world.get('a')?.metadata.uid ?? '')?.volumes.keys() ?? [])], [], 'what it had written is gone');
    t.strictSame(running(world, 'a', 'b'), ['b']);
    t.equal(pressure(world, 'DiskPressure'), 'False');
  },
  options(settings({})),
);

scene(
  'memory that is short: the one that is most above its request goes, and none of its kind comes until five minutes after',
  (world, t) => {
    world.create('greedy', {});
    world.create('modest', { spec: { containers: [{ name: 'c', image: 'busybox', resources: { requests: { memory: '8Gi' } } }] } });
    world.untilReady('greedy', 'modest');
    world.run(minute);
    t.equal(pressure(world, 'MemoryPressure'), 'False');
    uses(world, 'greedy', { memoryBytes: 7 * gibi });
    uses(world, 'modest', { memoryBytes: 7.5 * gibi });
    world.until('greedy has failed', () => world.status('greedy').phase === 'Failed', 30 * second);
    const message = world.status('greedy').message ?? '';
    t.match(
      message,
      /^The node was low on resource: memory\. Threshold quantity: 1Gi, available: 512Mi\. Container c was using 7Gi, request is 0, has larger consumption of memory\. $/,
    );
    t.match(disruption(world, 'greedy'), { status: 'True', reason: 'TerminationByKubelet', message });
    t.strictSame(events(world, 'greedy'), [`Warning Evicted ${message}`]);
    t.strictSame(events(world, world.node.name), ['Warning EvictionThresholdMet Attempting to reclaim memory']);
    world.until('the Node says so', () => pressure(world, 'MemoryPressure') === 'True', 30 * second);
    world.create('late', {});
    world.until('late is refused', () => world.status('late').phase === 'Failed', 30 * second);
    t.match(world.status('late'), { reason: 'Evicted', message: 'Pod was rejected: The node had condition: [MemoryPressure]. ' });
    world.create('sure', { spec: { containers: [{ name: 'c', image: 'busybox', resources: { requests: { memory: '1Gi' } } }] } });
    world.untilReady('sure');
    world.until('the condition lingers, and ends', () => pressure(world, 'MemoryPressure') === 'False', 6 * minute);
    world.create('later', {});
    world.untilReady('later');
    t.strictSame(running(world, 'greedy', 'modest', 'sure', 'late', 'later'), ['modest', 'sure', 'later']);
  },
  options(settings({ 'memory.available': '1Gi' })),
);

scene(
  'a disk that is full: unused images go first, and where that is enough no pod does',
  (world, t) => {
    world.create('a', {});
    world.untilReady('a');
    world.run(3 * minute);
    const { disk } = world.node.host.state;
    const unused = [...world.node.runtime.state.images.values()].length;
    disk.capacityBytes = 100 * gibi;
    disk.otherBytes = 91 * gibi - world.node.runtime.images.bytes();
    world.until('the disk is cleaned', () => [...world.node.runtime.state.images.values()].length < unused, 30 * second);
    world.run(2 * minute);
    t.strictSame(running(world, 'a'), ['a']);
    t.strictSame(events(world, world.node.name), ['Warning EvictionThresholdMet Attempting to reclaim ephemeral-storage']);
    t.equal(pressure(world, 'DiskPressure'), 'True', 'it lingers');
  },
  options(settings({ 'nodefs.available': '10%' }), { runtime: { images: [{ reference: 'r.io/unused:1', sizeBytes: 2 * gibi, present: true }] } }),
);

scene(
  'a disk that stays full: one pod after the other, the largest first, until there is room',
  (world, t) => {
    const names = ['small', 'large', 'middle'];
    for (const name of names) world.create(name, {});
    world.untilReady(...names);
    const { disk } = world.node.host.state;
    uses(world, 'small', { rootfsBytes: 1 * gibi });
    uses(world, 'middle', { rootfsBytes: 2 * gibi });
    uses(world, 'large', { rootfsBytes: 3 * gibi });
    disk.capacityBytes = 100 * gibi;
    // Six of them are the pods': more than ten per cent are free when large and middle are gone, and not before.
    disk.otherBytes = 88 * gibi;
    world.until('large has failed', () => world.status('large').phase === 'Failed', 30 * second);
    t.strictSame(running(world, ...names), ['small', 'middle'], 'one at a time');
    world.until('middle has failed', () => world.status('middle').phase === 'Failed', 30 * second);
    world.run(3 * minute);
    t.strictSame(running(world, ...names), ['small']);
    const [first = '', larger] = (world.status('large').message ?? '').split('. Container ');
    t.match(first, /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+, available: \d+$/);
    t.equal(larger, 'c was using 3Gi, request is 0, has larger consumption of ephemeral-storage. ');
  },
  options(settings({ 'nodefs.available': '10%' })),
);

scene(
  'a soft threshold: the Node says so at once, the pod goes when its time is over, with a grace of its own',
  (world, t) => {
    world.create('a', {});
    world.untilReady('a');
    uses(world, 'a', { memoryBytes: 14.5 * gibi });
    world.until('the Node says so', () => pressure(world, 'MemoryPressure') === 'True', 30 * second);
    t.strictSame(running(world, 'a'), ['a']);
    const since = world.cluster.now;
    world.until('a has failed', () => world.status('a').phase === 'Failed', 3 * minute);
    t.ok(world.cluster.now - since > 60 * second, 'not before its grace period is over');
  },
  options(settings({}, { 'memory.available': { value: '1Gi', grace: '90s' } })),
);

scene(
  'a node that can not be measured evicts nobody; once it can, it does',
  (world, t) => {
    world.create('a', scratch);
    world.untilReady('a');
    world.node.setFaults([{ operation: 'nodeStats.summary', trigger: {}, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'planned' } }]);
    uses(world, 'a', { volumes: { v: 20 * mebi } });
    world.run(5 * minute);
    t.strictSame(running(world, 'a'), ['a']);
    const asked = world.node.model.performed.get('nodeStats.summary') ?? 0;
    t.ok(asked >= 25 && asked <= 40, `${asked} looks in five minutes`);
    world.node.setFaults([]);
    world.until('a has failed', () => world.status('a').phase === 'Failed', 30 * second);
  },
  options(settings({})),
);

for (const unread of ['fs', 'runtime', 'rlimit'] as const)
  scene(
    `memory runs out, and ${unread} can not be read: a pod is evicted`,
    (world) => {
      world.create('a');
      world.untilReady('a');
      world.node.host.state.usage.unread.add(unread);
      uses(world, 'a', { memoryBytes: 1000 * gibi });
      world.until('a has failed', () => world.status('a').phase === 'Failed', 30 * second);
    },
    options(settings({ 'memory.available': '100Mi', 'nodefs.available': '5%' })),
  );

scene(
  'pressure lasts while its signal can not be read',
  (world, t) => {
    const { disk, usage } = world.node.host.state;
    disk.otherBytes = 97 * gibi;
    world.until('the node says so', () => pressure(world, 'DiskPressure') === 'True', minute);
    usage.unread.add('fs');
    disk.otherBytes = 10 * gibi;
    world.run(15 * minute);
    t.equal(pressure(world, 'DiskPressure'), 'True');
    usage.unread.clear();
    world.until('it is relieved', () => pressure(world, 'DiskPressure') === 'False', 7 * minute);
  },
  options(settings({ 'nodefs.available': '5%' })),
);

scene(
  'a pod that can not be killed does not keep the next one',
  (world, t) => {
    world.create('stuck', scratch);
    world.create('other', scratch);
    world.untilReady('stuck', 'other');
    world.node.setFaults([{ operation: 'containers.stop', trigger: { times: 1 }, action: { kind: 'hang', moment: 'before' } }]);
    uses(world, 'stuck', { volumes: { v: 20 * mebi } });
    world.run(15 * second);
    uses(world, 'other', { volumes: { v: 20 * mebi } });
    world.until('other has failed', () => world.status('other').phase === 'Failed', 90 * second);
    world.until('stuck has, in the end', () => world.status('stuck').phase === 'Failed', 5 * minute);
    t.strictSame(running(world, 'stuck', 'other'), []);
  },
  options(settings({})),
);

scene(
  'a round for a shortage that takes long puts the usual ones off, and no longer',
  (world, t) => {
    world.create('a', { policy: 'Never', containers: { c: 'run=1s' } });
    world.until('a has ended', () => world.status('a').phase === 'Succeeded', 30 * second);
    const action = { kind: 'delay', moment: 'after', micros: 100 * second } as const;
    world.node.setFaults([
      { operation: 'podLogs.listDirectories', trigger: { times: 1 }, action },
      { operation: 'images.remove', trigger: {}, action },
    ]);
    const { disk } = world.node.host.state;
    disk.otherBytes = 97 * gibi;
    world.run(9 * minute);
    world.node.setFaults([]);
    // Too full for unused images, and not for pods.
    disk.otherBytes = 90 * gibi;
    world.run(5 * minute);
    world.create('b', { policy: 'Never', image: 'fresh:1', containers: { c: 'run=1s' } });
    const uid = world.get('b')?.metadata.uid;
    world.until('b has ended', () => world.status('b').phase === 'Succeeded', 30 * second);
    world.remove('b');
    world.run(20 * minute);
    t.strictSame([world.node.containers(uid).length, world.node.sandboxes(uid).length], [0, 0], 'containers are collected as ever');
    t.strictSame(
      [...world.node.runtime.state.images.values()].flatMap(({ repoTags }) => repoTags).filter((tag) => tag.includes('fresh')),
      [],
      'and images',
    );
  },
  options(settings({ 'nodefs.available': '5%' }), {
    runtime: { images: [1, 2, 3, 4, 5].map((n) => ({ reference: `r.io/unused:${n}`, sizeBytes: 1_000_000, present: true })) },
  }),
);
