// The one error that crosses a port. Adapters map their technology's errors to it at their edge;
// the domain branches on `kind`, never on text.

/** Closed list, named as gRPC's status codes are. */
export type PortErrorKind =
  | 'cancelled'
  | 'unknown'
  | 'invalid-argument'
  | 'deadline-exceeded'
  | 'not-found'
  | 'already-exists'
  | 'permission-denied'
  | 'resource-exhausted'
  | 'failed-precondition'
  | 'aborted'
  | 'out-of-range'
  | 'unimplemented'
  | 'internal'
  | 'unavailable'
  | 'data-loss'
  | 'unauthenticated';

/** A failure as plain data: in reply events and in the flight record. */
export interface PortFailure {
  readonly kind: PortErrorKind;
  /** The message of the failed technology; shown to users, never parsed. */
  readonly message: string;
  /** The operation that failed, `port.operation`. */
  readonly operation: string;
  /** The subject (a container id, a path); empty if there is no name for it. */
  readonly subject: string;
  /** The earliest retry, in microseconds from now, if requested; null otherwise. */
  readonly retryAfterMicros: number | null;
}

/** What adapters throw. `toFailure()` is its data form. */
export class PortError extends Error {
  readonly kind: PortErrorKind;
  readonly operation: string;
  readonly subject: string;
  readonly retryAfterMicros: number | null;

  constructor(failure: Omit<PortFailure, 'retryAfterMicros'> & { readonly retryAfterMicros?: number | null; readonly cause?: unknown }) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = 'PortError';
    this.kind = failure.kind;
    this.operation = failure.operation;
    this.subject = failure.subject;
    this.retryAfterMicros = failure.retryAfterMicros ?? null;
  }

  toFailure(): PortFailure {
    return { kind: this.kind, message: this.message, operation: this.operation, subject: this.subject, retryAfterMicros: this.retryAfterMicros };
  }
}

/** An expected answer or an operating error, as data. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: PortFailure };
