// The tracing hook of a call: the metadata to send, and its end. The client itself doesn't depend on spans.
import type { GrpcFailure } from './status.js';

export interface CallTrace {
  /** Sent with the call; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called once, when the call has ended; must not throw. null: status OK. */
  ended(failure: GrpcFailure | null): void;
}
