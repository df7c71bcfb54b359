// CPU sets, exclusive CPUs on all kinds of machines (hybrid ones too), and the state over the life of a node.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { cpuHintProvider } from '../../src/domain/cpu-manager/cpu-hint-provider.js';
import { cpuHints } from '../../src/domain/cpu-manager/cpu-hints.js';
import {
  allocatableExclusiveCpus,
  type CpuManager,
  type CpuManagerConfig,
  collectStaleCpus,
  containerCpus,
  cpuStateFile,
  hasExclusiveCpus,
  startCpuManager,
} from '../../src/domain/cpu-manager/cpu-manager.js';
import { noCpuOptions, type StaticPolicyOptions } from '../../src/domain/cpu-manager/cpu-options.js';
import { type CpuTopology, discoverCpuTopology, type PhysicalCore } from '../../src/domain/cpu-manager/cpu-topology.js';
import { takeByTopology } from '../../src/domain/cpu-manager/take-cpus.js';
import { activePodsBy } from '../../src/domain/topology-manager/active-pods.js';
import { beginAdmission, continueAdmission } from '../../src/domain/topology-manager/pod-admission.js';
import { newTopologyManager, type TopologyManager } from '../../src/domain/topology-manager/topology-manager.js';
import { type CpuSet, cpuSetDifference, cpuSetIntersection, cpuSetOf, cpuSetUnion, equalCpuSets, formatCpuSet, isCpuSubset, parseCpuSet } from '../../src/domain/values/cpu-set.js';
import { mustParseQuantity } from '../../src/domain/values/quantity.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';

const anySet = fc.uniqueArray(fc.nat(70), { maxLength: 40 }).map(cpuSetOf);

t.test('algebra of sets', async (t) => {
  const property = fc.property(anySet, anySet, anySet, (a, b, c) => {
    const has = (set: CpuSet, id: number): boolean => set.includes(id);
    for (let id = 0; id <= 70; id++) {
      assert.equal(has(cpuSetUnion(a, b), id), has(a, id) || has(b, id));
      assert.equal(has(cpuSetIntersection(a, b), id), has(a, id) && has(b, id));
      assert.equal(has(cpuSetDifference(a, b), id), has(a, id) && !has(b, id));
    }
    for (const set of [cpuSetUnion(a, b), cpuSetIntersection(a, b), cpuSetDifference(a, b)]) assert.deepEqual(set, cpuSetOf(set), 'ascending, no member twice');
    assert.deepEqual(cpuSetUnion(a, cpuSetUnion(b, c)), cpuSetUnion(cpuSetUnion(a, b), c));
    assert.deepEqual(cpuSetUnion(cpuSetDifference(a, b), cpuSetIntersection(a, b)), a);
    assert.equal(isCpuSubset(a, b), equalCpuSets(cpuSetIntersection(a, b), a));
    assert.deepEqual(parseCpuSet(formatCpuSet(a)), { ok: true, value: a });
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 100 }));
});

function topologyOf(cores: readonly PhysicalCore[]): CpuTopology {
  const result = discoverCpuTopology(cores);
  if (!result.ok) throw new Error(result.error);
  return result.topology;
}

/** Sockets with one or two nodes each, cores with one or two threads, uniform or mixed; ids dense, siblings neighbours or far apart. */
const anyMachine: fc.Arbitrary<readonly PhysicalCore[]> = fc
  .record({
    sockets: fc.integer({ min: 1, max: 2 }),
    nodesPerSocket: fc.integer({ min: 1, max: 3 }),
    widths: fc.array(fc.constantFrom(1, 2), { minLength: 2, maxLength: 6 }),
    uniform: fc.boolean(),
    farSiblings: fc.boolean(),
    caches: fc.option(fc.integer({ min: 1, max: 3 })),
  })
  .map(({ sockets, nodesPerSocket, widths, uniform, farSiblings, caches }) => {
    const places = Array.from({ length: sockets * nodesPerSocket * widths.length }, (_, index) => ({
      numaNode: Math.floor(index / widths.length),
      socket: Math.floor(index / (widths.length * nodesPerSocket)),
      uncoreCache: caches === null ? null : Math.floor(index / Math.ceil(widths.length / caches)),
      width: uniform ? widths[0]! : widths[index % widths.length]!,
    }));
    let next = farSiblings ? places.length : 0;
    return places.map(({ width, ...place }, index) => {
      const first = farSiblings ? index : next++;
      return { ...place, threads: width === 1 ? [first] : [first, next++] };
    });
  });

const anyOptions: fc.Arbitrary<StaticPolicyOptions> = fc.constantFrom(
  noCpuOptions,
  ...(['fullPcpusOnly', 'distributeCpusAcrossNuma', 'distributeCpusAcrossCores', 'preferAlignCpusByUncoreCache', 'alignBySocket'] as const).map((name) => ({
    ...noCpuOptions,
    [name]: true,
  })),
  { ...noCpuOptions, fullPcpusOnly: true, distributeCpusAcrossNuma: true },
);

t.test('a take is exactly what was asked for, out of what was offered', async (t) => {
  const property = fc.property(anyMachine, anyOptions, fc.nat(), fc.infiniteStream(fc.nat(3)), (cores, options, wanted, chance) => {
    const topology = topologyOf(cores);
    const offered = topology.all.filter(() => chance.next().value !== 0);
    const count = wanted % (topology.all.length + 2);
    const take = takeByTopology(topology, options, offered, count);
    assert.equal(take.ok, count <= offered.length);
    if (!take.ok) return;
    assert.equal(take.cpus.length, count);
    assert.ok(isCpuSubset(take.cpus, offered), `${formatCpuSet(take.cpus)} of ${formatCpuSet(offered)}`);
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2000 }));
});

t.test('hybrid processors: two wide and three narrow cores', async (t) => {
  const cores: PhysicalCore[] = [[0, 1], [2, 3], [4], [5], [6]].map((threads) => ({ numaNode: 0, socket: 0, uncoreCache: null, threads }));
  const topology = topologyOf(cores);
  const whole = { ...noCpuOptions, fullPcpusOnly: true };
  const rows: readonly (readonly [string, StaticPolicyOptions, string, number, string])[] = [
    ['a whole wide core', whole, '0-6', 2, '0-1'],
    ['both wide cores', whole, '0-6', 4, '0-3'],
    ['wide cores, then narrow ones', whole, '0-6', 6, '0-5'],
    ['narrow cores where no wide one is whole', whole, '1,3-6', 2, '4-5'],
    ['a wide core with one thread gone is no whole core', noCpuOptions, '0,2-3', 2, '2-3'],
    ['one CPU breaks no wide core', noCpuOptions, '0-6', 1, '4'],
    ['only what was offered', noCpuOptions, '1,3', 2, '1,3'],
  ];
  for (const [name, options, offered, count, expected] of rows) {
    const parsed = parseCpuSet(offered);
    const take = takeByTopology(topology, options, parsed.ok ? parsed.value : [], count);
    t.equal(take.ok && formatCpuSet(take.cpus), expected, name);
  }
});

t.test('even shares end where no node has a whole group left', async (t) => {
  const cores = Array.from({ length: 8 }, (_, i) => ({ numaNode: Math.floor(i / 2), socket: 0, uncoreCache: null, threads: [2 * i, 2 * i + 1] }));
  const options = { ...noCpuOptions, fullPcpusOnly: true, distributeCpusAcrossNuma: true };
  const take = takeByTopology(topologyOf(cores), options, [0, 2, 4, 6, 8, 10, 12, 14], 4);
  t.equal(take.ok && take.cpus.length, 4);
});

const guaranteed = (name: string, cpu: string, restartPolicy?: 'Always'): Container => ({
  ...{ name, image: '' },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
  resources: { requests: { cpu, memory: '1Gi' }, limits: { cpu, memory: '1Gi' } },
});
const podOf = (uid: string, containers: Container[], initContainers: Container[] = []): Pod => ({ metadata: { name: `pod-${uid}`, uid }, spec: { containers, initContainers } });

function configOf(cores: readonly PhysicalCore[], policyOptions: Record<string, string>, stateFile: string | null): CpuManagerConfig {
  return {
    ...{ policy: 'static', policyOptions, gates: { alpha: true, beta: true }, topologyManagerPolicy: 'best-effort', cores, reservedCpus: [] },
    ...{ cpuReservation: mustParseQuantity('1'), stateDirectory: '/var/lib/kubelet', stateFile, containers: new Map() },
  };
}

function started(config: CpuManagerConfig): CpuManager {
  const start = startCpuManager(config);
  if (!start.ok) throw new Error(start.error);
  return start.manager;
}

class SimNode {
  readonly pods = new Map<string, Pod>();
  readonly topology: TopologyManager;
  manager: CpuManager;
  sourcesReady = true;

  constructor(
    readonly cores: readonly PhysicalCore[],
    readonly options: Record<string, string>,
  ) {
    const numaNodes = [...new Set(cores.map(({ numaNode }) => numaNode))].map((id) => ({ id, distances: null }));
    const topology = newTopologyManager({ policy: 'best-effort', scope: 'container', policyOptions: {}, numaNodes });
    if (!topology.ok) throw new Error(topology.error);
    this.topology = topology.manager;
    this.manager = started(configOf(cores, options, null));
  }

  active() {
    return activePodsBy((uid) => this.pods.get(uid), this.sourcesReady);
  }

  admit(pod: Pod): boolean {
    this.pods.set(pod.metadata.uid!, pod);
    const admitted = continueAdmission(this.topology, beginAdmission(pod), pod, [cpuHintProvider(this.manager, this.active())]).kind === 'admitted';
    if (!admitted) this.pods.delete(pod.metadata.uid!);
    return admitted;
  }

  restart(): void {
    this.manager = started(configOf(this.cores, this.options, cpuStateFile(this.manager)));
  }
}

const anyPodShape = fc.record({
  apps: fc.array(fc.constantFrom('1', '2', '3', '4', '1500m'), { minLength: 1, maxLength: 3 }),
  inits: fc.array(fc.tuple(fc.constantFrom('1', '2', '4'), fc.boolean()), { maxLength: 2 }),
});
const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('admit' as const), shape: anyPodShape }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('remove' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restart' as const) }) },
);
const optionSets = [
  {},
  { 'full-pcpus-only': 'true' },
  { 'strict-cpu-reservation': 'true' },
  { 'distribute-cpus-across-numa': 'true' },
  { 'prefer-align-cpus-by-uncorecache': 'true' },
];

t.test('exclusive CPUs are disjoint, allocatable, and given back exactly', async (t) => {
  const property = fc.property(anyMachine, fc.constantFrom(...optionSets), fc.array(anyStep, { maxLength: 14 }), (cores, options, steps) => {
    const node = new SimNode(cores, options);
    const fresh = cpuStateFile(node.manager);
    let serial = 0;
    for (const step of steps) {
      if (step.op === 'admit') {
        const inits = step.shape.inits.map(([cpu, sidecar], i) => guaranteed(`i${i}`, cpu, sidecar ? 'Always' : undefined));
        const apps = step.shape.apps.map((cpu, i) => guaranteed(`c${i}`, cpu));
        node.admit(podOf(`u${serial++}`, apps, inits));
      } else if (step.op === 'remove') {
        const uids = [...node.pods.keys()];
        if (uids.length > 0) node.pods.delete(uids[step.which % uids.length]!);
      } else if (node.manager.sharedPool.length > 0) {
        // With strict reservation all CPUs may be taken; a file that says so is refused, as a Go kubelet refuses it.
        node.restart();
      }
      checkInvariants(node);
    }
    node.pods.clear();
    collectStaleCpus(node.manager, node.active());
    assert.equal(cpuStateFile(node.manager), fresh, 'as if nothing had ever run');
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 200 }));
});

function checkInvariants(node: SimNode): void {
  const { manager } = node;
  const allocatable = allocatableExclusiveCpus(manager);
  let taken: CpuSet = [];
  for (const [uid, containers] of manager.assignments) {
    const spec = node.pods.get(uid)?.spec;
    const plainInit = (name: string): boolean => spec?.initContainers?.some((init) => init.name === name && init.restartPolicy !== 'Always') === true;
    const running = [...containers].filter(([name]) => !plainInit(name));
    const ofPod = cpuSetOf([...containers.values()].flat());
    if (spec !== undefined)
      assert.equal(
        running.reduce((sum, [, cpus]) => sum + cpus.length, 0),
        cpuSetOf(running.flatMap(([, cpus]) => [...cpus])).length,
        'containers that run together share nothing',
      );
    assert.equal(cpuSetIntersection(taken, ofPod).length, 0, 'pods share nothing');
    taken = cpuSetUnion(taken, ofPod);
  }
  assert.ok(isCpuSubset(taken, allocatable));
  assert.equal(cpuSetIntersection(taken, manager.sharedPool).length, 0);
  const { policy } = manager;
  const strict = policy!.options.strictCpuReservation ? policy!.reserved : [];
  assert.deepEqual(cpuSetUnion(taken, manager.sharedPool), cpuSetDifference(policy!.topology.all, strict));
}

t.test('nothing is freed before all sources have reported', async (t) => {
  const cores = Array.from({ length: 4 }, (_, i) => ({ numaNode: 0, socket: 0, uncoreCache: null, threads: [i, i + 4] }));
  const node = new SimNode(cores, {});
  t.ok(node.admit(podOf('a', [guaranteed('c', '2')])));
  t.ok(hasExclusiveCpus(node.manager, 'a'));
  node.restart();
  node.sourcesReady = false;
  node.pods.clear();
  collectStaleCpus(node.manager, node.active());
  t.equal(formatCpuSet(containerCpus(node.manager, 'a', 'c')), '1,5');
  node.sourcesReady = true;
  collectStaleCpus(node.manager, node.active());
  t.equal(formatCpuSet(node.manager.sharedPool), '0-7');
  t.notOk(hasExclusiveCpus(node.manager, 'a'));
});

t.test('KB053: a state file cut off anywhere is a reason not to start, with the remedy', async (t) => {
  const cores = [{ numaNode: 0, socket: 0, uncoreCache: null, threads: [0, 1, 2, 3] }];
  const node = new SimNode(cores, {});
  node.admit(podOf('a', [guaranteed('c', '2')]));
  const text = cpuStateFile(node.manager);
  for (let length = 0; length < text.length; length++) {
    const start = startCpuManager(configOf(cores, {}, text.slice(0, length)));
    t.match(start, { ok: false, error: /^could not restore state from checkpoint: .*"\/var\/lib\/kubelet\/cpu_manager_state" before restarting Kubelet$/ });
  }
  t.ok(startCpuManager(configOf(cores, {}, text)).ok);
  const altered = text.replace(/"checksum":(\d)/, (_all, digit: string) => `"checksum":${digit === '1' ? 2 : 1}`);
  t.not(altered, text);
  t.match(startCpuManager(configOf(cores, {}, altered)), { ok: false, error: /^could not restore state from checkpoint: .*corrupted.*cpu_manager_state/ }, 'another checksum');
  const differs = /^could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static".*cpu_manager_state/;
  t.match(startCpuManager({ ...configOf(cores, {}, text), policy: 'none' }), { ok: false, error: differs }, 'another policy');
  const smaller = [{ numaNode: 0, socket: 0, uncoreCache: null, threads: [0, 1, 2] }];
  t.match(startCpuManager(configOf(smaller, {}, text)), { ok: false, error: 'current set of available CPUs "0-2" doesn\'t match with CPUs in state "0-3"' }, 'a CPU is offline');
});

t.test('hints that keep to sockets: no more sockets than the fewest nodes need', async (t) => {
  // Two sockets of two NUMA nodes, two CPUs a node.
  const cores = [0, 1, 2, 3].map((numaNode) => ({ numaNode, socket: numaNode >> 1, uncoreCache: null, threads: [numaNode, numaNode + 4] }));
  const discovery = discoverCpuTopology(cores);
  if (!discovery.ok) throw new Error(discovery.error);
  const { topology } = discovery;
  const preferred = (available: CpuSet, request: number): string[] =>
    cpuHints(topology, true, available, [], request).flatMap((hint) => (hint.preferred ? [(hint.numaNodes ?? []).join()] : []));
  t.strictSame(preferred([2, 3, 6, 7], 2), ['2', '3', '2,3'], 'one node would do: two of one socket, too');
  t.strictSame(preferred(topology.all, 5), ['0,1,2', '0,1,3', '0,2,3', '1,2,3', '0,1,2,3'], 'three nodes need two sockets: all four, too');
  t.strictSame(preferred([...topology.all, 99], 9), [], 'a CPU that the machine does not have serves nobody');
});
