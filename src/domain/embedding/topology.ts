// Topology alignment for embedders: merges the preferences of all resources of a container into one affinity. The topology manager (KEP-693).
import { type MergedHint, mergeHints as mergeHintsOf } from '../topology-manager/merge-hints.js';
import type { ProviderHints } from '../topology-manager/topology-hint.js';
import {
  newTopologyManager as newTopologyManagerOf,
  type TopologyManager,
  type TopologyManagerConfig,
  type TopologyManagerResult,
  topologyPolicies,
} from '../topology-manager/topology-manager.js';
import { cpuSetShape } from './cpu-sets.js';
import { checkArgument, dictionaryOf, expected, flag, listOf, mapOf, nullable, oneOf, recordOf, type Shape, someMap, text, wholeNumber } from './shape.js';

const id = wholeNumber(0, Number.MAX_SAFE_INTEGER);
const distances = listOf((value, path) => (typeof value === 'number' && value >= 0 ? null : expected(path, 'a number from 0 up', value)));
const configShape = recordOf({ policy: text, scope: text, policyOptions: dictionaryOf(text), numaNodes: listOf(recordOf({ id, distances: nullable(distances) })) });
const managerShape = recordOf({
  ...{ policy: oneOf(topologyPolicies), scope: oneOf(['none', 'container', 'pod']), numaNodeIds: listOf(id) },
  ...{ distances: nullable(listOf(distances)), hints: someMap },
});

/** Nodes that the machine lacks can't be intersected with its own. */
function providersShape(manager: TopologyManager): Shape {
  const known = new Set(manager.numaNodeIds);
  const nodes: Shape = (value, path) => {
    const problem = cpuSetShape(value, path);
    if (problem !== null) return problem;
    const stranger = (value as readonly number[]).find((node) => !known.has(node));
    return stranger === undefined ? null : `${path}: the machine has no NUMA node ${stranger}`;
  };
  return listOf(nullable(mapOf(nullable(listOf(recordOf({ numaNodes: nullable(nodes), preferred: flag }))))));
}

/**
 * The topology manager's policy and scope on a machine, from the settings of a KubeletConfiguration.
 * @param config distances are ACPI's (SLIT), to the i-th node of the list
 * @returns the manager, or the error with which a kubelet refuses to start
 * @throws AssertionFailed where a field of `config` has another type
 */
export function newTopologyManager(config: TopologyManagerConfig): TopologyManagerResult {
  checkArgument('config', config, configShape);
  return newTopologyManagerOf(config);
}

/**
 * The best hint of a container (or pod), and whether the policy admits it. A combination takes one hint of every resource.
 * @param providers each one's answer, resource -> hints; a null list has no preference, an empty one no possible placement
 * @throws AssertionFailed where an argument has another type, or a hint names a node that the manager doesn't know
 */
export function mergeHints(manager: TopologyManager, providers: readonly (ProviderHints | null)[]): MergedHint {
  checkArgument('manager', manager, managerShape);
  checkArgument('providers', providers, providersShape(manager));
  return mergeHintsOf(manager, providers);
}
