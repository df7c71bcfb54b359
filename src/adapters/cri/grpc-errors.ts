// From what gRPC throws to PortError: the one place where a status code of the runtime is read.
import { type ServiceError, status } from '@grpc/grpc-js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';

/** Code by code: our kind, and Go's name of the code, which users see in messages. */
const codes: Readonly<Record<number, readonly [kind: PortErrorKind, goName: string]>> = {
  [status.CANCELLED]: ['cancelled', 'Canceled'],
  [status.UNKNOWN]: ['unknown', 'Unknown'],
  [status.INVALID_ARGUMENT]: ['invalid-argument', 'InvalidArgument'],
  [status.DEADLINE_EXCEEDED]: ['deadline-exceeded', 'DeadlineExceeded'],
  [status.NOT_FOUND]: ['not-found', 'NotFound'],
  [status.ALREADY_EXISTS]: ['already-exists', 'AlreadyExists'],
  [status.PERMISSION_DENIED]: ['permission-denied', 'PermissionDenied'],
  [status.RESOURCE_EXHAUSTED]: ['resource-exhausted', 'ResourceExhausted'],
  [status.FAILED_PRECONDITION]: ['failed-precondition', 'FailedPrecondition'],
  [status.ABORTED]: ['aborted', 'Aborted'],
  [status.OUT_OF_RANGE]: ['out-of-range', 'OutOfRange'],
  [status.UNIMPLEMENTED]: ['unimplemented', 'Unimplemented'],
  [status.INTERNAL]: ['internal', 'Internal'],
  [status.UNAVAILABLE]: ['unavailable', 'Unavailable'],
  [status.DATA_LOSS]: ['data-loss', 'DataLoss'],
  [status.UNAUTHENTICATED]: ['unauthenticated', 'Unauthenticated'],
};

const codeOfKind = new Map(Object.entries(codes).map(([code, [kind]]) => [kind, Number(code) as status]));

/** The code that a server answers with. */
export function grpcCodeOf(kind: PortErrorKind): status {
  return codeOfKind.get(kind) ?? status.UNKNOWN;
}

/** The failure of a call as a PortError whose message is the status message alone. */
export function portErrorOf(error: ServiceError, operation: string, subject: string): PortError {
  const [kind] = codes[error.code] ?? ['unknown', 'Unknown'];
  return new PortError({ kind, message: statusMessage(error), operation, subject, cause: error });
}

/** The status message, or with a code other than UNKNOWN the whole text, `rpc error: code = NotFound desc = ...`, as Go prints it. */
export function goErrorText(error: ServiceError): string {
  const [kind, goName] = codes[error.code] ?? ['unknown', 'Unknown'];
  return kind === 'unknown' ? statusMessage(error) : `rpc error: code = ${goName} desc = ${statusMessage(error)}`;
}

/** grpc-js describes a deadline by durations and load balancer states; the text must not change from call to call, since events are deduplicated by it. */
function statusMessage(error: ServiceError): string {
  return error.code === status.DEADLINE_EXCEEDED ? 'context deadline exceeded' : error.details;
}
