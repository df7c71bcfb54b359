// Kubernetes events, as the agent says them. Where they go (the log, the apiserver, a test's list) is the adapter's matter.
import type { ObjectReference } from '../model/object-meta.js';
import type { Operation } from '../operation.js';

export interface EventRecord {
  readonly involvedObject: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Of the event itself. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface EventSinkOperations {
  /** Nobody waits for it; loss is allowed under pressure and counted. */
  readonly record: Operation<EventRecord, null>;
}
