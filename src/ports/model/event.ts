// core/v1 Event, as the kubelet writes it.
import type { ObjectMeta, ObjectReference, Timestamp } from './object-meta.js';

export interface Event {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly involvedObject: ObjectReference;
  readonly reason: string;
  readonly message: string;
  readonly source: { readonly component: string; readonly host: string };
  readonly firstTimestamp: Timestamp;
  readonly lastTimestamp: Timestamp;
  readonly count: number;
  readonly type: string;
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}
