// Which CPUs do exclusive requests get on a machine, and how well aligned are they? Run: node examples/embed/cpu-assignment.mjs
import { assignCpus, cpuSetDifference, cpuSetOf, discoverCpuTopology, formatCpuSet, mergeHints, newTopologyManager, noCpuOptions } from 'kubelet-ts/domain';

// Two sockets with a NUMA node each, four cores a node, two threads a core; siblings are eight apart.
const cores = Array.from({ length: 8 }, (_, core) => ({ numaNode: core < 4 ? 0 : 1, socket: core < 4 ? 0 : 1, uncoreCache: null, threads: [core, core + 8] }));
const discovery = discoverCpuTopology(cores);
if (!discovery.ok) throw new Error(discovery.error);
const { topology } = discovery;

// Core 0 is kept for the system.
let free = cpuSetDifference(topology.all, cpuSetOf([0, 8]));
for (const [name, count, options] of [
  ['database', 8, noCpuOptions],
  ['web', 2, noCpuOptions],
  ['odd', 1, noCpuOptions],
  ['spread', 2, { ...noCpuOptions, distributeCpusAcrossCores: true }],
  ['too many', 4, noCpuOptions],
]) {
  const take = assignCpus(topology, options, free, count);
  if (take.ok) free = cpuSetDifference(free, take.cpus);
  console.log(`${name}, ${count} CPUs: ${take.ok ? formatCpuSet(take.cpus) : take.error}`);
}

// A GPU on node 1, CPUs on either: the topology manager brings them together.
const manager = newTopologyManager({
  policy: 'single-numa-node',
  scope: 'container',
  policyOptions: {},
  numaNodes: [
    { id: 0, distances: null },
    { id: 1, distances: null },
  ],
});
if (!manager.ok) throw new Error(manager.error);
const either = [0, 1].map((node) => ({ numaNodes: [node], preferred: true }));
const merged = mergeHints(manager.manager, [new Map([['cpu', either]]), new Map([['example.com/gpu', [{ numaNodes: [1], preferred: true }]]])]);
console.log(`cpu and gpu: NUMA nodes [${merged.hint.numaNodes}], ${merged.admit ? 'admitted' : 'refused'}`);
