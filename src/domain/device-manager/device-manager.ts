// Events of the device manager: it starts from its checkpoint, plugins register, list their devices and disconnect, pods are removed.
// Invariant: after a restart a resource has no devices until its plugin is back, and containers keep their devices.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { decodeAllocateResponse, encodeAllocateResponse } from '../checkpoints/allocate-response.js';
import { type PodDevicesEntry, readDeviceCheckpoint, writeDeviceCheckpoint } from '../checkpoints/device-checkpoint.js';
import type { ActivePods } from '../topology-manager/active-pods.js';
import { byCodeUnits } from '../values/text-order.js';
import { type Device, type DeviceManager, deviceIds, type PluginOptions, rebuildAllocated, recordDevices } from './device-state.js';

/** A plugin that stays away longer than this takes its resource along. */
const pluginGracePeriod: Micros = 5 * 60 * 1_000_000;

export interface DeviceManagerConfig {
  readonly numaNodes: readonly number[];
  /** null if absent. */
  readonly checkpointFile: string | null;
  readonly runningContainers: ReadonlySet<string>;
  readonly now: Micros;
}

/** Always starts: an unreadable checkpoint is only an error to log, since plugins list their devices again. */
export function startDeviceManager(config: DeviceManagerConfig): { readonly manager: DeviceManager; readonly error: string | null } {
  const manager: DeviceManager = {
    numaNodes: [...config.numaNodes].sort((a, b) => a - b),
    resources: new Map(),
    podDevices: new Map(),
    allocated: new Map(),
    reusable: null,
    tasks: new Map(),
    runningAtStart: config.runningContainers,
    fileText: config.checkpointFile,
  };
  if (config.checkpointFile === null) return { manager, error: null };
  const read = readDeviceCheckpoint(config.checkpointFile);
  if (!read.ok) return { manager, error: read.error };
  for (const entry of read.value.podDeviceEntries ?? []) restoreEntry(manager, entry);
  for (const name of read.value.registeredDevices?.keys() ?? []) {
    manager.resources.set(name, { devices: new Map(), healthy: new Set(), unhealthy: new Set(), plugin: { options: null, stoppedAt: config.now } });
  }
  rebuildAllocated(manager);
  return { manager, error: null };
}

function restoreEntry(manager: DeviceManager, entry: PodDevicesEntry): void {
  const response = decodeAllocateResponse(entry.allocateResponse ?? new Uint8Array());
  if (response === null) return;
  const byNuma = new Map([...(entry.deviceIds ?? [])].map(([node, ids]) => [Number(node), ids ?? []]));
  recordDevices(manager, entry.podUid, entry.containerName, entry.resourceName, { byNuma, response });
}

/** A plugin has registered, or registered again. Its devices come with its first list. */
export function pluginConnected(manager: DeviceManager, resource: string, options: PluginOptions): void {
  const known = manager.resources.get(resource) ?? { devices: new Map(), healthy: null, unhealthy: new Set(), plugin: null };
  manager.resources.set(resource, { ...known, plugin: { options, stoppedAt: null } });
}

/** The plugin's stream has ended: its devices are unhealthy at once, and removed if it doesn't return. */
export function pluginDisconnected(manager: DeviceManager, resource: string, now: Micros): void {
  const known = manager.resources.get(resource);
  if (known === undefined || known.plugin === null) return;
  known.unhealthy = new Set([...known.unhealthy, ...(known.healthy ?? [])]);
  if (known.healthy !== null) known.healthy = new Set();
  known.plugin = { ...known.plugin, stoppedAt: now };
}

/** The plugin's complete list. Answers with the uids of pods, in order, that hold a device whose health changed or that (re)appeared. */
export function deviceListReceived(manager: DeviceManager, resource: string, devices: readonly Device[]): string[] {
  const known = manager.resources.get(resource) ?? { devices: new Map(), healthy: null, unhealthy: new Set(), plugin: null };
  const changed = new Set(devices.filter(({ id, health }) => known.devices.get(id)?.health !== health).map(({ id }) => id));
  const healthy = devices.filter(({ health }) => health === 'Healthy').map(({ id }) => id);
  manager.resources.set(resource, {
    ...known,
    devices: new Map(devices.map((device) => [device.id, device])),
    healthy: new Set(healthy),
    unhealthy: new Set(devices.map(({ id }) => id).filter((id) => !healthy.includes(id))),
  });
  saveCheckpoint(manager);
  return changed.size === 0 ? [] : podsWithDevices(manager, resource, changed);
}

function podsWithDevices(manager: DeviceManager, resource: string, ids: ReadonlySet<string>): string[] {
  const pods: string[] = [];
  for (const [podUid, containers] of manager.podDevices) {
    const holds = [...containers.values()].some((resources) => {
      const devices = resources.get(resource);
      return devices !== undefined && [...deviceIds(devices)].some((id) => ids.has(id));
    });
    if (holds) pods.push(podUid);
  }
  return pods.sort(byCodeUnits);
}

export interface DeviceCapacity {
  /** Resource -> number of devices. */
  readonly capacity: ReadonlyMap<string, number>;
  readonly allocatable: ReadonlyMap<string, number>;
  /** Resources whose plugin's grace period has passed: removed with this answer. */
  readonly removed: readonly string[];
}

export function deviceCapacity(manager: DeviceManager, now: Micros): DeviceCapacity {
  const capacity = new Map<string, number>();
  const allocatable = new Map<string, number>();
  const removed: string[] = [];
  for (const name of [...manager.resources.keys()].sort(byCodeUnits)) {
    const resource = manager.resources.get(name)!;
    if (resource.healthy === null) continue;
    const stoppedAt = resource.plugin?.stoppedAt ?? null;
    if (resource.plugin === null || (stoppedAt !== null && now - stoppedAt > pluginGracePeriod)) {
      manager.resources.set(name, { devices: resource.devices, healthy: null, unhealthy: new Set(), plugin: null });
      removed.push(name);
      continue;
    }
    capacity.set(name, resource.healthy.size + resource.unhealthy.size);
    allocatable.set(name, resource.healthy.size);
  }
  if (removed.length > 0) saveCheckpoint(manager);
  return { capacity, allocatable, removed };
}

/** Takes back what pods hold that are no longer active. */
export function collectStaleDevices(manager: DeviceManager, active: ActivePods): void {
  if (!active.sourcesReady) return;
  const stale = [...manager.podDevices.keys()].filter((podUid) => !active.hasPod(podUid));
  if (stale.length === 0) return;
  for (const podUid of stale) manager.podDevices.delete(podUid);
  rebuildAllocated(manager);
}

/** Updates the checkpoint. Not every change does: a stale pod's devices may still be in the file. */
export function saveCheckpoint(manager: DeviceManager): void {
  const entries: PodDevicesEntry[] = [];
  for (const [podUid, containers] of sorted(manager.podDevices)) {
    for (const [containerName, resources] of sorted(containers)) {
      for (const [resourceName, { byNuma, response }] of sorted(resources)) {
        const ids = new Map([...byNuma].map(([node, list]) => [String(node), list]));
        entries.push({ podUid, containerName, resourceName, deviceIds: ids, allocateResponse: encodeAllocateResponse(response) });
      }
    }
  }
  const registered = [...manager.resources].flatMap(([name, { healthy }]) => (healthy === null ? [] : [[name, [...healthy].sort(byCodeUnits)] as const]));
  manager.fileText = writeDeviceCheckpoint({ podDeviceEntries: entries.length === 0 ? null : entries, registeredDevices: new Map(registered) }).content;
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => byCodeUnits(a, b));
}

/**
 * The node's allocatable amounts, raised to the allocated ones, so that a pod with devices fits although its plugin is gone.
 * Only for pods with devices.
 */
export function raisedAllocatable(manager: DeviceManager, podUid: string, allocatable: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  if (!manager.podDevices.has(podUid)) return allocatable;
  const raised = new Map(allocatable);
  for (const [resource, devices] of manager.allocated) if ((raised.get(resource) ?? -1) < devices.size) raised.set(resource, devices.size);
  return raised;
}

/** For the container statuses: container -> resource -> device -> health. A device that no plugin lists counts as healthy, since its health is unknown. */
export function allocatedDeviceHealth(manager: DeviceManager, pod: Pod): Map<string, Map<string, Map<string, 'Healthy' | 'Unhealthy'>>> {
  const containers = manager.podDevices.get(pod.metadata.uid ?? '');
  return new Map(
    pod.spec.containers.map(({ name }) => {
      const resources = [...(containers?.get(name) ?? [])].map(([resource, devices]) => {
        const listed = manager.resources.get(resource)?.devices;
        const health = (id: string): 'Healthy' | 'Unhealthy' => ((listed?.get(id)?.health ?? 'Healthy') === 'Healthy' ? 'Healthy' : 'Unhealthy');
        return [resource, new Map([...deviceIds(devices)].map((id) => [id, health(id)]))] as const;
      });
      return [name, new Map(resources)];
    }),
  );
}
