// Devices beyond the vectors: allocations that overlap, answers that come late, restarts, health of what is used again.
import t from 'tap';
import type { ContainerAllocateResponse } from '../../src/domain/checkpoints/allocate-response.js';
import { answerPluginCall, beginAllocation, beginPreparation, deviceHintProvider, deviceRunOptions } from '../../src/domain/device-manager/allocate-devices.js';
import { deviceContainerHints, devicePodHints } from '../../src/domain/device-manager/device-hints.js';
import {
  collectStaleDevices,
  deviceCapacity,
  deviceListReceived,
  pluginConnected,
  pluginDisconnected,
  startDeviceManager,
} from '../../src/domain/device-manager/device-manager.js';
import { containerDevices, type DeviceManager, type DeviceTaskStep } from '../../src/domain/device-manager/device-state.js';
import { activePodsBy } from '../../src/domain/topology-manager/active-pods.js';
import { noHint, type TopologyHint } from '../../src/domain/topology-manager/topology-hint.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';

const gpu = 'example.com/gpu';
const response: ContainerAllocateResponse = { envs: new Map(), mounts: [], devices: [], annotations: new Map(), cdiDevices: [] };
const container = (name: string, count: number, resource = gpu): Container => ({ name, image: '', resources: { limits: { [resource]: String(count) } } });
const podOf = (uid: string, containers: Container[], initContainers: Container[] = []): Pod => ({ metadata: { name: uid, uid }, spec: { containers, initContainers } });

function started(checkpointFile: string | null = null, running: readonly string[] = []): DeviceManager {
  return startDeviceManager({ numaNodes: [0, 1], checkpointFile, runningContainers: new Set(running), now: 0 }).manager;
}

function withPlugin(manager: DeviceManager, ids: readonly string[], unhealthy: readonly string[] = [], preferredAllocationAvailable = false): DeviceManager {
  pluginConnected(manager, gpu, { preStartRequired: false, preferredAllocationAvailable });
  list(manager, ids, unhealthy);
  return manager;
}

function list(manager: DeviceManager, ids: readonly string[], unhealthy: readonly string[] = []): string[] {
  return deviceListReceived(
    manager,
    gpu,
    ids.map((id) => ({ id, health: unhealthy.includes(id) ? 'Unhealthy' : 'Healthy', numaNodes: [] })),
  );
}

function activeOf(...pods: Pod[]) {
  return activePodsBy((uid) => pods.find((pod) => pod.metadata.uid === uid), true);
}

const devicesAsked = (step: DeviceTaskStep): readonly string[] | string => (step.kind === 'call' && step.call.rpc === 'Allocate' ? step.call.devices : JSON.stringify(step));
const has = (manager: DeviceManager, uid: string, name: string): string[] | null => {
  const devices = containerDevices(manager, uid, name, gpu);
  return devices === null ? null : [...devices];
};

t.test('two allocations under way never pick the same device', async (t) => {
  const manager = withPlugin(started(), ['d0', 'd1', 'd2']);
  const [a, b, c] = ['a', 'b', 'c'].map((uid) => podOf(uid, [container('c', 1)])) as [Pod, Pod, Pod];
  const gone = podOf('gone', [container('c', 1)]);
  t.strictSame(devicesAsked(beginAllocation(manager, gone, gone.spec.containers[0]!, noHint, activeOf(gone))), ['d0']);
  answerPluginCall(manager, 'gone', 'c', { kind: 'allocated', response }, activeOf(gone));
  t.strictSame(devicesAsked(beginAllocation(manager, a, a.spec.containers[0]!, noHint, activeOf(gone, a))), ['d1']);
  collectStaleDevices(manager, activeOf(a, b));
  t.strictSame(
    devicesAsked(beginAllocation(manager, b, b.spec.containers[0]!, noHint, activeOf(a, b))),
    ['d0'],
    'what was picked for a stays taken, what the gone pod had is free',
  );
  t.strictSame(answerPluginCall(manager, 'b', 'c', { kind: 'error', message: 'boom' }, activeOf(a, b)), { kind: 'failed', message: 'boom' });
  t.strictSame(devicesAsked(beginAllocation(manager, c, c.spec.containers[0]!, noHint, activeOf(a, c))), ['d0'], 'a failed call gives back its own device only');
  answerPluginCall(manager, 'a', 'c', { kind: 'allocated', response }, activeOf(a, c));
  answerPluginCall(manager, 'c', 'c', { kind: 'allocated', response }, activeOf(a, c));
  t.strictSame([has(manager, 'a', 'c'), has(manager, 'b', 'c'), has(manager, 'c', 'c')], [['d1'], null, ['d0']]);
  t.equal(answerPluginCall(manager, 'a', 'c', { kind: 'allocated', response }, activeOf(a, c)), null, 'an answer that nobody waits for');
});

t.test('the list changes while the plugin is asked for its preference', async (t) => {
  const manager = withPlugin(started(), ['d0', 'd1', 'd2'], [], true);
  const pod = podOf('a', [container('c', 1)]);
  const step = beginAllocation(manager, pod, pod.spec.containers[0]!, noHint, activeOf(pod));
  t.match(step, { kind: 'call', call: { rpc: 'GetPreferredAllocation', available: ['d0', 'd1', 'd2'], size: 1 } });
  list(manager, ['d0', 'd1', 'd2'], ['d2']);
  const next = answerPluginCall(manager, 'a', 'c', { kind: 'preferred', devices: ['d2'] }, activeOf(pod))!;
  t.strictSame(devicesAsked(next), ['d0'], 'what is no longer healthy is not taken, whatever is preferred');
  list(manager, [], []);
  t.match(beginAllocation(manager, podOf('b', [container('c', 1)]), container('c', 1), noHint, activeOf(pod)), {
    kind: 'failed',
    message: `no healthy devices present; cannot allocate unhealthy devices ${gpu}`,
  });
});

t.test("an init container's device is used again only while it is healthy", async (t) => {
  for (const broken of [false, true]) {
    const manager = withPlugin(started(), ['d0', 'd1']);
    const pod = podOf('a', [container('c', 1)], [container('i', 1)]);
    t.strictSame(devicesAsked(beginAllocation(manager, pod, pod.spec.initContainers![0]!, noHint, activeOf(pod))), ['d0']);
    answerPluginCall(manager, 'a', 'i', { kind: 'allocated', response }, activeOf(pod));
    if (broken) t.strictSame(list(manager, ['d0', 'd1'], ['d0']), ['a']);
    t.strictSame(devicesAsked(beginAllocation(manager, pod, pod.spec.containers[0]!, noHint, activeOf(pod))), [broken ? 'd1' : 'd0']);
  }
});

t.test('KB055: restart of the agent while the plugin is away', async (t) => {
  const before = withPlugin(started(), ['d0', 'd1', 'd2']);
  const pod = podOf('a', [container('c', 1)], [container('i', 1)]);
  const all = [...pod.spec.initContainers!, ...pod.spec.containers];
  for (const each of all) {
    beginAllocation(before, pod, each, noHint, activeOf(pod));
    answerPluginCall(before, 'a', each.name, { kind: 'allocated', response }, activeOf(pod));
  }
  const starting = activePodsBy((uid) => (uid === 'a' ? pod : undefined), false);
  const refused = { kind: 'failed', message: `no healthy devices present; cannot allocate unhealthy devices ${gpu}` };
  const done = { kind: 'done' };
  const rows: readonly (readonly [string, readonly string[], readonly unknown[]])[] = [
    ['the pod runs: its init container is over and needs nothing', ['a/c'], [done, done]],
    ['the pod is still initialising', ['a/i'], [done, refused]],
    ['the node was rebooted', [], [refused, refused]],
    ['a report that cannot be proves only what it says of the container itself', ['a/i', 'a/c', 'a/j'], [done, done]],
  ];
  for (const [name, running, expected] of rows) {
    const manager = started(before.fileText, running);
    t.strictSame(
      all.map((each) => beginAllocation(manager, pod, each, noHint, starting)),
      expected,
      name,
    );
    t.strictSame(has(manager, 'a', 'c'), ['d0'], 'and the record stays');
  }
  const manager = started(before.fileText, ['a/c']);
  t.strictSame(withPlugin(manager, ['d0', 'd1', 'd2']).allocated.get(gpu), new Set(['d0']));
  const other = podOf('b', [container('c', 1)]);
  t.strictSame(devicesAsked(beginAllocation(manager, other, other.spec.containers[0]!, noHint, starting)), ['d1'], 'new pods get other devices');
});

t.test('a provider waits for the plugin and then knows how it went', async (t) => {
  const manager = withPlugin(started(), ['d0']);
  const pod = podOf('a', [container('c', 1)]);
  const outcomes = new Map<string, DeviceTaskStep>();
  const provider = deviceHintProvider(manager, activeOf(pod), outcomes);
  const allocate = () => provider.allocate(pod, pod.spec.containers[0]!, noHint);
  t.strictSame(allocate(), { kind: 'waiting' });
  t.strictSame(allocate(), { kind: 'waiting' }, 'asking again sends nothing');
  outcomes.set('a/c', answerPluginCall(manager, 'a', 'c', { kind: 'allocated', response: null }, activeOf(pod))!);
  t.strictSame(allocate(), { kind: 'failed', message: 'no containers return in allocation response ', reason: null });
});

t.test('start of a container', async (t) => {
  const manager = started();
  pluginConnected(manager, gpu, { preStartRequired: true, preferredAllocationAvailable: false });
  list(manager, ['d0']);
  const pod = podOf('a', [container('c', 1)]);
  const own = pod.spec.containers[0]!;
  beginAllocation(manager, pod, own, noHint, activeOf(pod));
  answerPluginCall(manager, 'a', 'c', { kind: 'allocated', response: { ...response, cdiDevices: ['v.com/gpu=d0'] } }, activeOf(pod));
  t.strictSame(beginPreparation(manager, pod, own, noHint, activeOf(pod)), { kind: 'call', call: { rpc: 'PreStartContainer', resource: gpu, devices: ['d0'] } });
  t.strictSame(answerPluginCall(manager, 'a', 'c', { kind: 'prepared' }, activeOf(pod)), { kind: 'done' });
  t.strictSame(deviceRunOptions(manager, 'a', 'c')?.cdiDevices, ['v.com/gpu=d0']);
  t.equal(deviceRunOptions(manager, 'a', 'other'), null);
});

t.test('a plugin that stays away takes its resource along after five minutes, and not earlier', async (t) => {
  const manager = withPlugin(started(), ['d0', 'd1']);
  pluginDisconnected(manager, gpu, 1_000_000);
  const grace = 300_000_000;
  t.strictSame(deviceCapacity(manager, 1_000_000 + grace), { capacity: new Map([[gpu, 2]]), allocatable: new Map([[gpu, 0]]), removed: [] });
  t.strictSame(deviceCapacity(manager, 1_000_001 + grace), { capacity: new Map(), allocatable: new Map(), removed: [gpu] });
  t.strictSame(deviceCapacity(manager, 1_000_002 + grace).removed, []);
});

t.test('hints: which nodes have enough of what is free, and which of them the fewest nodes that could', async (t) => {
  const at = (id: string, ...numaNodes: number[]) => ({ id, health: 'Healthy', numaNodes });
  const shown = (hints: readonly TopologyHint[] | null | undefined): string =>
    hints == null ? 'anywhere' : hints.map(({ numaNodes, preferred }) => `${numaNodes?.join()}${preferred ? '!' : ''}`).join(' ') || 'nowhere';
  const numa = (...devices: ReturnType<typeof at>[]): DeviceManager => {
    const manager = started();
    pluginConnected(manager, gpu, { preStartRequired: false, preferredAllocationAvailable: false });
    deviceListReceived(manager, gpu, devices);
    return manager;
  };
  const three = [at('d0', 0), at('d1', 0), at('d2', 1)] as const;
  const forOne = (manager: DeviceManager, count: number): string => {
    const pod = podOf('p', [container('c', count)]);
    return shown(deviceContainerHints(manager, pod, pod.spec.containers[0]!).get(gpu));
  };
  t.strictSame(
    [1, 2, 3, 4].map((count) => forOne(numa(...three), count)),
    ['0! 1! 0,1', '0! 0,1', '0,1!', 'nowhere'],
  );
  t.equal(forOne(numa({ ...three[0], health: 'Unhealthy' }, three[1], three[2]), 2), '0,1', 'a broken one counts for what could be, not for what is');
  t.equal(forOne(numa(at('d0'), at('d1')), 1), 'anywhere');
  t.equal(forOne(numa(at('d0', 0), at('d1')), 1), '0!', 'one that is close to nothing serves nobody');
  t.equal(forOne(numa(at('d0', 7)), 1), 'nowhere', 'a node that the machine does not have');
  t.equal(forOne(numa(at('d0', 0, 1)), 1), '0! 1! 0,1');
  t.equal(forOne(started(), 1), 'anywhere', 'nobody knows the resource');
  t.strictSame([...deviceContainerHints(numa(...three), podOf('p', []), { name: 'c', image: '' })], [], 'nothing is asked for');

  const forPod = (containers: Container[], inits: Container[] = [], manager = numa(...three)): string => shown(devicePodHints(manager, podOf('p', containers, inits)).get(gpu));
  const sidecar = (count: number): Container => ({ ...container('s', count), restartPolicy: 'Always' });
  t.equal(forPod([container('c', 1), container('e', 1)]), '0! 0,1', 'containers run together');
  t.equal(forPod([container('c', 1)], [container('i', 2)]), '0! 0,1', 'an init container runs alone');
  t.equal(forPod([container('c', 1)], [container('i', 1), container('j', 1)]), '0! 1! 0,1', 'one after the other');
  t.equal(forPod([container('c', 1)], [sidecar(1), container('i', 2)]), '0,1!', 'but beside the sidecars before it');
  t.equal(forPod([container('c', 1)], [container('i', 2), sidecar(1)]), '0! 0,1', 'not those behind it');
  t.equal(forPod([container('c', 2)], [sidecar(1)]), '0,1!', 'sidecars run on');
  const two = numa(...three);
  pluginConnected(two, 'a.io/x', { preStartRequired: false, preferredAllocationAvailable: false });
  deviceListReceived(two, 'a.io/x', [at('x', 1)]);
  const both = podOf('p', [container('c', 1), container('e', 1, 'a.io/x')]);
  t.strictSame([...devicePodHints(two, both).keys()], ['a.io/x', gpu], 'in order of names');

  const manager = numa(...three);
  const pod = podOf('p', [container('c', 1)]);
  beginAllocation(manager, pod, pod.spec.containers[0]!, { numaNodes: [1], preferred: true }, activeOf(pod));
  answerPluginCall(manager, 'p', 'c', { kind: 'allocated', response }, activeOf(pod));
  t.equal(forOne(manager, 1), '1! 0,1', 'what it has already');
  t.equal(forOne(manager, 2), 'nowhere', 'another number than it has');
  t.equal(forPod([container('c', 1)], [], manager), '1! 0,1', 'the pod has it');
  t.equal(forPod([container('c', 2)], [], manager), 'nowhere');
  const other = podOf('q', [container('c', 2)]);
  t.equal(shown(deviceContainerHints(manager, other, other.spec.containers[0]!).get(gpu)), '0! 0,1', 'what others have is taken');
});
