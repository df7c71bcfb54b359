// The status codes of gRPC (statuscodes.md of its specification), and the mapping from an HTTP/2 end to a call's status.

export const grpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** A call that ended with another status than OK; `message` is the status message. */
export class GrpcFailure extends Error {
  constructor(
    readonly code: number,
    readonly details: string,
  ) {
    super(details);
  }
}

const names = Object.entries(grpcStatus).map(([name]) => name);

/** In the form of Go's packages: `DEADLINE_EXCEEDED` is `DeadlineExceeded`. */
export function grpcCodeName(code: number): string {
  if (code === grpcStatus.CANCELLED) return 'Canceled';
  if (code === grpcStatus.OK) return 'OK';
  const words = (names[code] ?? 'UNKNOWN').toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** A message in a header is percent-encoded; what isn't properly so is shown as it came. */
export function decodedMessage(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** For an answer without a gRPC status (http-grpc-status-mapping.md). */
export function failureOfHttp(httpStatus: number, contentType: string): GrpcFailure {
  const code = codesOfHttp[httpStatus] ?? grpcStatus.UNKNOWN;
  const what = httpStatus === 200 ? 'the answer has no status' : `unexpected HTTP status code received from server: ${httpStatus}`;
  const type = contentType.startsWith('application/grpc') ? '' : `; transport: received unexpected content-type ${JSON.stringify(contentType)}`;
  return new GrpcFailure(code, `${what}${type}`);
}

const codesOfHttp: Readonly<Record<number, number>> = {
  400: grpcStatus.INTERNAL,
  401: grpcStatus.UNAUTHENTICATED,
  403: grpcStatus.PERMISSION_DENIED,
  404: grpcStatus.UNIMPLEMENTED,
  429: grpcStatus.UNAVAILABLE,
  502: grpcStatus.UNAVAILABLE,
  503: grpcStatus.UNAVAILABLE,
  504: grpcStatus.UNAVAILABLE,
};

/** For a stream that the server has reset (PROTOCOL-HTTP2.md, "Errors"). */
export function failureOfReset(http2Code: number): GrpcFailure {
  return new GrpcFailure(codesOfReset[http2Code] ?? grpcStatus.INTERNAL, `stream terminated by RST_STREAM with error code: ${resetNames[http2Code] ?? http2Code}`);
}

const codesOfReset: Readonly<Record<number, number>> = { 7: grpcStatus.UNAVAILABLE, 8: grpcStatus.CANCELLED, 11: grpcStatus.RESOURCE_EXHAUSTED, 12: grpcStatus.PERMISSION_DENIED };
const resetNames = [
  ...['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT', 'STREAM_CLOSED', 'FRAME_SIZE_ERROR'],
  ...['REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR', 'CONNECT_ERROR', 'ENHANCE_YOUR_CALM', 'INADEQUATE_SECURITY', 'HTTP_1_1_REQUIRED'],
];
