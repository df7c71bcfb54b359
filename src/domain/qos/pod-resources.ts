// The total resources of a pod: containers, init containers, sidecars, overhead and pod-level resources.
// Admission, eviction, cgroups, resize and the pod's status all use these sums.
// Invariant: ephemeral containers never count; a name present with 0 stays present.
import type { Container, ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { addQuantities, compareQuantities, isZeroQuantity, mustParseQuantity, type Quantity, quantityText, zeroQuantity } from '../values/quantity.js';

export type Quantities = ReadonlyMap<string, Quantity>;

export interface PodResourcesOptions {
  /** Leave `spec.overhead` out. */
  readonly excludeOverhead?: boolean;
  /** Count only containers, ignoring `spec.resources`. */
  readonly skipPodLevel?: boolean;
  /** Count the actual use: the maximum of the spec, actuated and allocated values of containers that report them. */
  readonly useStatus?: boolean;
}

type Side = 'requests' | 'limits';

/** Effective requests of the pod. */
export function podRequests(pod: Pod, options: PodResourcesOptions = {}): Quantities {
  const total = aggregate(pod, 'requests', options);
  if (options.excludeOverhead !== true) add(total, parsedList(pod.spec.overhead));
  return total;
}

/** Effective limits of the pod. Overhead only raises a limit that exists: without one the pod is unlimited anyway. */
export function podLimits(pod: Pod, options: PodResourcesOptions = {}): Quantities {
  const total = aggregate(pod, 'limits', options);
  if (options.excludeOverhead === true) return total;
  for (const [name, amount] of parsedList(pod.spec.overhead)) {
    const limit = total.get(name);
    if (limit !== undefined && !isZeroQuantity(limit)) total.set(name, addQuantities(limit, amount));
  }
  return total;
}

/** Whether `spec.resources` of a pod may have the resource. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** Whether `spec.resources` sets requests (or limits) for something that counts on pod level. */
export function hasPodLevel(pod: Pod, side: Side): boolean {
  return Object.keys(pod.spec.resources?.[side] ?? {}).some(isPodLevelResource);
}

export function parsedList(list: ResourceList | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, mustParseQuantity(text)]));
}

/** On the wire, names in order. */
export function resourceListOf(quantities: Quantities): ResourceList {
  const names = [...quantities.keys()].sort();
  return Object.fromEntries(names.map((name) => [name, quantityText(quantities.get(name)!)]));
}

function aggregate(pod: Pod, side: Side, options: PodResourcesOptions): Map<string, Quantity> {
  const total = aggregateContainers(pod, side, options.useStatus === true);
  if (options.skipPodLevel === true || !hasPodLevel(pod, side)) return total;
  const spec = parsedList(pod.spec.resources?.[side]);
  const effective = options.useStatus === true ? inUse(pod, spec, pod.status, side) : spec;
  // The spec has the names of the pod-level resources, the status at most their values: an infeasible one that was never actuated counts as none.
  for (const name of spec.keys()) {
    if (isPodLevelResource(name)) total.set(name, effective.get(name) ?? zeroQuantity);
  }
  return total;
}

/**
 * Containers alone. Init containers run one after the other, each beside the sidecars declared before it:
 * the largest such moment competes with all regular containers and sidecars together.
 */
function aggregateContainers(pod: Pod, side: Side, useStatus: boolean): Map<string, Quantity> {
  const total = new Map<string, Quantity>();
  const sidecars = new Map<string, Quantity>();
  const initPeak = new Map<string, Quantity>();
  for (const container of pod.spec.containers) add(total, containerQuantities(pod, container, pod.status?.containerStatuses, side, useStatus));
  for (const container of pod.spec.initContainers ?? []) {
    const sidecar = isRestartableInit(container);
    const own = containerQuantities(pod, container, pod.status?.initContainerStatuses, side, useStatus && sidecar);
    if (sidecar) {
      add(total, own);
      add(sidecars, own);
      raise(initPeak, sidecars);
    } else {
      const moment = new Map(own);
      add(moment, sidecars);
      raise(initPeak, moment);
    }
  }
  raise(total, initPeak);
  return total;
}

function containerQuantities(pod: Pod, container: Container, statuses: readonly ContainerStatus[] | undefined, side: Side, useStatus: boolean): Quantities {
  const spec = parsedList(container.resources?.[side]);
  if (!useStatus) return spec;
  const status = statuses?.find((candidate) => candidate.name === container.name);
  return inUse(pod, spec, status, side);
}

/** The largest of spec, actuated and (requests) allocated values; an infeasible resize excludes the spec. */
function inUse(pod: Pod, spec: Quantities, status: Pick<ContainerStatus | PodStatus, 'resources' | 'allocatedResources'> | undefined, side: Side): Quantities {
  const actuated: ResourceRequirements | undefined = status?.resources;
  if (status === undefined || actuated === undefined) return spec;
  const most = isResizeInfeasible(pod) ? new Map<string, Quantity>() : new Map(spec);
  raise(most, parsedList(actuated[side]));
  if (side === 'requests') raise(most, parsedList(status.allocatedResources));
  return most;
}

function isResizeInfeasible(pod: Pod): boolean {
  return pod.status?.conditions?.some((condition) => condition.type === 'PodResizePending' && condition.reason === 'Infeasible') === true;
}

function add(total: Map<string, Quantity>, more: Quantities): void {
  for (const [name, amount] of more) {
    const sum = total.get(name);
    total.set(name, sum === undefined ? amount : addQuantities(sum, amount));
  }
}

function raise(total: Map<string, Quantity>, others: Quantities): void {
  for (const [name, amount] of others) {
    const present = total.get(name);
    if (present === undefined || compareQuantities(amount, present) > 0) total.set(name, amount);
  }
}
