// Derives the facts of a node's status from the machine's reading, the settings, and the agent's current state.
// Invariant: pure; keeps no state.
import type { RuntimeHandler } from '../../ports/outbound/container-runtime.js';
import { machineCapacity, machineFacts, nodeReservation } from '../cgroups/node-allocatable.js';
import { resourceListOf } from '../qos/pod-resources.js';
import { parseIp } from '../values/ip-address.js';
import { canonicalQuantity, quantityOf } from '../values/quantity.js';
import type { DeviceResources } from './node-capacity.js';
import type { Pressures } from './node-conditions.js';
import { imagesBySize, nodeImages } from './node-images.js';
import type { NodeReporter } from './node-reporter-state.js';
import type { NodeSettings } from './node-settings.js';
import type { NodeFacts } from './node-status.js';

/** The agent's own state at the time of a report. */
export interface NodeView {
  /** Why the runtime is unusable, why the network isn't up, why volumes can't be reported; each in order, empty: no problem. */
  readonly runtimeProblems: readonly string[];
  readonly networkProblems: readonly string[];
  readonly storageProblems: readonly string[];
  readonly shuttingDown: boolean;
  readonly pressures: Pressures;
  readonly runtime: { readonly name: string; readonly version: string } | null;
  readonly runtimeHandlers: readonly RuntimeHandler[];
  readonly supplementalGroupsPolicy: boolean | null;
  readonly devices: DeviceResources;
  /** null: volumes are not known yet since the start. */
  readonly volumesInUse: readonly string[] | null;
}

export function factsOf({ settings, machine, addresses, images }: NodeReporter, view: NodeView): NodeFacts {
  const { hostname, nodeIps, externalCloudProvider, localStorageCapacityIsolation } = settings;
  const { interfaceIps = [], dnsAddresses = [], defaultRoute = { ipv4: null, ipv6: null } } = addresses ?? {};
  return {
    nodeName: settings.nodeName,
    architecture: settings.architecture,
    addresses: { hostname, nodeIps, externalCloudProvider, interfaceIps, dnsAddresses, defaultRoute },
    capacity: capacityFacts(settings, machine, view.devices),
    machineIds: machine,
    versions: { kernelVersion: machine?.kernelVersion ?? null, osRelease: machine?.osRelease ?? null, runtime: view.runtime, kubeletVersion: settings.kubeletVersion },
    kubeletPort: settings.kubeletPort,
    images: { ok: true, images: nodeImages(imagesBySize(images), settings.nodeStatusMaxImages) },
    runtimeHandlers: view.runtimeHandlers,
    supplementalGroupsPolicy: view.supplementalGroupsPolicy,
    pressures: view.pressures,
    readiness: { runtime: view.runtimeProblems, network: view.networkProblems, storage: view.storageProblems, shuttingDown: view.shuttingDown, softRequirements: null },
    localStorageCapacityIsolation,
    volumesInUse: view.volumesInUse,
    declaredFeatures: settings.declaredFeatures,
  };
}

/** Whether nothing keeps the node from being ready. */
export function isReady({ runtimeProblems, networkProblems, storageProblems, shuttingDown }: NodeView): boolean {
  return runtimeProblems.length + networkProblems.length + storageProblems.length === 0 && !shuttingDown;
}

/** The name to resolve for the node's address; null: the address has another source. */
export function nameToResolve({ nodeName, hostname, nodeIps, externalCloudProvider }: NodeSettings): string | null {
  const [first = null] = nodeIps;
  if (externalCloudProvider && first === null) return null;
  const isSpecified = first !== null && first !== '0.0.0.0' && first !== '::';
  return isSpecified || parseIp(hostname) !== null ? null : nodeName;
}

function capacityFacts(settings: NodeSettings, machine: NodeReporter['machine'], devices: DeviceResources): NodeFacts['capacity'] {
  const { maxPods, podsPerCore } = settings;
  const disk = settings.localStorageCapacityIsolation ? (machine?.rootFilesystemBytes ?? null) : null;
  const limits = { maxPods, podsPerCore, devices, ephemeralStorage: disk === null ? null : canonicalQuantity(quantityOf(disk, 'BinarySI')) };
  if (machine === null) return { ...limits, machine: null, reservation: {} };
  const { cpus, memoryBytes, hugePages } = machine;
  const capacity = machineCapacity(machineFacts(machine, disk));
  return {
    ...limits,
    machine: { cpus, memoryBytes, hugePages: hugePages.map(({ pageSizeKiB, count }) => ({ pageSizeKiB, numPages: count })) },
    reservation: resourceListOf(nodeReservation(capacity, settings.reservation)),
  };
}
