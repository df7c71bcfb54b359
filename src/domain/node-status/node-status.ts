// The node's complete status, computed from facts: the setters one after the other, in the order of their dependencies.
// Invariants: fields of other owners are left as they are; every list has one order; the same facts give the same status except for heartbeats.
import type { Instant } from '../../ports/instant.js';
import type { Node, NodeStatus } from '../../ports/model/node.js';
import type { RuntimeHandler } from '../../ports/outbound/container-runtime.js';
import { byCodeUnits } from '../values/text-order.js';
import { type AddressFacts, nodeAddresses } from './node-addresses.js';
import { type CapacityFacts, nodeResources } from './node-capacity.js';
import { type Pressures, type ReadinessFacts, withPressures, withReady } from './node-conditions.js';
import { type NodeEvent, nodeStatusEvent } from './node-event.js';
import type { NodeImage } from './node-images.js';
import { type MachineIds, runtimeHandlersInOrder, type Versions, versionInfo, withMachineIds } from './node-info.js';

export interface NodeFacts {
  readonly nodeName: string;
  /** Go's name of the architecture. */
  readonly architecture: string;
  readonly addresses: Omit<AddressFacts, 'nodeName'>;
  readonly capacity: CapacityFacts;
  /** null: they could not be read. */
  readonly machineIds: MachineIds | null;
  readonly versions: Versions;
  readonly kubeletPort: number;
  readonly images: { readonly ok: true; readonly images: readonly NodeImage[] } | { readonly ok: false; readonly error: string };
  readonly runtimeHandlers: readonly RuntimeHandler[];
  /** null: not reported by the runtime yet. */
  readonly supplementalGroupsPolicy: boolean | null;
  readonly pressures: Pressures;
  readonly readiness: Omit<ReadinessFacts, 'capacity' | 'localStorageCapacityIsolation'>;
  readonly localStorageCapacityIsolation: boolean;
  /** null: volumes are not known yet since the start, so the field is left unset. */
  readonly volumesInUse: readonly string[] | null;
  readonly declaredFeatures: readonly string[];
}

/** State of the process between two reports. */
export interface NodeStatusMemory {
  rebootReported: boolean;
  unschedulable: boolean;
}

export function newNodeStatusMemory(): NodeStatusMemory {
  return { rebootReported: false, unschedulable: false };
}

export interface NodeUpdate {
  readonly node: Node;
  readonly events: readonly NodeEvent[];
  /** Errors of setters that failed; the others took effect. */
  readonly errors: readonly string[];
}

export function updatedNode(node: Node, facts: NodeFacts, memory: NodeStatusMemory, wall: Instant): NodeUpdate {
  const { nodeName } = facts;
  const old = node.status ?? {};
  const events: NodeEvent[] = [];
  const addresses = nodeAddresses({ ...facts.addresses, nodeName }, old.addresses ?? [], node.metadata.annotations ?? {});
  const errors = addresses.error === null ? [] : [addresses.error];
  const resources = nodeResources({ capacity: old.capacity ?? {}, allocatable: old.allocatable ?? {} }, facts.capacity);
  if (facts.machineIds !== null) events.push(...rebootEvents(nodeName, String(old.nodeInfo?.bootID ?? ''), facts.machineIds.bootId, memory));
  if (!facts.images.ok) errors.push(`error getting image list: ${facts.images.error}`);
  const pressed = withPressures(nodeName, old.conditions ?? [], facts.pressures, wall);
  const { localStorageCapacityIsolation } = facts;
  const ready = withReady(nodeName, pressed.conditions, { ...facts.readiness, capacity: resources.capacity, localStorageCapacityIsolation }, wall);
  events.push(...pressed.events, ...ready.events, ...schedulableEvents(node, nodeName, memory));
  const status: NodeStatus = {
    ...old,
    addresses: addresses.addresses,
    ...resources,
    nodeInfo: nodeInfo(old, facts),
    daemonEndpoints: { ...old.daemonEndpoints, kubeletEndpoint: { Port: facts.kubeletPort } },
    images: facts.images.ok ? facts.images.images : [],
    runtimeHandlers: runtimeHandlersInOrder(facts.runtimeHandlers),
    ...(facts.supplementalGroupsPolicy === null ? {} : { features: { ...old.features, supplementalGroupsPolicy: facts.supplementalGroupsPolicy } }),
    conditions: ready.conditions,
    ...(facts.volumesInUse === null ? {} : { volumesInUse: inOrder(facts.volumesInUse) }),
    declaredFeatures: inOrder(facts.declaredFeatures),
  };
  const labels = { ...node.metadata.labels, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': facts.architecture };
  return { node: { ...node, metadata: { ...node.metadata, labels, annotations: addresses.annotations }, status }, events, errors };
}

function nodeInfo(old: NodeStatus, facts: NodeFacts): NonNullable<NodeStatus['nodeInfo']> {
  const withIds = withMachineIds(old.nodeInfo ?? {}, facts.machineIds);
  return { ...withIds, ...versionInfo(facts.versions), operatingSystem: 'linux', architecture: facts.architecture };
}

/** The machine was rebooted since the last report of the node. Reported once by a process. @param reportedBootId the Node's current value */
export function rebootEvents(nodeName: string, reportedBootId: string, bootId: string, memory: NodeStatusMemory): readonly NodeEvent[] {
  if (memory.rebootReported || reportedBootId === '' || reportedBootId === bootId) return [];
  memory.rebootReported = true;
  return [{ type: 'Warning', reason: 'Rebooted', message: `Node ${nodeName} has been rebooted, boot id: ${bootId}` }];
}

/** Reported again after a restart on a cordoned node: the memory is the process's. */
export function schedulableEvents(node: Node, nodeName: string, memory: NodeStatusMemory): readonly NodeEvent[] {
  const unschedulable = node.spec?.unschedulable === true;
  if (unschedulable === memory.unschedulable) return [];
  memory.unschedulable = unschedulable;
  return [nodeStatusEvent(nodeName, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable')];
}

function inOrder(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort(byCodeUnits);
}
