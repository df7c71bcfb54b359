// What waits for the sync loop.
import type { PodDelivery } from '../../pod-sources/pod-config.js';

/** What waits while the runtime can't be worked with, or for its turn. Deliveries keep their order; the others are sets. */
export interface LoopBacklog {
  readonly deliveries: WaitingDelivery[];
  readonly syncs: Set<string>;
  /** Pods whose runs and volumes may resume, since something that they wait for has arrived. */
  readonly woken: Set<string>;
  /** Some workers that wait for a status may resume. */
  statusesCame: boolean;
}

export interface WaitingDelivery extends PodDelivery {
  /** Its pods are in the order in which they are handled. */
  readonly inOrder: boolean;
}

export function newBacklog(): LoopBacklog {
  return { deliveries: [], syncs: new Set(), woken: new Set(), statusesCame: false };
}
