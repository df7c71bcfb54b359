// How a call can be followed by whoever traces: what it sends along, and its end. The client itself knows nothing of spans.
import type { GrpcFailure } from './status.js';

export interface CallTrace {
  /** Sent with the call; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called once, when the call has ended; must not throw. null: status OK. */
  ended(failure: GrpcFailure | null): void;
}
