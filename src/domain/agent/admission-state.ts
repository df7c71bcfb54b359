// What is remembered of the admission of pods, until they have workers or are gone.
import type { Node } from '../../ports/model/node.js';

export interface PendingAdmission {
  /** Pods that are being killed for it and have not ended yet. */
  victims: number;
  /** The node as the API server has it now; null where it can't be read; undefined before anybody asked. */
  freshNode: Node | null | undefined;
}

export interface AdmissionState {
  /** Pods that wait for others to make room, or for a newer look at the node, by uid. They have no worker yet. */
  readonly pending: Map<string, PendingAdmission>;
  /** Pods that were refused, by uid: they count for nothing, whatever the API still says of them. */
  readonly rejected: Set<string>;
  /** What critical pods lacked that the pod was killed for, by its uid: a resource's name. */
  readonly preempted: Map<string, string>;
  /** Completions of kills that came in this step. */
  readonly completed: string[];
}

export function newAdmissionState(): AdmissionState {
  return { pending: new Map(), rejected: new Set(), preempted: new Map(), completed: [] };
}
