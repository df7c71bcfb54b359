// The cost of aligning pods: merging the hints of six resources on a machine with eight NUMA nodes, and allocating and releasing
// exclusive CPUs on a machine with 256 CPUs, for 10, 100 and 1000 pods; and one allocation on machines of growing size.
// Output, one line each: {"bench", ..., "items", "totalMs", "growth"}; growth is the exponent k of the fitted cost c * n^k, so that
// 1 means that a pod costs the same for any number of earlier ones. The merge is compared with trying every combination ("ratio" < 1 is a
// gain), for two resources, since six would take years.
import { cpuHintProvider } from '../src/domain/cpu-manager/cpu-hint-provider.js';
import { cpuStateFile, startCpuManager } from '../src/domain/cpu-manager/cpu-manager.js';
import { noCpuOptions } from '../src/domain/cpu-manager/cpu-options.js';
import { discoverCpuTopology, type PhysicalCore } from '../src/domain/cpu-manager/cpu-topology.js';
import { takeByTopology } from '../src/domain/cpu-manager/take-cpus.js';
import { activePodsBy } from '../src/domain/topology-manager/active-pods.js';
import { mergeHints } from '../src/domain/topology-manager/merge-hints.js';
import { forEachSubset } from '../src/domain/topology-manager/numa-mask.js';
import { beginAdmission, continueAdmission } from '../src/domain/topology-manager/pod-admission.js';
import type { ProviderHints, TopologyHint } from '../src/domain/topology-manager/topology-hint.js';
import { newTopologyManager, type TopologyManager } from '../src/domain/topology-manager/topology-manager.js';
import { mustParseQuantity } from '../src/domain/values/quantity.js';
import type { Pod } from '../src/ports/model/pod.js';

const sizes = [10, 100, 1000] as const;
const samples = 3;
const nodeIds = Array.from({ length: 8 }, (_, id) => id);

/** The fastest of a few runs: what the machine was otherwise busy with is left out. */
function fastestMs(run: () => void): number {
  const timings = Array.from({ length: samples }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  });
  return Math.min(...timings);
}

/** Least squares on the logarithms. */
function growth(counts: readonly number[], costs: readonly number[]): number {
  const xs = counts.map(Math.log);
  const ys = costs.map(Math.log);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [mx, my] = [mean(xs), mean(ys)];
  const slope = xs.reduce((sum, x, i) => sum + (x - mx) * (ys[i]! - my), 0) / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0);
  return rounded(slope);
}

function rounded(value: number): number {
  return Number(value.toFixed(3));
}

function report(bench: string, facts: object, items: readonly number[], run: (count: number) => void): void {
  run(items[0]!);
  const totalMs = items.map((count) => fastestMs(() => run(count)));
  console.log(JSON.stringify({ bench, ...facts, items, totalMs: totalMs.map(rounded), growth: growth(items, totalMs) }));
}

function managerOf(): TopologyManager {
  const result = newTopologyManager({ policy: 'best-effort', scope: 'container', policyOptions: {}, numaNodes: nodeIds.map((id) => ({ id, distances: null })) });
  if (!result.ok) throw new Error(result.error);
  return result.manager;
}

/** Every set of at least `least` nodes that touches `home`: no two resources prefer the same, so the slow way is taken. */
function hintsOf(home: number, least: number): readonly TopologyHint[] {
  const hints: TopologyHint[] = [];
  forEachSubset(nodeIds, (numaNodes) => {
    if (numaNodes.length >= least && (numaNodes.includes(home) || numaNodes.length > least))
      hints.push({ numaNodes, preferred: numaNodes.length === least && numaNodes[0] === home });
  });
  return hints;
}

function resources(count: number): ProviderHints {
  return new Map(Array.from({ length: count }, (_, index) => [`resource-${index}`, hintsOf(index, 1 + (index % 3))]));
}

/** The best combination of two lists by enumeration; only the costly part of the rule. */
function everyCombination(hints: ProviderHints): number {
  const masks = [...hints.values()].map((list) => list!.map(({ numaNodes }) => numaNodes!.reduce((mask, id) => mask | (1 << id), 0)));
  let best = 0;
  for (const a of masks[0]!) for (const b of masks[1]!) if ((a & b) !== 0 && (best === 0 || (a & b) < best)) best = a & b;
  return best;
}

function benchMerge(): void {
  const manager = managerOf();
  const hints = [resources(6)];
  const lists = [...hints[0]!.values()].map((list) => list!.length);
  report('topology-merge', { numaNodes: 8, resources: 6, hintsPerResource: lists }, sizes, (count) => {
    for (let i = 0; i < count; i++) mergeHints(manager, hints);
  });
  const two = resources(2);
  const ours = fastestMs(() => void mergeHints(manager, [two]));
  const enumerated = fastestMs(() => void everyCombination(two));
  console.log(JSON.stringify({ bench: 'topology-merge-two-resources', mergeMs: rounded(ours), everyCombinationMs: rounded(enumerated), ratio: rounded(ours / enumerated) }));
}

/** Two sockets, four NUMA nodes each, two threads a core, siblings far apart. */
function machine(cpus: number): PhysicalCore[] {
  const cores = cpus / 2;
  return Array.from({ length: cores }, (_, core) => ({
    numaNode: Math.floor((core * 8) / cores),
    socket: Math.floor((core * 2) / cores),
    uncoreCache: Math.floor(core / 8),
    threads: [core, core + cores],
  }));
}

function podOf(index: number): Pod {
  const amounts = { cpu: String(1 + (index % 7)), memory: '1Gi' };
  return { metadata: { name: `pod-${index}`, uid: `uid-${index}` }, spec: { containers: [{ name: 'c', image: '', resources: { requests: amounts, limits: amounts } }] } };
}

/** Pods come and go, up to 50 at a time; the state file is made after each, as it would be written. */
function alignPods(count: number): void {
  const topology = managerOf();
  const start = startCpuManager({
    ...{ policy: 'static', policyOptions: {}, gates: { alpha: false, beta: true }, topologyManagerPolicy: 'best-effort', cores: machine(256) },
    ...{ cpuReservation: mustParseQuantity('4'), reservedCpus: [], stateDirectory: '/', stateFile: null, containers: new Map() },
  });
  if (!start.ok) throw new Error(start.error);
  const pods = new Map<string, Pod>();
  const providers = [
    cpuHintProvider(
      start.manager,
      activePodsBy((uid) => pods.get(uid), true),
    ),
  ];
  for (let index = 0; index < count; index++) {
    const pod = podOf(index);
    pods.set(pod.metadata.uid!, pod);
    pods.delete(`uid-${index - 50}`);
    const answer = continueAdmission(topology, beginAdmission(pod), pod, providers);
    if (answer.kind !== 'admitted') throw new Error(`pod ${index} was not admitted`);
    cpuStateFile(start.manager);
  }
}

function benchTakes(): void {
  const counts = [64, 256, 1024, 4096];
  const topologies = new Map(
    counts.map((cpus) => {
      const discovery = discoverCpuTopology(machine(cpus));
      if (!discovery.ok) throw new Error(discovery.error);
      return [cpus, discovery.topology];
    }),
  );
  for (const [name, options] of [
    ['packed', noCpuOptions],
    ['distributed', { ...noCpuOptions, distributeCpusAcrossNuma: true }],
  ] as const) {
    report('cpu-take', { kind: name, unit: 'CPUs of the machine; an odd quarter of them is taken' }, counts, (cpus) => {
      const topology = topologies.get(cpus)!;
      for (let i = 0; i < 20; i++) if (!takeByTopology(topology, options, topology.all.slice(1), cpus / 4 + 1).ok) throw new Error('not enough CPUs');
    });
  }
}

benchMerge();
report('cpu-assignment', { cpus: 256, numaNodes: 8, livePods: 50 }, sizes, alignPods);
benchTakes();
