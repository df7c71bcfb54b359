// The state of static pods adopted from another kubelet, as data; adopted-pods decides.
import type { Pod } from '../../ports/model/pod.js';
import type { PodSource } from '../pod-sources/pod-config.js';

export interface AdoptedPod {
  /** Of the manifest as it was. */
  readonly ownUid: string;
  readonly uid: string;
  /** The pod as its source has it, and as it is run: the same for the same. */
  from: Pod;
  pod: Pod;
}

export interface AdoptionState {
  /** Pods from sources before the first listing: the newest set of each. */
  readonly held: Map<PodSource, readonly Pod[]>;
  /** Sources whose first set has been taken in. */
  readonly begun: Set<PodSource>;
  /** By full name. */
  readonly adopted: Map<string, AdoptedPod>;
}

export function newAdoption(): AdoptionState {
  return { held: new Map(), begun: new Set(), adopted: new Map() };
}
