// The CPU manager's topology hints: on which sets of NUMA nodes a request could be served now, and which of them are as small as any could be.
import { forEachSubset } from '../topology-manager/numa-mask.js';
import type { TopologyHint } from '../topology-manager/topology-hint.js';
import { type CpuSet, cpuSetOf } from '../values/cpu-set.js';
import { type CpuTopology, cpusIn, groupsOf } from './cpu-topology.js';

/** `reusable`: CPUs that the pod's finished init containers leave to it; a hint has to include all of their nodes. */
export function cpuHints(topology: CpuTopology, alignBySocket: boolean, available: CpuSet, reusable: CpuSet, request: number): TopologyHint[] {
  const nodes = cpuSetOf(topology.groups.numaNode.keys());
  const usable = countByNode(topology, [...available, ...reusable]);
  const mustInclude = groupsOf(topology, 'numaNode', reusable);
  let fewest = nodes.length;
  const fitting: (readonly number[])[] = [];
  forEachSubset(nodes, (subset) => {
    const total = subset.reduce((sum, node) => sum + topology.groups.numaNode.get(node)!.length, 0);
    if (total >= request) fewest = Math.min(fewest, subset.length);
    if (!mustInclude.every((node) => subset.includes(node))) return;
    if (subset.reduce((sum, node) => sum + (usable.get(node) ?? 0), 0) >= request) fitting.push(subset);
  });
  return fitting.map((numaNodes) => ({ numaNodes, preferred: numaNodes.length === fewest || (alignBySocket && isSocketAligned(topology, numaNodes, fewest)) }));
}

function countByNode(topology: CpuTopology, cpus: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const cpu of cpus) {
    const node = topology.cpus.get(cpu)?.numaNode;
    if (node !== undefined) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

/** Whether the nodes are in no more sockets than the fewest nodes would need. */
function isSocketAligned(topology: CpuTopology, numaNodes: readonly number[], fewestNodes: number): boolean {
  const nodesPerSocket = Math.floor(topology.groups.numaNode.size / topology.groups.socket.size);
  if (nodesPerSocket === 0) return false;
  return groupsOf(topology, 'socket', cpusIn(topology, 'numaNode', numaNodes)).length === Math.ceil(fewestNodes / nodesPerSocket);
}
