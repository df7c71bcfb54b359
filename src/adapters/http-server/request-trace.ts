// The tracing hook of an admitted request. The server itself doesn't depend on spans.
import type { IncomingHttpHeaders } from 'node:http';

export interface TracedRequest {
  readonly method: string;
  readonly pattern: string;
  readonly scheme: 'http' | 'https';
  readonly headers: IncomingHttpHeaders;
}

export interface RequestTrace {
  /** Makes the answer, so that the requests it makes belong to this request's trace. */
  within<T>(answer: () => T): T;
  /** Called once, when the request has been served; must not throw. */
  served(status: number): void;
}
