// Kubernetes events that the agent records. The adapter decides where they go (the log, the apiserver, a test's list).
import type { ObjectReference } from '../model/object-meta.js';
import type { Operation } from '../operation.js';

export interface EventRecord {
  readonly involvedObject: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Annotations of the event itself. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface EventSinkOperations {
  /** The caller doesn't wait; under pressure events may be dropped, which is counted. */
  readonly record: Operation<EventRecord, null>;
}
