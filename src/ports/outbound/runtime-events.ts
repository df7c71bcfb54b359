// The container runtime's own notice that something changed. A hint and never the truth: what is said is only which pod to look at,
// so a lost, late or doubled notice costs latency and nothing else.
import type { Instant } from '../instant.js';

export type RuntimeEvent =
  /** Something of this pod was created, started, stopped or removed at that time. */
  | { readonly kind: 'changed'; readonly podUid: string; readonly at: Instant }
  /** Notices may be missing from here on, or were missing until now (at each new connection): list everything. */
  | { readonly kind: 'lost' }
  /** The runtime offers no notices. Said once, nothing follows: relist at intervals. */
  | { readonly kind: 'unsupported' };

/** A stream of notices. `start` before `stop`, each once; nothing is delivered after `stop`. */
export interface RuntimeEventSource {
  /** `deliver` is called one event at a time, in the order of arrival. The first event is `lost` or `unsupported`. */
  start(deliver: (event: RuntimeEvent) => void): void;
  stop(): void;
}
