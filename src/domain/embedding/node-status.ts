// The Node object for embedders: its conditions, and its resources for pods.
import { instantOf } from '../../domain/values/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { ResourceList } from '../../ports/model/container.js';
import type { NodeCondition } from '../../ports/model/node.js';
import type { CapacityFacts } from '../node-status/node-capacity.js';
import * as nodeCapacity from '../node-status/node-capacity.js';
import type { ConditionsUpdate, Pressures, ReadinessFacts } from '../node-status/node-conditions.js';
import * as nodeConditions from '../node-status/node-conditions.js';
import { resourceListShape, timeShape } from './api-object-shapes.js';
import { checkArgument, flag, listOf, measured, moment, nullable, quantityInText, recordOf, text, wholeNumber } from './shape.js';

const conditionsShape = listOf(recordOf({ type: text, status: text }, { lastHeartbeatTime: timeShape, lastTransitionTime: timeShape, reason: text, message: text }));
const pressuresShape = recordOf({ memory: flag, disk: flag, pid: flag });
const readinessShape = recordOf({
  ...{ runtime: listOf(text), network: listOf(text), storage: listOf(text), shuttingDown: flag },
  ...{ capacity: resourceListShape, localStorageCapacityIsolation: flag, softRequirements: nullable(text) },
});
/** More would be more than a quantity holds. */
const pages = wholeNumber(0, 2 ** 31);
const machineShape = recordOf({ cpus: pages, memoryBytes: measured, hugePages: listOf(recordOf({ pageSizeKiB: pages, numPages: pages })) });
const capacityShape = recordOf({
  ...{ machine: nullable(machineShape), maxPods: pages, podsPerCore: pages, ephemeralStorage: nullable(quantityInText) },
  ...{ devices: recordOf({ capacity: resourceListShape, allocatable: resourceListShape, removed: listOf(text) }), reservation: resourceListShape },
});

/**
 * The conditions MemoryPressure, DiskPressure and PIDPressure, as a kubelet reports them. Times of transition move with the status alone.
 * @param nodeName for the events
 * @param conditions the node's present ones; those of others stay, and so does the order
 * @param now microseconds since the epoch
 * @returns all conditions, and the events of those that changed (`NodeHasDiskPressure` ...)
 * @throws AssertionFailed where an argument has another type
 */
export function withPressures(nodeName: string, conditions: readonly NodeCondition[], pressures: Pressures, now: Micros): ConditionsUpdate {
  checkArgument('nodeName', nodeName, text);
  checkArgument('conditions', conditions, conditionsShape);
  checkArgument('pressures', pressures, pressuresShape);
  checkArgument('now', now, moment);
  return nodeConditions.withPressures(nodeName, conditions, pressures, instantOf(now));
}

/**
 * The condition Ready, with all reasons why not.
 * @param nodeName for the event
 * @param conditions the node's present ones
 * @param facts problems of runtime, network and storage, and the node's capacity
 * @param now microseconds since the epoch
 * @returns all conditions, and the event `NodeReady` or `NodeNotReady` if the status changed
 * @throws AssertionFailed where an argument has another type
 */
export function withReady(nodeName: string, conditions: readonly NodeCondition[], facts: ReadinessFacts, now: Micros): ConditionsUpdate {
  checkArgument('nodeName', nodeName, text);
  checkArgument('conditions', conditions, conditionsShape);
  checkArgument('facts', facts, readinessShape);
  checkArgument('now', now, moment);
  return nodeConditions.withReady(nodeName, conditions, facts, instantOf(now));
}

/**
 * A node's capacity and its allocatable resources: machine, device plugins, reservations; huge pages are subtracted
 * from memory.
 * @param existing the resources of the current Node object: those of other writers stay
 * @param facts bytes, KiB and counts as the names say; other amounts are quantities as texts
 * @throws AssertionFailed where an argument has another type
 */
export function nodeResources(
  existing: { readonly capacity: ResourceList; readonly allocatable: ResourceList },
  facts: CapacityFacts,
): { readonly capacity: ResourceList; readonly allocatable: ResourceList } {
  checkArgument('existing', existing, recordOf({ capacity: resourceListShape, allocatable: resourceListShape }));
  checkArgument('facts', facts, capacityShape);
  return nodeCapacity.nodeResources(existing, facts);
}
