// The topology manager: the policy and scope of this machine, and the hint chosen for each container.
// Invariant: a manager exists only for a consistent configuration and machine; anything else is an error at start.

import { parseGoAtoi, parseGoBool } from '../values/go-text.js';
import { byCodeUnits } from '../values/text-order.js';
import { maxMaskNodes } from './numa-mask.js';
import { noHint, type TopologyHint } from './topology-hint.js';

export const topologyPolicies = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;
export type TopologyPolicy = (typeof topologyPolicies)[number];
export type TopologyScope = 'none' | 'container' | 'pod';

export interface NumaNode {
  readonly id: number;
  /** To the i-th node of this node's list; null: not reported by the machine. */
  readonly distances: readonly number[] | null;
}

export interface TopologyManagerConfig {
  readonly policy: string;
  readonly scope: string;
  readonly policyOptions: Readonly<Record<string, string>>;
  readonly numaNodes: readonly NumaNode[];
}

export interface TopologyManager {
  readonly policy: TopologyPolicy;
  readonly scope: TopologyScope;
  /** Ascending. */
  readonly numaNodeIds: readonly number[];
  /** By position in `numaNodeIds`, both ways; null: distances don't count (option prefer-closest-numa-nodes). */
  readonly distances: readonly (readonly number[])[] | null;
  /** Pod uid -> container -> the hint that its resources are allocated with. */
  readonly hints: Map<string, Map<string, TopologyHint>>;
}

export type TopologyManagerResult = { readonly ok: true; readonly manager: TopologyManager } | { readonly ok: false; readonly error: string };

const closestOption = 'prefer-closest-numa-nodes';
const maxNodesOption = 'max-allowable-numa-nodes';
/** The cost is 2^n subsets of nodes for each resource; 8 nodes are known to be affordable. */
const defaultMaxNodes = 8;

/** Checks the configuration in this order: options, distances, number of nodes, policy, scope. Policy `none` takes anything. */
export function newTopologyManager(config: TopologyManagerConfig): TopologyManagerResult {
  const numaNodeIds = config.numaNodes.map(({ id }) => id).sort((a, b) => a - b);
  if (config.policy === 'none') return { ok: true, manager: { policy: 'none', scope: 'none', numaNodeIds, distances: null, hints: new Map() } };
  const options = parseOptions(config.policyOptions);
  if (typeof options === 'string') return failed(options);
  const distances = options.preferClosest ? distanceTable(config.numaNodes, numaNodeIds) : null;
  if (options.preferClosest && distances === null) return failed('cannot discover NUMA topology: error getting NUMA distances from cadvisor');
  if (numaNodeIds.length > options.maxNodes) return failed(`unsupported on machines with more than ${options.maxNodes} NUMA Nodes`);
  if (numaNodeIds.length > maxMaskNodes) return failed(`unsupported on machines with more than ${maxMaskNodes} NUMA Nodes`);
  const policy = topologyPolicies.find((name) => name === config.policy);
  if (policy === undefined) return failed(`unknown policy: ${JSON.stringify(config.policy)}`);
  if (config.scope !== 'container' && config.scope !== 'pod') return failed(`unknown scope: ${JSON.stringify(config.scope)}`);
  return { ok: true, manager: { policy, scope: config.scope, numaNodeIds, distances: policy === 'single-numa-node' ? null : distances, hints: new Map() } };
}

/** The hint that was stored for a container when its pod was admitted. */
export function storedHint(manager: TopologyManager, podUid: string, containerName: string): TopologyHint {
  return manager.hints.get(podUid)?.get(containerName) ?? noHint;
}

export function storeHint(manager: TopologyManager, podUid: string, containerName: string, hint: TopologyHint): void {
  const ofPod = manager.hints.get(podUid) ?? new Map<string, TopologyHint>();
  manager.hints.set(podUid, ofPod.set(containerName, hint));
}

/** For removed pods. */
export function forgetHints(manager: TopologyManager, podUid: string): void {
  manager.hints.delete(podUid);
}

function failed(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}

interface Options {
  readonly preferClosest: boolean;
  readonly maxNodes: number;
}

/** The error as text. */
function parseOptions(given: Readonly<Record<string, string>>): Options | string {
  let preferClosest = false;
  let maxNodes = defaultMaxNodes;
  for (const name of Object.keys(given).sort(byCodeUnits)) {
    const text = given[name]!;
    if (name === closestOption) {
      const parsed = parseGoBool(text);
      if (!parsed.ok) return `bad value for option ${JSON.stringify(name)}: ${parsed.error}`;
      preferClosest = parsed.value;
    } else if (name === maxNodesOption) {
      const parsed = parseGoAtoi(text);
      if (!parsed.ok) return `unable to convert policy option to integer ${JSON.stringify(name)}: ${parsed.error}`;
      if (parsed.value < defaultMaxNodes) return `the minimum value of ${JSON.stringify(name)} should not be less than ${defaultMaxNodes}`;
      maxNodes = parsed.value;
    } else {
      return `unknown Topology Manager Policy option: ${JSON.stringify(name)}`;
    }
  }
  return { preferClosest, maxNodes };
}

function distanceTable(nodes: readonly NumaNode[], ids: readonly number[]): number[][] | null {
  const listed = ids.map((id) => nodes.findIndex((node) => node.id === id));
  const table = listed.map((from) => listed.map((to) => nodes[from]?.distances?.[to]));
  return table.every((row) => row.every((distance) => distance !== undefined)) ? (table as number[][]) : null;
}
