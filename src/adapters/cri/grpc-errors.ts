// From what gRPC throws to PortError: the one place where a status code of the runtime is read.
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { type GrpcFailure, grpcCodeName, grpcStatus as status } from '../grpc/index.js';

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

/** The code that a server answers with. */
export function grpcCodeOf(kind: PortErrorKind): number {
  return codeOfKind.get(kind) ?? status.UNKNOWN;
}

/** The failure of a call as a PortError whose message is the status message alone. */
export function portErrorOf(error: GrpcFailure, operation: string, subject: string): PortError {
  return new PortError({ kind: kinds[error.code] ?? 'unknown', message: statusMessage(error), operation, subject, cause: error });
}

/** The status message, or with a code other than UNKNOWN the whole text, `rpc error: code = NotFound desc = ...`, as Go prints it. */
export function goErrorText(error: GrpcFailure): string {
  return (kinds[error.code] ?? 'unknown') === 'unknown' ? statusMessage(error) : `rpc error: code = ${grpcCodeName(error.code)} desc = ${statusMessage(error)}`;
}

/** Servers describe a deadline in their own ways; the text must not change from call to call, since events are deduplicated by it. */
function statusMessage(error: GrpcFailure): string {
  return error.code === status.DEADLINE_EXCEEDED ? 'context deadline exceeded' : error.details;
}
