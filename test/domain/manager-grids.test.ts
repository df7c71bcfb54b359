// The grids of the resource managers and of the status manager: every reachable state of a small node x every event. The
// invariants of the headers must hold in each cell: exclusive resources are not shared, reservations equal the records, and statuses only advance.

import t from 'tap';
import type { ContainerAllocateResponse } from '../../src/domain/checkpoints/allocate-response.js';
import { allocatableExclusiveCpus, allocateContainerCpus, type CpuManager, collectStaleCpus, cpuStateFile, startCpuManager } from '../../src/domain/cpu-manager/cpu-manager.js';
import { answerPluginCall, beginAllocation, beginPreparation } from '../../src/domain/device-manager/allocate-devices.js';
import {
  collectStaleDevices,
  deviceCapacity,
  deviceListReceived,
  pluginConnected,
  pluginDisconnected,
  startDeviceManager,
} from '../../src/domain/device-manager/device-manager.js';
import { containerDevices, type DeviceManager, type PluginReply } from '../../src/domain/device-manager/device-state.js';
import { allocateContainerMemory } from '../../src/domain/memory-manager/allocate-memory.js';
import { collectStaleMemory, type MemoryManager, memoryStateFile, releaseFinishedInitContainers, startMemoryManager } from '../../src/domain/memory-manager/memory-manager.js';
import { applyStatusChange, markSent, type StatusChange, type StatusRecord } from '../../src/domain/status/status-manager.js';
import { activePodsBy } from '../../src/domain/topology-manager/active-pods.js';
import { noHint, type TopologyHint } from '../../src/domain/topology-manager/topology-hint.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { mustParseQuantity } from '../../src/domain/values/quantity.js';
import { microsPerSecond as second } from '../../src/domain/values/time.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodStatus } from '../../src/ports/model/pod-status.js';
import { type Grid, walkGrid } from './walk-grid.js';

function grid<State>(name: string, machine: Grid<State>, atLeast: number): void {
  t.test(name, async (t) => {
    const walked = walkGrid(machine);
    t.strictSame(walked.problems, []);
    t.ok(walked.states.length >= atLeast, `${walked.states.length} states, ${walked.cells} cells`);
  });
}

const gpu = 'example.com/gpu';
const gib = 2 ** 30;

function container(name: string, amounts: Readonly<Record<string, string>>): Container {
  return { name, image: '', resources: { requests: amounts, limits: amounts } };
}

/** Pods by name: one container `c`, and in `b` an init container `i` before it. */
const pods: Readonly<Record<'a' | 'b', Pod>> = {
  a: { metadata: { name: 'a', uid: 'a' }, spec: { containers: [container('c', { cpu: '2', memory: '3Gi', [gpu]: '1' })] } },
  b: {
    metadata: { name: 'b', uid: 'b' },
    spec: { initContainers: [container('i', { cpu: '1', memory: '5Gi', [gpu]: '2' })], containers: [container('c', { cpu: '1', memory: '2Gi', [gpu]: '1' })] },
  },
};
type Name = keyof typeof pods;
const names = ['a', 'b'] as const;
const containersOf = ({ spec }: Pod): readonly Container[] => [...(spec.initContainers ?? []), ...spec.containers];

/** A manager and the pods that are there. */
interface Node<Manager> {
  manager: Manager;
  readonly present: Set<Name>;
}

function activeOf({ present }: { readonly present: ReadonlySet<Name> }, sourcesReady = true) {
  return activePodsBy((uid) => (present.has(uid as Name) ? pods[uid as Name] : undefined), sourcesReady);
}

/** Events for each container of each pod, which comes with them. */
function forEachContainer<State extends { readonly present: Set<Name> }>(
  what: string,
  act: (state: State, pod: Pod, own: Container) => void,
): Record<string, (state: State) => State> {
  return Object.fromEntries(
    names.flatMap((name) =>
      containersOf(pods[name]).map((own) => [
        `${what} ${name}/${own.name}`,
        (state: State) => {
          state.present.add(name);
          act(state, pods[name], own);
          return state;
        },
      ]),
    ),
  );
}

function leaving<State extends { readonly present: Set<Name> }>(): Record<string, (state: State) => State> {
  return Object.fromEntries(
    names.map((name) => [
      `${name} goes`,
      (state: State) => {
        state.present.delete(name);
        return state;
      },
    ]),
  );
}

const response: ContainerAllocateResponse = { envs: new Map(), mounts: [], devices: [], annotations: new Map(), cdiDevices: [] };
const startDevices = (checkpointFile: string | null): DeviceManager =>
  startDeviceManager({ numaNodes: [0, 1], checkpointFile, runningContainers: new Set(['a/c']), now: 0 }).manager;
const listing =
  (...devices: readonly (readonly [id: string, health: string])[]) =>
  (node: Node<DeviceManager>): Node<DeviceManager> => {
    deviceListReceived(
      node.manager,
      gpu,
      devices.map(([id, health], i) => ({ id, health, numaNodes: [i % 2] })),
    );
    return node;
  };
const answering =
  (reply: PluginReply) =>
  (node: Node<DeviceManager>, { metadata }: Pod, { name }: Container) =>
    void answerPluginCall(node.manager, metadata.uid ?? '', name, reply, activeOf(node));
const connecting = (preStartRequired: boolean) => (node: Node<DeviceManager>) => {
  pluginConnected(node.manager, gpu, { preStartRequired, preferredAllocationAvailable: preStartRequired });
  return node;
};

function deviceProblems({ manager }: Node<DeviceManager>): string[] {
  const found: string[] = [];
  const owners = new Map<string, string>();
  for (const uid of manager.podDevices.keys()) {
    for (const name of manager.podDevices.get(uid)?.keys() ?? []) {
      for (const id of containerDevices(manager, uid, name, gpu) ?? []) {
        const owner = owners.get(id);
        // Within a pod an ended init container leaves its devices to the others.
        if (owner !== undefined && owner !== uid) found.push(`${id} belongs to ${owner} and ${uid}`);
        owners.set(id, uid);
        if (manager.allocated.get(gpu)?.has(id) !== true) found.push(`${id} of ${uid} counts as free`);
      }
    }
  }
  const picked = [...manager.tasks.values()].flatMap((task) => task.picked);
  for (const id of picked) if (manager.allocated.get(gpu)?.has(id) !== true) found.push(`${id}, which was picked, counts as free`);
  for (const task of manager.tasks.values()) if (task.call === null) found.push('a task that waits for nothing');
  return found;
}

grid<Node<DeviceManager>>(
  'devices',
  {
    starts: { new: () => ({ manager: startDevices(null), present: new Set() }) },
    events: {
      'a plugin that is asked a lot comes': connecting(true),
      'it lists two': listing(['d0', 'Healthy'], ['d1', 'Healthy']),
      'it lists a broken one': listing(['d0', 'Unhealthy'], ['d1', 'Healthy']),
      'the plugin goes': (node) => {
        pluginDisconnected(node.manager, gpu, 1_000);
        return node;
      },
      'it stays away': (node) => {
        pluginDisconnected(node.manager, gpu, 1_000);
        deviceCapacity(node.manager, 1_000 + 301 * second);
        return node;
      },
      'the node is tidied': (node) => {
        collectStaleDevices(node.manager, activeOf(node));
        return node;
      },
      'the agent starts again': (node) => ({ ...node, manager: startDevices(node.manager.fileText) }),
      ...forEachContainer<Node<DeviceManager>>('allocate', (node, pod, own) => void beginAllocation(node.manager, pod, own, noHint, activeOf(node))),
      ...forEachContainer<Node<DeviceManager>>('prepare', (node, pod, own) => void beginPreparation(node.manager, pod, own, noHint, activeOf(node))),
      ...forEachContainer('allocated', answering({ kind: 'allocated', response })),
      ...forEachContainer('prepared', answering({ kind: 'prepared' })),
      ...forEachContainer('preferred', answering({ kind: 'preferred', devices: ['d1', 'nobody'] })),
      ...forEachContainer('an error', answering({ kind: 'error', message: 'no' })),
      ...leaving<Node<DeviceManager>>(),
    },
    nameOf: ({ manager, present }) => {
      const { healthy = null, plugin = null } = manager.resources.get(gpu) ?? {};
      const records = [...manager.podDevices].flatMap(([uid, all]) =>
        [...all.keys()].map((name) => `${uid}/${name}=${[...(containerDevices(manager, uid, name, gpu) ?? [])].join()}`),
      );
      const tasks = [...manager.tasks].map(([key, { call, picked }]) => `${key}:${call?.rpc}:${picked.join()}`);
      const options = plugin === null ? 'none' : `${plugin.options?.preStartRequired}${plugin.stoppedAt !== null}`;
      return [[...present].sort().join(), [...(healthy ?? ['-'])].join(), options, records.sort().join(' '), tasks.sort().join(' ')].join(' | ');
    },
    refuses: ({ manager }, event) => {
      const [what = '', key = ''] = event.split(' ');
      return (what === 'allocate' || what === 'prepare') && manager.tasks.has(key);
    },
    problems: deviceProblems,
    // There are some 13 000.
    enough: process.env.KUBELET_TS_TIER === 'nightly' ? 20_000 : 1_000,
  },
  200,
);

const cores = [0, 1, 2].map((core) => ({ numaNode: core % 2, socket: 0, uncoreCache: null, threads: [core, core + 3] }));
function startCpus(stateFile: string | null): CpuManager {
  const start = startCpuManager({
    ...{ policy: 'static', policyOptions: {}, gates: { alpha: true, beta: true }, topologyManagerPolicy: 'none', cores, reservedCpus: [] },
    ...{ cpuReservation: mustParseQuantity('1'), stateDirectory: '/s', stateFile, containers: new Map() },
  });
  if (!start.ok) throw new Error(start.error);
  return start.manager;
}
const anyHint: TopologyHint = { numaNodes: [0], preferred: true };

grid<Node<CpuManager>>(
  'exclusive CPUs',
  {
    starts: { new: () => ({ manager: startCpus(null), present: new Set() }) },
    events: {
      ...forEachContainer<Node<CpuManager>>('allocate', (node, pod, own) => {
        collectStaleCpus(node.manager, activeOf(node));
        allocateContainerCpus(node.manager, pod, own, noHint);
      }),
      ...forEachContainer<Node<CpuManager>>('allocate close to node 0', (node, pod, own) => {
        collectStaleCpus(node.manager, activeOf(node));
        allocateContainerCpus(node.manager, pod, own, anyHint);
      }),
      'the node is tidied': (node) => {
        collectStaleCpus(node.manager, activeOf(node));
        return node;
      },
      'the node is tidied before the sources are ready': (node) => {
        collectStaleCpus(node.manager, activeOf(node, false));
        return node;
      },
      'the agent starts again': (node) => ({ ...node, manager: startCpus(cpuStateFile(node.manager)) }),
      ...leaving<Node<CpuManager>>(),
    },
    nameOf: ({ manager, present }) => `${[...present].sort().join()} ${cpuStateFile(manager)}`,
    problems: ({ manager }) => {
      const found: string[] = [];
      const taken = new Map<number, string>();
      for (const [uid, containers] of manager.assignments) {
        for (const cpu of new Set([...containers.values()].flat())) {
          if (taken.has(cpu)) found.push(`CPU ${cpu} belongs to ${taken.get(cpu)} and ${uid}`);
          taken.set(cpu, uid);
          if (manager.sharedPool.includes(cpu)) found.push(`CPU ${cpu} of ${uid} is shared`);
          if (!allocatableExclusiveCpus(manager).includes(cpu)) found.push(`CPU ${cpu} is not to be given away`);
        }
      }
      if (taken.size + manager.sharedPool.length !== 6) found.push('a CPU is lost');
      return found;
    },
  },
  10,
);

function startMemory(stateFile: string | null): MemoryManager {
  const machine = [0, 1].map((id) => ({ id, memoryBytes: 8 * gib, hugePages: [] }));
  const start = startMemoryManager({
    ...{ policy: 'Static', machine, nodeReservation: { memory: '1Gi' }, reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
    ...{ stateDirectory: '/s', stateFile },
  });
  if (!start.ok) throw new Error(start.error);
  return start.manager;
}

grid<Node<MemoryManager>>(
  'memory',
  {
    starts: { new: () => ({ manager: startMemory(null), present: new Set() }) },
    events: {
      ...Object.fromEntries(
        names.flatMap((name) =>
          ([null, [0], [1], [0, 1]] as const).map((numaNodes) => [
            `admit ${name} on ${numaNodes?.join() ?? 'any'}`,
            (node: Node<MemoryManager>) => {
              node.present.add(name);
              collectStaleMemory(node.manager, activeOf(node));
              // Init containers first, up to the first that finds nothing: what was given until then goes when the pod does.
              const all = containersOf(pods[name]).every((own) => allocateContainerMemory(node.manager, pods[name], own, { numaNodes, preferred: true }).kind === 'allocated');
              if (!all) node.present.delete(name);
              return node;
            },
          ]),
        ),
      ),
      ...forEachContainer<Node<MemoryManager>>('start', (node, pod, own) => releaseFinishedInitContainers(node.manager, pod, own)),
      'the node is tidied': (node) => {
        collectStaleMemory(node.manager, activeOf(node));
        return node;
      },
      'the agent starts again': (node) => ({ ...node, manager: startMemory(memoryStateFile(node.manager)) }),
      ...leaving<Node<MemoryManager>>(),
    },
    nameOf: ({ manager, present }) => `${[...present].sort().join()} ${memoryStateFile(manager)}`,
    problems: ({ manager }) => {
      const found: string[] = [];
      let reserved = 0;
      for (const [id, { memoryMap }] of manager.machine) {
        for (const table of memoryMap.values()) {
          if (table.free < 0 || table.reserved < 0 || table.free + table.reserved !== table.allocatable) found.push(`the books of node ${id} are wrong`);
          reserved += table.reserved;
        }
      }
      const recorded = [...manager.assignments.values()].flatMap((containers) => [...containers.values()].flat()).reduce((sum, { size }) => sum + size, 0);
      return recorded === reserved ? found : [...found, `${reserved} bytes are booked, ${recorded} recorded`];
    },
  },
  20,
);

interface StatusAt {
  readonly record: StatusRecord | null;
  readonly pod: Pod;
}

const exited = { terminated: { exitCode: 1, reason: 'Error', startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:01Z' } };
const runs = { running: { startedAt: '2026-01-01T00:00:00Z' } };
function statusOf(phase: NonNullable<PodStatus['phase']>, state: object, ready = false): PodStatus {
  return { phase, containerStatuses: [{ name: 'c', image: '', imageID: '', containerID: 'x://c', ready, restartCount: 0, state }] };
}
const changing =
  (change: StatusChange) =>
  ({ record, pod }: StatusAt): StatusAt => ({ pod, record: applyStatusChange(record, change, { pod, mirrorStatus: null, now: 0, wall: instantOf(1_700_000_000 * second) }) });
const podOf = (restartPolicy: 'Always' | 'OnFailure' | 'Never', source: string, deleted = false): StatusAt => ({
  record: null,
  pod: {
    metadata: { name: 'a', uid: 'a', annotations: { 'kubernetes.io/config.source': source }, ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
    spec: { restartPolicy, containers: [{ name: 'c', image: '' }] },
  },
});

grid<StatusAt>(
  "a pod's status",
  {
    starts: {
      'a static pod': () => podOf('Always', 'file'),
      'a pod that never restarts': () => podOf('Never', 'api'),
      'one that restarts on failure, being deleted': () => podOf('OnFailure', 'api', true),
    },
    events: {
      ...Object.fromEntries(
        Object.entries({
          waits: statusOf('Pending', { waiting: { reason: 'ContainerCreating' } }),
          runs: statusOf('Running', runs),
          'runs and is ready': statusOf('Running', runs, true),
          'has failed': statusOf('Failed', exited),
          'has no containers': { phase: 'Pending' } as PodStatus,
          nothing: {},
        }).map(([name, status]) => [name, changing({ kind: 'set', status })]),
      ),
      terminate: changing({ kind: 'terminate' }),
      ready: changing({ kind: 'readiness', containerID: 'x://c', ready: true }),
      'not ready': changing({ kind: 'readiness', containerID: 'x://c', ready: false }),
      started: changing({ kind: 'startup', containerID: 'x://c', started: true }),
      'ready, another container': changing({ kind: 'readiness', containerID: 'x://other', ready: true }),
      sent: ({ record, pod }) => ({ pod, record: record === null ? null : markSent(record, record.version) }),
      'an old one was sent': ({ record, pod }) => ({ pod, record: record === null ? null : markSent(record, record.version - 1) }),
    },
    nameOf: ({ record, pod }) => `${pod.spec.restartPolicy} ${JSON.stringify(record, (key, value: unknown) => (key === 'version' ? undefined : value))}`,
    problems: ({ record: after, pod }, { record: before }, event) => [
      ...(before !== null && after === null ? ['the record is lost'] : []),
      ...(before !== null && after !== null && !event.includes('sent') && after.version !== before.version && after.version !== before.version + 1
        ? ['a change that is no next version']
        : []),
      ...(before?.status.startTime !== undefined && after?.status.startTime !== before.status.startTime ? ['the start time moved'] : []),
      ...(before?.finished === true && after?.finished !== true && pod.metadata.annotations?.['kubernetes.io/config.source'] === 'api' ? ['finished no more'] : []),
      ...(pod.spec.restartPolicy === 'Never' &&
      before?.status.containerStatuses?.[0]?.state?.terminated !== undefined &&
      after?.status.containerStatuses?.[0]?.state?.running !== undefined
        ? ['a container that may not run again runs']
        : []),
      ...(event === 'an old one was sent' && before?.changedAt !== after?.changedAt ? ['an old report counts'] : []),
    ],
  },
  20,
);
