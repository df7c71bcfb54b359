// Resizes of running pods, as users see them: allocated, deferred, infeasible; actuated without a restart if possible; the state on
// disk survives a kill of the agent at any time.
import t from 'tap';
import { readPodResourcesCheckpoint } from '../../src/domain/checkpoints/pod-resources-checkpoint.js';
import type { Container, ResourceList } from '../../src/ports/model/container.js';
import type { PodCondition } from '../../src/ports/model/pod-status.js';
import { allCheckers } from '../../src/sim/checkers/all-checkers.js';
import { anyChecker } from '../../src/sim/checkers/checker.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

t.setTimeout(600_000);

/** What the runtime was asked to update, oldest first. */
const calls: string[] = [];
const listener = anyChecker({
  name: 'listener',
  fresh: () => null,
  look(_memory, what) {
    if (what.kind !== 'command' || !what.command.op.endsWith('.updateResources')) return;
    if (what.command.op === 'sandboxes.updateResources') calls.push('sandbox');
    if (what.command.op !== 'containers.updateResources') return;
    const { cpuShares, cpuQuota, memoryLimitInBytes } = what.command.request.resources;
    calls.push(`container ${cpuShares} ${cpuQuota} ${memoryLimitInBytes}`);
  },
});
const listening = { checkers: [...allCheckers, listener] };
type Sides = { readonly requests?: ResourceList; readonly limits?: ResourceList };

const container = (resources: Sides, more: Partial<Container> = {}): Container => ({ name: 'c', image: 'busybox', resources, ...more });
const same = (list: ResourceList): Sides => ({ requests: list, limits: list });

function begin(world: ApiWorld, name: string, ...containers: Container[]): string {
  const uid = world.create(name, { spec: { containers } }).metadata.uid ?? '';
  world.untilReady(name);
  return uid;
}

function resize(world: ApiWorld, name: string, resources: Sides, container = 'c'): void {
  const containers = (world.get(name)?.spec.containers ?? []).map((each) => (each.name === container ? { ...each, resources } : each));
  world.patch(name, { spec: { containers } }, 'resize');
}

function condition(world: ApiWorld, name: string, type: string): PodCondition | undefined {
  return world.status(name).conditions?.find((each) => each.type === type);
}

function told(world: ApiWorld, name: string): string[] {
  return world.node
    .events(name)
    .filter(({ record }) => record.reason.startsWith('Resize'))
    .map(({ record: { type, reason, message } }) => `${type} ${reason} ${message}`);
}

function given(world: ApiWorld, uid: string, name = 'c') {
  const running = world.node.containers(uid).filter(({ config, state }) => state === 'running' && config.metadata.name === name);
  const { resources, id } = running[0] ?? {};
  return { id, count: running.length, shares: resources?.cpuShares, quota: resources?.cpuQuota, memory: resources?.memoryLimitInBytes };
}

const fault = (operation: string, times: number, error: 'internal' | 'unimplemented', message: string) =>
  ({ operation, trigger: { times }, action: { kind: 'error', moment: 'before', error, message } }) as const;

function fileOf(world: ApiWorld, name: 'allocated_pods_state' | 'actuated_pods_state', uid: string, container = 'c') {
  const read = readPodResourcesCheckpoint(world.node.host.state.stateFiles.get(name) ?? '');
  return read.ok ? (read.value.get(uid)?.containers?.get(container) ?? null) : read.error;
}

const MiB = 1024 ** 2;

scene(
  'more of both: the container gets it while it runs, and everybody is told',
  (world, t) => {
    const uid = begin(world, 'a', container(same({ cpu: '500m', memory: '64Mi' })));
    const before = given(world, uid);
    t.match(before, { shares: 512, quota: 50_000, memory: 64 * MiB });
    t.strictSame(fileOf(world, 'allocated_pods_state', uid), same({ cpu: '500m', memory: '64Mi' }));
    t.strictSame(fileOf(world, 'actuated_pods_state', uid), same({ cpu: '500m', memory: '64Mi' }));
    resize(world, 'a', same({ cpu: '1', memory: '128Mi' }));
    world.until('it is told to be through', () => told(world, 'a').length === 2);
    t.strictSame(given(world, uid), { ...before, shares: 1024, quota: 100_000, memory: 128 * MiB }, 'the same container, with more');
    const asked = '{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"128Mi"},"requests":{"cpu":"1","memory":"128Mi"}}}],"generation":2}';
    t.strictSame(told(world, 'a'), [`Normal ResizeStarted Pod resize started: ${asked}`, `Normal ResizeCompleted Pod resize completed: ${asked}`]);
    world.until('the status shows it', () => world.status('a').containerStatuses?.[0]?.resources?.limits?.memory === '128Mi', 30 * second);
    const [status] = world.status('a').containerStatuses ?? [];
    t.match(status, { restartCount: 0, allocatedResources: { cpu: '1', memory: '128Mi' }, resources: same({ cpu: '1', memory: '128Mi' }) });
    t.match(world.status('a'), { observedGeneration: 2, allocatedResources: { cpu: '1', memory: '128Mi' }, resources: same({ cpu: '1', memory: '128Mi' }) });
    t.equal(condition(world, 'a', 'PodResizeInProgress'), undefined);
    t.equal(condition(world, 'a', 'PodResizePending'), undefined);
    for (const name of ['allocated_pods_state', 'actuated_pods_state'] as const) t.strictSame(fileOf(world, name, uid), same({ cpu: '1', memory: '128Mi' }), name);
    const counts = () => ['containers.updateResources', 'sandboxes.updateResources', 'stateFiles.write', 'runtime.inspectPod'].map((op) => world.node.model.performed.get(op));
    const then = counts();
    world.run(30 * minute);
    t.strictSame(counts().slice(0, 3), then.slice(0, 3), 'and nothing more is done');
  },
  listening,
);

scene(
  'memory goes first, then cpu; each call says all that the container has',
  (world, t) => {
    const uid = begin(world, 'a', container({ requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '256Mi' } }));
    calls.length = 0;
    resize(world, 'a', { requests: { cpu: '1', memory: '64Mi' }, limits: { cpu: '2', memory: '128Mi' } });
    world.until('it is told to be through', () => told(world, 'a').at(-1)?.startsWith('Normal ResizeCompleted') === true);
    t.strictSame(calls, [`container 102 20000 ${128 * MiB}`, 'sandbox', 'sandbox', 'sandbox', `container 1024 200000 ${128 * MiB}`]);
    t.equal(given(world, uid).count, 1);
  },
  listening,
);

const big = (cpu: string, memory = '64Mi'): Sides => same({ cpu, memory });

scene('more than the node has room for waits, and is granted when a pod goes', (world, t) => {
  begin(world, 'other', container(big('2')));
  const uid = begin(world, 'a', container(big('1')));
  resize(world, 'a', big('3'));
  world.until('it waits', () => condition(world, 'a', 'PodResizePending') !== undefined);
  t.match(condition(world, 'a', 'PodResizePending'), {
    status: 'True',
    reason: 'Deferred',
    message: "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000",
    observedGeneration: 2,
  });
  t.match(told(world, 'a'), [/^Warning ResizeDeferred Pod resize OutOfcpu: \{"containers":\[/]);
  world.run(20 * minute);
  t.equal(told(world, 'a').length, 1, 'told once, however often it is tried');
  t.match(world.status('a').containerStatuses?.[0]?.allocatedResources, { cpu: '1' });
  t.equal(given(world, uid).shares, 1024);
  world.remove('other');
  world.until('it is through', () => told(world, 'a').at(-1)?.startsWith('Normal ResizeCompleted') === true);
  t.equal(given(world, uid).shares, 3072);
  t.strictSame([...world.node.agent.allocation.counters.deferredAccepted.keys()].length, 1);
  world.until('nothing waits any more', () => condition(world, 'a', 'PodResizePending') === undefined, 30 * second);
});

scene('more than the node has at all waits, and who takes it back waits no more', (world, t) => {
  const uid = begin(world, 'a', container(big('1')));
  resize(world, 'a', big('5'));
  world.until('it waits', () => condition(world, 'a', 'PodResizePending')?.reason === 'Deferred');
  t.equal(condition(world, 'a', 'PodResizePending')?.message, "Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000");
  const events = told(world, 'a');
  t.match(events, [/^Warning ResizeDeferred Pod resize OutOfcpu: /]);
  resize(world, 'a', big('1'));
  world.until('it waits no more', () => condition(world, 'a', 'PodResizePending') === undefined);
  world.run(10 * minute);
  t.strictSame(told(world, 'a'), events, 'nothing is said of it');
  t.strictSame([given(world, uid).count, given(world, uid).shares], [1, 1024]);
  t.strictSame(world.node.agent.allocation.pending, []);
});

scene('a resource that needs a restart restarts its container alone', (world, t) => {
  const restarting = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
  const uid = begin(world, 'a', container(big('100m'), restarting), container(big('100m'), { name: 'd' }));
  const [c, d] = [given(world, uid), given(world, uid, 'd')];
  resize(world, 'a', big('100m', '128Mi'));
  world.until('it is through', () => told(world, 'a').length === 2);
  t.match(given(world, uid), { count: 1, memory: 128 * MiB });
  t.not(given(world, uid).id, c.id);
  t.equal(given(world, uid, 'd').id, d.id);
  t.ok(world.node.events('a').some(({ record }) => record.reason === 'Killing' && record.message === 'Container c resize requires restart'));
  resize(world, 'a', big('200m', '128Mi'));
  const { id } = given(world, uid);
  world.until('it is through', () => told(world, 'a').length === 4);
  t.match(given(world, uid), { id, shares: 204 }, 'cpu needs none');
});

scene(
  'less memory than is in use is written nowhere, and comes about once it is free',
  (world, t) => {
    const uid = begin(world, 'a', container(big('100m', '256Mi')));
    world.node.host.state.usage.pods.set(uid, { memoryBytes: 200 * MiB, rootfsBytes: 0, volumes: {} });
    calls.length = 0;
    resize(world, 'a', big('100m', '128Mi'));
    world.until('it fails', () => condition(world, 'a', 'PodResizeInProgress')?.reason === 'Error');
    const low = `memory limit (${128 * MiB}) below current usage (${200 * MiB})`;
    const message = `cannot decrease memory limits: [attempting to set pod ${low}, attempting to set container "c" ${low}]`;
    t.match(condition(world, 'a', 'PodResizeInProgress'), { message, observedGeneration: 2 });
    t.equal(
      told(world, 'a')
        .at(-1)
        ?.endsWith(`"generation":2,"error":${JSON.stringify(message)}}`),
      true,
    );
    t.strictSame(calls, []);
    world.run(5 * minute);
    t.equal(told(world, 'a').length, 2, 'told once');
    t.match(world.status('a').containerStatuses?.[0], { allocatedResources: { memory: '128Mi' }, resources: { limits: { memory: '256Mi' } } });
    world.node.host.state.usage.pods.set(uid, { memoryBytes: 20 * MiB, rootfsBytes: 0, volumes: {} });
    world.until('it is through', () => told(world, 'a').at(-1)?.startsWith('Normal ResizeCompleted') === true);
    t.strictSame(calls, [`container 102 10000 ${128 * MiB}`, 'sandbox'], 'what is inside shrinks first');
    world.until('the status shows it', () => world.status('a').containerStatuses?.[0]?.resources?.limits?.memory === '128Mi', 30 * second);
  },
  listening,
);

scene('a runtime that refuses is asked again, and one that knows no sandbox resources is no failure', (world, t) => {
  const uid = begin(world, 'a', container(big('100m')));
  world.node.setFaults([fault('sandboxes.updateResources', 100, 'unimplemented', 'unknown method'), fault('containers.updateResources', 1, 'internal', 'cgroup is frozen')]);
  resize(world, 'a', big('200m'));
  world.until('it fails', () => condition(world, 'a', 'PodResizeInProgress')?.reason === 'Error');
  t.equal(condition(world, 'a', 'PodResizeInProgress')?.message, 'cgroup is frozen');
  world.until('it is through', () => told(world, 'a').at(-1)?.startsWith('Normal ResizeCompleted') === true);
  t.strictSame(
    told(world, 'a').map((line) => line.split(' ')[1]),
    ['ResizeStarted', 'ResizeError', 'ResizeCompleted'],
  );
  t.match(given(world, uid), { count: 1, shares: 204 });
});

scene('an agent that is killed at any time of it goes on where it was', (world, t) => {
  const restarting = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
  const uid = begin(world, 'a', container(big('100m')), container(big('100m'), { name: 'd', ...restarting }));
  const before = [given(world, uid).id, given(world, uid, 'd').id];
  for (let i = 0; i < 12; i++) {
    resize(world, 'a', big(i % 2 === 0 ? '300m' : '100m'));
    world.run(i * 20_000);
    world.node.kill();
    world.node.start();
    world.until('it is through', () => given(world, uid).shares === (i % 2 === 0 ? 307 : 102) && condition(world, 'a', 'PodResizeInProgress') === undefined);
    world.run(10 * second);
  }
  t.strictSame([given(world, uid).id, given(world, uid, 'd').id], before, 'nothing was started anew');
  t.equal(world.node.agent.allocation.pending.length, 0);
});

scene('what waits is known to the next agent from the API, and what was granted from disk', (world, t) => {
  const uid = begin(world, 'a', container(big('1')));
  resize(world, 'a', big('6'));
  world.until('it waits', () => condition(world, 'a', 'PodResizePending') !== undefined);
  const waiting = condition(world, 'a', 'PodResizePending');
  world.node.kill();
  world.run(10 * second);
  world.node.start();
  world.run(2 * minute);
  t.strictSame(condition(world, 'a', 'PodResizePending'), waiting);
  t.match(given(world, uid), { count: 1, shares: 1024 });
  t.equal(told(world, 'a').filter((line) => line.includes('ResizeDeferred')).length, 1);
  t.match(world.status('a'), { phase: 'Running', allocatedResources: { cpu: '1' } });
});

scene('a pod that is gone leaves nothing, on disk from the next change on', (world, t) => {
  const uid = begin(world, 'a', container(big('1')));
  world.remove('a');
  world.untilGone('a');
  world.run(10 * minute);
  const { allocation } = world.node.agent;
  t.strictSame([allocation.allocated.size, allocation.actuated.size, allocation.conditions.size, allocation.desired.size], [0, 0, 0, 0]);
  begin(world, 'b', container(big('1')));
  t.equal(fileOf(world, 'allocated_pods_state', uid), null);
});

scene('a file that is none keeps pods from being admitted until somebody has removed it', (world, t) => {
  world.node.kill();
  world.node.host.state.stateFiles.set('allocated_pods_state', '{"data":"{}","checksum":1}');
  world.node.start();
  world.create('a');
  world.run(2 * minute);
  t.not(world.status('a').phase, 'Running');
  world.node.host.state.stateFiles.delete('allocated_pods_state');
  world.untilReady('a');
});

const cgroupOf = (world: ApiWorld, uid: string) => {
  const [, values] = [...world.node.host.state.cgroupValues].find(([path]) => path.endsWith(`/pod${uid}`)) ?? [];
  return { shares: values?.cpuShares, quota: values?.cpuQuotaMicros, memory: values?.memoryBytes };
};
const inCgroups = { settings: { cgroupsPerQos: true }, checkers: allCheckers };

scene(
  'the pod’s cgroup grows before its containers, and shrinks after them',
  (world, t) => {
    const uid = begin(world, 'a', container(same({ cpu: '500m', memory: '64Mi' })));
    t.strictSame(cgroupOf(world, uid), { shares: 512, quota: 50_000, memory: BigInt(64 * MiB) });
    for (const [cpu, memory, shares] of [
      ['1', 128, 1024],
      ['250m', 96, 256],
    ] as const) {
      resize(world, 'a', same({ cpu, memory: `${memory}Mi` }));
      world.until('the container has it', () => given(world, uid).shares === shares && given(world, uid).memory === memory * MiB, minute);
      world.run(second);
      t.strictSame(cgroupOf(world, uid), { shares, quota: (shares / 1024) * 100_000, memory: BigInt(memory * MiB) });
    }
  },
  inCgroups,
);

scene(
  'a cgroup that can’t be set: the runtime is told what it was, the resize says why, and in the end both have it',
  (world, t) => {
    const uid = begin(world, 'a', container(same({ cpu: '500m', memory: '64Mi' })));
    for (const [cpu, memory, shares] of [
      ['1', 128, 1024],
      ['250m', 96, 256],
    ] as const) {
      const before = told(world, 'a').length;
      world.node.setFaults([fault('podCgroups.set', 100, 'internal', 'device or resource busy')]);
      resize(world, 'a', same({ cpu, memory: `${memory}Mi` }));
      world.until(
        'it is told',
        () =>
          told(world, 'a')
            .slice(before)
            .some((text) => /ResizeError.*device or resource busy/.test(text)),
        minute,
      );
      world.node.setFaults([]);
      world.until(
        'both have it',
        () => given(world, uid).shares === shares && cgroupOf(world, uid).shares === shares && cgroupOf(world, uid).memory === BigInt(memory * MiB),
        10 * minute,
      );
      world.until('and it is through', () => condition(world, 'a', 'PodResizeInProgress') === undefined, 5 * minute);
    }
    t.equal(given(world, uid).count, 1);
  },
  inCgroups,
);
