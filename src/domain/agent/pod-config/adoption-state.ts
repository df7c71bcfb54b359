// The state of static pods adopted from another kubelet, as data; adopted-pods decides.
import type { Pod } from '../../../ports/model/pod.js';
import type { PodSource } from '../../pod-sources/pod-config.js';

export interface AdoptedPod {
  /** Of the original manifest. */
  readonly ownUid: string;
  readonly uid: string;
  /** The pod of its source, and its adopted version: the same for the same. */
  from: Pod;
  pod: Pod;
}

/** A static pod of which it isn't known yet what runs under its name and another UID. */
export interface AwaitedPod {
  readonly source: PodSource;
  readonly ownUid: string;
  /** What the runtime has under its name. */
  readonly uids: readonly string[];
}

export interface AdoptionState {
  /** Of sources whose first set could not be taken in as a whole yet: the newest set. */
  readonly held: Map<PodSource, readonly Pod[]>;
  /** By full name: the pods that were left out of those sets. */
  readonly awaited: Map<string, AwaitedPod>;
  /** Sources whose first set has been delivered. */
  readonly begun: Set<PodSource>;
  /** By full name. */
  readonly adopted: Map<string, AdoptedPod>;
}

export function newAdoption(): AdoptionState {
  return { held: new Map(), awaited: new Map(), begun: new Set(), adopted: new Map() };
}
