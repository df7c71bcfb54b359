// How a request that was let in can be followed by whoever traces. The server itself knows nothing of spans.
import type { IncomingHttpHeaders } from 'node:http';

export interface TracedRequest {
  readonly method: string;
  readonly pattern: string;
  readonly scheme: 'http' | 'https';
  readonly headers: IncomingHttpHeaders;
}

export interface RequestTrace {
  /** Makes the answer, so that what it asks of others is known to be for this request. */
  within<T>(answer: () => T): T;
  /** Called once, when the request has been served; must not throw. */
  served(status: number): void;
}
