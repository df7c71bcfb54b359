// Memory on NUMA nodes over the life of a node: what is booked is what is recorded, and all of it comes back.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { allocateContainerMemory, memoryHintProvider } from '../../src/domain/memory-manager/allocate-memory.js';
import type { MachineState, NumaNodeState } from '../../src/domain/memory-manager/machine-memory.js';
import { bestMemoryHint, breaksGroups, type MemoryHint, memoryHints } from '../../src/domain/memory-manager/memory-hints.js';
import {
  allocatableMemory,
  collectStaleMemory,
  containerMemoryNodes,
  type MemoryManager,
  type MemoryManagerConfig,
  memoryStateFile,
  releaseFinishedInitContainers,
  startMemoryManager,
} from '../../src/domain/memory-manager/memory-manager.js';
import { activePodsBy } from '../../src/domain/topology-manager/active-pods.js';
import { beginAdmission, continueAdmission, type HintProvider } from '../../src/domain/topology-manager/pod-admission.js';
import type { ProviderHints } from '../../src/domain/topology-manager/topology-hint.js';
import { newTopologyManager, type TopologyManager } from '../../src/domain/topology-manager/topology-manager.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';

const gib = 2 ** 30;

function configOf(nodes: number, hugePages: boolean, stateFile: string | null): MemoryManagerConfig {
  const machine = Array.from({ length: nodes }, (_, id) => ({ id, memoryBytes: 8 * gib, hugePages: hugePages ? [{ pageSizeKiB: 1_048_576, numPages: 2 }] : [] }));
  return {
    ...{ policy: 'Static', machine, nodeReservation: { memory: '1Gi', cpu: '1' }, reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
    ...{ stateDirectory: '/var/lib/kubelet', stateFile },
  };
}

function started(config: MemoryManagerConfig): MemoryManager {
  const start = startMemoryManager(config);
  if (!start.ok) throw new Error(start.error);
  return start.manager;
}

const guaranteed = (name: string, gibs: number, hugeGibs: number, sidecar = false): Container => {
  const amounts = { cpu: '1', memory: `${gibs}Gi`, ...(hugeGibs === 0 ? {} : { 'hugepages-1Gi': `${hugeGibs}Gi` }) };
  return { name, image: '', ...(sidecar ? { restartPolicy: 'Always' as const } : {}), resources: { requests: amounts, limits: amounts } };
};
const podOf = (uid: string, containers: Container[], initContainers: Container[] = []): Pod => ({ metadata: { name: uid, uid }, spec: { containers, initContainers } });

function topologyOf(policy: string, scope: string, nodes: number): TopologyManager {
  const result = newTopologyManager({ policy, scope, policyOptions: {}, numaNodes: Array.from({ length: nodes }, (_, id) => ({ id, distances: null })) });
  if (!result.ok) throw new Error(result.error);
  return result.manager;
}

/** On every node reserved + free = allocatable; over all nodes, what is reserved is what the blocks say, and their nodes are the groups. */
function checkBooks(manager: MemoryManager): void {
  const reserved = new Map<string, number>();
  for (const { memoryMap } of manager.machine.values()) {
    for (const [type, table] of memoryMap) {
      assert.equal(table.reserved + table.free, table.allocatable);
      assert.ok(table.free >= 0 && table.reserved >= 0);
      reserved.set(type, (reserved.get(type) ?? 0) + table.reserved);
    }
  }
  const blocks = [...manager.assignments.values()].flatMap((containers) => [...containers.values()].flat());
  for (const { numaAffinity } of blocks) for (const id of numaAffinity) assert.deepEqual(manager.machine.get(id)!.cells, numaAffinity, 'a node is used alone or in one group');
  for (const [type, bytes] of reserved) {
    assert.equal(
      blocks.filter((block) => block.type === type).reduce((sum, { size }) => sum + size, 0),
      bytes,
      type,
    );
  }
}

/** Something else that would have the pod on one node. */
function cpuProvider(node: number | null, nodes: number): HintProvider {
  const hints: ProviderHints | null = node === null ? null : new Map([['cpu', [{ numaNodes: [node % nodes], preferred: true }]]]);
  return { name: 'cpu', containerHints: () => hints, podHints: () => hints, allocate: () => ({ kind: 'allocated' }) };
}

const anyContainer = fc.record({ gibs: fc.integer({ min: 1, max: 6 }), huge: fc.constantFrom(0, 0, 1, 2), sidecar: fc.boolean() });
const anyStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('admit' as const),
      cpuNode: fc.option(fc.nat(2)),
      apps: fc.array(anyContainer, { minLength: 1, maxLength: 2 }),
      inits: fc.array(anyContainer, { maxLength: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('remove' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('start' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restart' as const) }) },
);

t.test('what is booked is what is recorded, through admissions, removals and restarts', async (t) => {
  const policies = fc.constantFrom('none', 'best-effort', 'restricted', 'single-numa-node');
  const property = fc.property(
    policies,
    fc.constantFrom('container', 'pod'),
    fc.integer({ min: 1, max: 3 }),
    fc.boolean(),
    fc.array(anyStep, { maxLength: 12 }),
    (policy, scope, nodes, huge, steps) => {
      const topology = topologyOf(policy, scope, nodes);
      let manager = started(configOf(nodes, huge, null));
      const fresh = memoryStateFile(manager);
      const pods = new Map<string, Pod>();
      const active = activePodsBy((uid) => pods.get(uid), true);
      let serial = 0;
      for (const step of steps) {
        const uids = [...pods.keys()];
        if (step.op === 'admit') {
          const container = (prefix: string) => (shape: { gibs: number; huge: number; sidecar: boolean }, i: number) =>
            guaranteed(`${prefix}${i}`, shape.gibs, huge ? shape.huge : 0, prefix === 'i' && shape.sidecar);
          const pod = podOf(`u${serial++}`, step.apps.map(container('c')), step.inits.map(container('i')));
          pods.set(pod.metadata.uid!, pod);
          const answer = continueAdmission(topology, beginAdmission(pod), pod, [cpuProvider(step.cpuNode, nodes), memoryHintProvider(manager, active)]);
          if (answer.kind !== 'admitted') pods.delete(pod.metadata.uid!);
        } else if (step.op === 'restart') {
          manager = started(configOf(nodes, huge, memoryStateFile(manager)));
        } else if (uids.length > 0) {
          const pod = pods.get(uids[step.which % uids.length]!)!;
          if (step.op === 'remove') pods.delete(pod.metadata.uid!);
          else releaseFinishedInitContainers(manager, pod, pod.spec.containers[0]!);
        }
        checkBooks(manager);
      }
      pods.clear();
      collectStaleMemory(manager, active);
      assert.equal(memoryStateFile(manager), fresh, 'as if nothing had ever run');
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500 }));
});

t.test('a node is used alone or in one group', async (t) => {
  const manager = started(configOf(2, false, null));
  const allocate = (uid: string, gibs: number, numaNodes: number[] | null) => {
    const container = guaranteed('c', gibs, 0);
    return allocateContainerMemory(manager, podOf(uid, [container]), container, { numaNodes, preferred: false });
  };
  t.strictSame(allocate('a', 12, null), { kind: 'allocated' });
  t.strictSame(containerMemoryNodes(manager, 'a', 'c'), [0, 1]);
  t.match(allocate('b', 1, null), { kind: 'allocated' });
  t.strictSame(containerMemoryNodes(manager, 'b', 'c'), [0, 1], 'into the group, although one node would do');
  t.match(allocate('c', 4, null), { kind: 'failed', message: /no NUMA nodes with enough memory/ });
});

t.test('allocatable memory leaves out what is reserved and what huge pages take', async (t) => {
  t.strictSame(allocatableMemory(started(configOf(2, true, null))), [
    { numaAffinity: [0], type: 'hugepages-1Gi', size: 2 * gib },
    { numaAffinity: [1], type: 'hugepages-1Gi', size: 2 * gib },
    { numaAffinity: [0], type: 'memory', size: 5 * gib },
    { numaAffinity: [1], type: 'memory', size: 6 * gib },
  ]);
});

t.test('the best of some hints: preferred ones, then fewer nodes, then lower ones', async (t) => {
  const hint = (preferred: boolean, ...numaNodes: number[]): MemoryHint => ({ numaNodes, preferred });
  const rows: readonly (readonly [sentence: string, hints: readonly MemoryHint[], best: number])[] = [
    ['a preferred one comes late', [hint(false, 0), hint(true, 0, 1)], 1],
    ['a preferred one comes first', [hint(true, 0, 1), hint(false, 0)], 0],
    ['fewer nodes', [hint(true, 0, 1), hint(true, 3)], 1],
    ['fewer nodes come first', [hint(true, 3), hint(true, 0, 1)], 0],
    ['fewer nodes, none preferred', [hint(false, 0, 1, 2), hint(false, 1, 2)], 1],
    ['the highest node that differs decides', [hint(true, 0, 2), hint(true, 1, 2), hint(true, 0, 1)], 2],
    ['also where only the lowest differs', [hint(true, 1, 2), hint(true, 0, 2)], 1],
    ['equal ones: the first', [hint(true, 0, 1), hint(true, 0, 1)], 0],
  ];
  for (const [sentence, hints, best] of rows) t.equal(bestMemoryHint(hints), hints[best], sentence);
  t.equal(bestMemoryHint([]), null);
});

t.test('nodes that can be used together, in whatever order the machine has them', async (t) => {
  const node = (numberOfAssignments: number, cells: readonly number[]): NumaNodeState => ({
    ...{ numberOfAssignments, cells },
    memoryMap: new Map([['memory', { total: 8 * gib, systemReserved: 0, allocatable: 8 * gib, reserved: 0, free: 8 * gib }]]),
  });
  const hintsOf = (machine: MachineState, gibs: number): string[] =>
    memoryHints(machine, new Map([['memory', gibs * gib]]), () => 0).map(({ numaNodes, preferred }) => `${numaNodes.join()}${preferred ? ' preferred' : ''}`);
  const free = new Map([2, 0, 1].map((id) => [id, node(0, [id])]));
  t.strictSame(hintsOf(free, 12), ['0,1 preferred', '0,2 preferred', '1,2 preferred', '0,1,2']);
  t.strictSame(hintsOf(new Map([...free, [1, node(1, [1])]]), 12), ['0,2 preferred'], 'a node in use alone is in no group');
  t.strictSame(hintsOf(new Map([...free, [0, node(1, [0, 1])], [1, node(1, [0, 1])]]), 6), ['2 preferred', '0,1'], 'a group is used as a whole');
  t.equal(breaksGroups(new Map([...free, [1, node(1, [1])]]), [1]), false, 'alone is no group');
});
