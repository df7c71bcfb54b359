// The device manager's topology hints: for each device resource among the limits, the sets of NUMA nodes whose devices could serve it now.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { parsedList } from '../qos/pod-resources.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { forEachSubset } from '../topology-manager/numa-mask.js';
import type { ProviderHints, TopologyHint } from '../topology-manager/topology-hint.js';
import { quantityValue } from '../values/quantity.js';
import { byCodeUnits } from '../values/text-order.js';
import { containerDevices, type Device, type DeviceManager, isDeviceResource } from './device-state.js';

/** Device resources among the limits, in order of their names. */
function deviceRequests(manager: DeviceManager, container: Container): Map<string, number> {
  const limits = parsedList(container.resources?.limits);
  const names = [...limits.keys()].filter((name) => isDeviceResource(manager, name)).sort(byCodeUnits);
  return new Map(names.map((name) => [name, Number(quantityValue(limits.get(name)!))]));
}

export function deviceContainerHints(manager: DeviceManager, pod: Pod, container: Container): ProviderHints {
  const podUid = pod.metadata.uid ?? '';
  const reusable = manager.reusable?.podUid === podUid ? manager.reusable.devices : null;
  const answers = [...deviceRequests(manager, container)].map(([resource, count]) => {
    const recorded = containerDevices(manager, podUid, container.name, resource) ?? new Set<string>();
    return [resource, resourceHints(manager, resource, count, recorded, reusable?.get(resource) ?? new Set())] as const;
  });
  return new Map(answers);
}

export function devicePodHints(manager: DeviceManager, pod: Pod): ProviderHints {
  const podUid = pod.metadata.uid ?? '';
  const containers = [...(manager.podDevices.get(podUid)?.keys() ?? [])];
  const answers = [...podRequests(manager, pod)].map(([resource, count]) => {
    const recorded = new Set(containers.flatMap((name) => [...(containerDevices(manager, podUid, name, resource) ?? [])]));
    return [resource, resourceHints(manager, resource, count, recorded, new Set())] as const;
  });
  return new Map(answers);
}

/** Init containers one after the other beside the sidecars before them, against everything that runs together. */
function podRequests(manager: DeviceManager, pod: Pod): Map<string, number> {
  const initPeak = new Map<string, number>();
  const sidecars = new Map<string, number>();
  const together = new Map<string, number>();
  const plus = (map: ReadonlyMap<string, number>, name: string, count: number): number => (map.get(name) ?? 0) + count;
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, count] of deviceRequests(manager, container)) {
      if (isRestartableInit(container)) {
        sidecars.set(name, plus(sidecars, name, count));
        together.set(name, plus(together, name, count));
      } else {
        initPeak.set(name, Math.max(initPeak.get(name) ?? 0, plus(sidecars, name, count)));
      }
    }
  }
  for (const container of pod.spec.containers) for (const [name, count] of deviceRequests(manager, container)) together.set(name, plus(together, name, count));
  const names = [...new Set([...initPeak.keys(), ...together.keys()])].sort(byCodeUnits);
  return new Map(names.map((name) => [name, Math.max(initPeak.get(name) ?? 0, together.get(name) ?? 0)]));
}

/** null: no device of the resource is anywhere in particular. Empty: it can't be served. */
function resourceHints(manager: DeviceManager, name: string, count: number, recorded: ReadonlySet<string>, reusable: ReadonlySet<string>): TopologyHint[] | null {
  const resource = manager.resources.get(name);
  if (resource === undefined || !hasTopology(resource.devices)) return null;
  if (recorded.size > 0) return recorded.size === count ? hintsFrom(manager, resource.devices, recorded, new Set(), count) : [];
  const taken = manager.allocated.get(name);
  const available = new Set([...(resource.healthy ?? [])].filter((id) => taken?.has(id) !== true));
  const usable = new Set([...available, ...reusable]);
  return usable.size < count ? [] : hintsFrom(manager, resource.devices, available, reusable, count);
}

export function hasTopology(devices: ReadonlyMap<string, Device>): boolean {
  return [...devices.values()].some(({ numaNodes }) => numaNodes.length > 0);
}

/** Every device that is reused and close to some node must be close to one of the set. */
function hintsFrom(manager: DeviceManager, devices: ReadonlyMap<string, Device>, available: ReadonlySet<string>, reusable: ReadonlySet<string>, count: number): TopologyHint[] {
  const hosting = new Set([...devices.values()].flatMap(({ numaNodes }) => numaNodes));
  const known = manager.numaNodes.filter((id) => hosting.has(id));
  const nodes = known.length > 0 ? known : manager.numaNodes;
  const nodesOf = (id: string): readonly number[] => devices.get(id)?.numaNodes ?? [];
  const bound = [...reusable].filter((id) => nodesOf(id).length > 0);
  const all = [...devices.keys()];
  let fewest = nodes.length;
  const fitting: (readonly number[])[] = [];
  forEachSubset(nodes, (subset) => {
    const touches = (id: string): boolean => nodesOf(id).some((node) => subset.includes(node));
    if (all.filter(touches).length >= count) fewest = Math.min(fewest, subset.length);
    if (!bound.every(touches)) return;
    if (bound.length + [...available].filter(touches).length >= count) fitting.push(subset);
  });
  return fitting.map((numaNodes) => ({ numaNodes, preferred: numaNodes.length === fewest }));
}
