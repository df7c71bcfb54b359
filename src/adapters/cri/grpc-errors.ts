// Converts the failure of a call to PortError, with the Go kubelet's texts.
import { PortError } from '../../ports/port-error.js';
import { type GrpcFailure, grpcCodeName, portErrorKindOf, statusMessage } from '../grpc/index.js';

/** The failure of a call as a PortError whose message is the status message alone. */
export function portErrorOf(failure: GrpcFailure, operation: string, subject: string): PortError {
  return new PortError({ kind: portErrorKindOf(failure.code), message: statusMessage(failure), operation, subject, cause: failure });
}

/** The status message, or with a code other than UNKNOWN the whole text, `rpc error: code = NotFound desc = ...`, as Go prints it. */
export function goErrorText(failure: GrpcFailure): string {
  return portErrorKindOf(failure.code) === 'unknown' ? statusMessage(failure) : wholeGoErrorText(failure);
}

/** `rpc error: code = Unknown desc = ...`, as Go prints any status. */
export function wholeGoErrorText(failure: GrpcFailure): string {
  return `rpc error: code = ${grpcCodeName(failure.code)} desc = ${statusMessage(failure)}`;
}
