// The state of pods' admission, until they have workers or are removed.
import type { Node } from '../../../ports/model/node.js';

export interface PendingAdmission {
  /** Pods that are being killed for it and have not ended yet. */
  victims: number;
  /** The node as the API server has it now; null if unreadable; undefined before the read. */
  freshNode: Node | null | undefined;
}

export interface AdmissionState {
  /** Pods that wait for preemption, or for a newer read of the node, by uid. They have no worker yet. */
  readonly pending: Map<string, PendingAdmission>;
  /** Refused pods, by UID: they don't count, independent of the phase in the API. */
  readonly rejected: Set<string>;
  /** What critical pods lacked that the pod was killed for, by its uid: a resource's name. */
  readonly preempted: Map<string, string>;
  /** Completions of kills that came in this step. */
  readonly completed: string[];
}

export function newAdmissionState(): AdmissionState {
  return { pending: new Map(), rejected: new Set(), preempted: new Map(), completed: [] };
}
