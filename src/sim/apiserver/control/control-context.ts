// The context and the state of the simulated control plane's controllers, as data.
import type { Micros } from '../../../ports/micros.js';
import type { ApiserverSettings } from '../apiserver-settings.js';
import type { CertificateSigner } from '../certificate-signer.js';
import type { IdSource } from '../id-source.js';
import type { ObjectStore } from '../object-store.js';
import type { ControllerName } from './controller-names.js';

export interface ControlState {
  /** When each controller has something to do. */
  readonly due: Map<ControllerName, Micros>;
  /** Node -> when it was heard of, the longest silent first. */
  readonly heartbeats: Map<string, Micros>;
  /** Event -> when it was written, the oldest first. */
  readonly eventTimes: Map<string, Micros>;
  /** Nodes whose conditions may require other taints. */
  readonly changedNodes: Set<string>;
  /** Nodes that don't say how long their kubelets may keep what they have read. */
  readonly nodesWithoutTtl: Set<string>;
  /** Objects whose owners may be deleted: collection and key, separated by a blank. */
  readonly suspects: Set<string>;
}

export function emptyControlState(): ControlState {
  return { due: new Map(), heartbeats: new Map(), eventTimes: new Map(), changedNodes: new Set(), nodesWithoutTtl: new Set(), suspects: new Set() };
}

export interface ControlContext {
  readonly store: ObjectStore;
  readonly settings: ApiserverSettings;
  readonly ids: IdSource;
  /** null: certificates are approved, but not signed. */
  readonly signer: CertificateSigner | null;
  readonly state: ControlState;
  readonly now: Micros;
}
