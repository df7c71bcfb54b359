// The device manager's state: plugins and their devices, which container has which devices, and tasks in progress.
// Invariants: a device belongs to one container at a time (except for a pod's own finished init containers); devices in use follow from
// the records of containers and from the choices of tasks.
import type { Micros } from '../../ports/micros.js';
import type { ContainerAllocateResponse } from '../checkpoints/allocate-response.js';

export interface Device {
  readonly id: string;
  /** `Healthy`; anything else is unhealthy. */
  readonly health: string;
  /** Ascending; empty: the device is close to no node in particular. */
  readonly numaNodes: readonly number[];
}

export interface PluginOptions {
  readonly preStartRequired: boolean;
  readonly preferredAllocationAvailable: boolean;
}

export interface DeviceResource {
  /** As last listed; stays after the plugin's disconnect, so that health and topology of devices in use stay known. */
  devices: ReadonlyMap<string, Device>;
  /** null: the resource isn't registered (any more). */
  healthy: ReadonlySet<string> | null;
  unhealthy: ReadonlySet<string>;
  /** null: no plugin ever registered, or its grace period has passed. `options` null: known from the checkpoint only. */
  plugin: { readonly options: PluginOptions | null; readonly stoppedAt: Micros | null } | null;
}

export interface ContainerDevices {
  /** NUMA node id (-1: none) -> device ids in order; a device of several nodes is with each. */
  readonly byNuma: ReadonlyMap<number, readonly string[]>;
  readonly response: ContainerAllocateResponse;
}

/** Plain data, changed in place by the functions of this folder. */
export interface DeviceManager {
  /** Ascending ids of the machine's nodes. */
  readonly numaNodes: readonly number[];
  readonly resources: Map<string, DeviceResource>;
  /** Pod uid -> container -> resource -> its devices. */
  readonly podDevices: Map<string, Map<string, Map<string, ContainerDevices>>>;
  /** Resource -> devices that are taken, those that a task has just picked included. */
  allocated: Map<string, Set<string>>;
  /** Resource -> devices that finished init containers leave to later containers; only of the pod that was admitted last. */
  reusable: { readonly podUid: string; readonly devices: Map<string, ReadonlySet<string>> } | null;
  /** `<pod uid>/<container>` of containers that ran when the agent started: they have their devices. */
  readonly runningAtStart: ReadonlySet<string>;
  /** Allocations and preparations in progress, by `<pod uid>/<container>`. */
  readonly tasks: Map<string, DeviceTask>;
  /** The content for the checkpoint file; null: never written. */
  fileText: string | null;
}

/** Key of devices without topology. */
export const noNumaNode = -1;

/** A call to the plugin of `resource`. Device ids are in order. */
export type PluginCall =
  | { readonly rpc: 'GetPreferredAllocation'; readonly resource: string; readonly available: readonly string[]; readonly mustInclude: readonly string[]; readonly size: number }
  | { readonly rpc: 'Allocate'; readonly resource: string; readonly devices: readonly string[] }
  | { readonly rpc: 'PreStartContainer'; readonly resource: string; readonly devices: readonly string[] };

export type PluginReply =
  | { readonly kind: 'preferred'; readonly devices: readonly string[] }
  /** null: the answer had no container in it. */
  | { readonly kind: 'allocated'; readonly response: ContainerAllocateResponse | null }
  | { readonly kind: 'prepared' }
  | { readonly kind: 'error'; readonly message: string };

export type DeviceTaskStep = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly message: string } | { readonly kind: 'call'; readonly call: PluginCall };

/** Changed in place. */
export interface DeviceTask {
  readonly podUid: string;
  readonly containerName: string;
  /** An init container that ends passes its devices on to later containers. */
  readonly leavesDevices: boolean;
  /** The container ran when the agent started, or is an init container that ended before one that did: its allocation is complete. */
  readonly hadDevicesAtStart: boolean;
  /** NUMA nodes that devices should be close to; null: any. */
  readonly affinity: readonly number[] | null;
  /** Resource -> number, in order of names. */
  readonly requests: ReadonlyMap<string, number>;
  /** Resources that still have to be made ready (PreStartContainer), then those that still have to be allocated. */
  toPrepare: string[];
  toAllocate: string[];
  /** Allocate only if a resource turns out to have no record. */
  allocateIfMissing: boolean;
  /** The resource being allocated, and the devices picked for it so far. */
  resource: string | null;
  picked: string[];
  /** Whether the plugin has been asked for its preference. */
  preferenceAsked: boolean;
  /** Whether the checkpoint lacks a record. */
  unsaved: boolean;
  call: PluginCall | null;
}

export function taskKey(podUid: string, containerName: string): string {
  return `${podUid}/${containerName}`;
}

export function recordDevices(manager: DeviceManager, podUid: string, containerName: string, resource: string, devices: ContainerDevices): void {
  const containers = manager.podDevices.get(podUid) ?? new Map<string, Map<string, ContainerDevices>>();
  const resources = containers.get(containerName) ?? new Map<string, ContainerDevices>();
  manager.podDevices.set(podUid, containers.set(containerName, resources.set(resource, devices)));
}

/** The devices in use follow from the records, and from choices of tasks that aren't recorded yet. */
export function rebuildAllocated(manager: DeviceManager): void {
  manager.allocated = new Map();
  const take = (resource: string, ids: Iterable<string>): void => {
    const taken = manager.allocated.get(resource) ?? new Set<string>();
    for (const id of ids) taken.add(id);
    manager.allocated.set(resource, taken);
  };
  for (const containers of manager.podDevices.values()) {
    for (const resources of containers.values()) for (const [resource, devices] of resources) take(resource, deviceIds(devices));
  }
  for (const task of manager.tasks.values()) if (task.resource !== null && task.picked.length > 0) take(task.resource, task.picked);
}

export function deviceIds(devices: ContainerDevices): ReadonlySet<string> {
  return new Set([...devices.byNuma.values()].flat());
}

/** Devices recorded for a container; null: nothing is recorded. */
export function containerDevices(manager: DeviceManager, podUid: string, containerName: string, resource: string): ReadonlySet<string> | null {
  const recorded = manager.podDevices.get(podUid)?.get(containerName)?.get(resource);
  return recorded === undefined ? null : deviceIds(recorded);
}

/** A registered resource, or one that containers still hold devices of. */
export function isDeviceResource(manager: DeviceManager, name: string): boolean {
  return (manager.resources.get(name)?.healthy ?? null) !== null || manager.allocated.has(name);
}
