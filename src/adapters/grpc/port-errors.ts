// Status codes of gRPC as kinds of PortError, in both directions: the one place where a code is read.
import type { PortErrorKind } from '../../ports/port-error.js';
import { type GrpcFailure, grpcStatus as status } from './status.js';

const kinds: Readonly<Record<number, PortErrorKind>> = {
  [status.CANCELLED]: 'cancelled',
  [status.UNKNOWN]: 'unknown',
  [status.INVALID_ARGUMENT]: 'invalid-argument',
  [status.DEADLINE_EXCEEDED]: 'deadline-exceeded',
  [status.NOT_FOUND]: 'not-found',
  [status.ALREADY_EXISTS]: 'already-exists',
  [status.PERMISSION_DENIED]: 'permission-denied',
  [status.RESOURCE_EXHAUSTED]: 'resource-exhausted',
  [status.FAILED_PRECONDITION]: 'failed-precondition',
  [status.ABORTED]: 'aborted',
  [status.OUT_OF_RANGE]: 'out-of-range',
  [status.UNIMPLEMENTED]: 'unimplemented',
  [status.INTERNAL]: 'internal',
  [status.UNAVAILABLE]: 'unavailable',
  [status.DATA_LOSS]: 'data-loss',
  [status.UNAUTHENTICATED]: 'unauthenticated',
};

const codeOfKind = new Map(Object.entries(kinds).map(([code, kind]) => [kind, Number(code)]));

/** `unknown` for codes that gRPC doesn't have. */
export function portErrorKindOf(code: number): PortErrorKind {
  return kinds[code] ?? 'unknown';
}

/** The code that a server answers with. */
export function grpcCodeOf(kind: PortErrorKind): number {
  return codeOfKind.get(kind) ?? status.UNKNOWN;
}

/** Servers describe a deadline in their own ways; the text must not change from call to call, since events are deduplicated by it. */
export function statusMessage({ code, details }: GrpcFailure): string {
  return code === status.DEADLINE_EXCEEDED ? 'context deadline exceeded' : details;
}
