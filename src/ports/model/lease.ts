// coordination.k8s.io/v1 Lease: renewed by a node to show that it is alive.
import type { ObjectMeta, Timestamp } from './object-meta.js';

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** With microseconds. */
  readonly acquireTime?: Timestamp;
  /** With microseconds. */
  readonly renewTime?: Timestamp;
}

export interface Lease {
  readonly metadata: ObjectMeta;
  readonly spec: LeaseSpec;
}
