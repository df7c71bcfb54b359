// Network probes of a workload, for probes and lifecycle hooks. The outcome is a value: a missing answer is
// an expected outcome here, in the words of the Go kubelet.
import type { Micros } from '../micros.js';
import type { Operation } from '../operation.js';

export interface HttpGetRequest {
  readonly url: string;
  /** Canonical names, each with its values; sent unchanged, with only the additional headers that HTTP requires. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** From the connection to the end of the body; null: no limit. */
  readonly timeoutMicros: Micros | null;
}

export type HttpGetAnswer =
  /** The last answer of those that redirects led to. `bodyReadError`: why the body could not be read to its end, or to the limit. */
  | { readonly kind: 'answered'; readonly statusCode: number; readonly body: string; readonly bodyReadError: string | null }
  /** `plainHttp`: the request used TLS, but the server answered in plain HTTP. */
  | { readonly kind: 'failed'; readonly error: string; readonly plainHttp: boolean };

export interface TcpRequest {
  readonly host: string;
  readonly port: number;
  readonly timeoutMicros: Micros;
}

/** null: it connected. */
export type TcpAnswer = { readonly error: string | null };

export interface GrpcHealthRequest {
  readonly host: string;
  readonly port: number;
  /** '' checks the whole server. */
  readonly service: string;
  readonly userAgent: string;
  /** For connection and request together. */
  readonly timeoutMicros: Micros;
}

export type GrpcHealthReply =
  | { readonly kind: 'status'; readonly servingStatus: string }
  /** `code` by its name in gRPC's Go packages: `NotFound`, `Unavailable`. */
  | { readonly kind: 'rpc-error'; readonly code: string; readonly message: string }
  /** No connection. */
  | { readonly kind: 'dial-error'; readonly address: string; readonly timedOut: boolean; readonly error: string };

/** Idempotent if the workload is. No certificate is verified, no proxy is used, no connection is kept. */
export interface ProbingOperations {
  /** Follows redirects on the same host. Keeps at most 10 KiB of the body. */
  readonly http: Operation<HttpGetRequest, HttpGetAnswer>;
  /** Connects, and closes at once. */
  readonly tcp: Operation<TcpRequest, TcpAnswer>;
  readonly grpc: Operation<GrpcHealthRequest, GrpcHealthReply>;
}
