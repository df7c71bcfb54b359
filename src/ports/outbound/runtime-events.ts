// Change notifications of the container runtime. A hint, never the truth: it says only which pod to inspect,
// so a lost, late or repeated one costs only latency.
import type { Instant } from '../instant.js';

export type RuntimeEvent =
  /** Something of this pod was created, started, stopped or removed at that time. */
  | { readonly kind: 'changed'; readonly podUid: string; readonly at: Instant }
  /** Notices may be missing from here on, or were missing until now (at each new connection): list everything. */
  | { readonly kind: 'lost' }
  /** The runtime doesn't support events. Sent once and last: relist at intervals. */
  | { readonly kind: 'unsupported' };

/** A stream of notices. `start` before `stop`, each once; nothing is delivered after `stop`. */
export interface RuntimeEventSource {
  /** `deliver` is called one event at a time, in the order of arrival. The first event is `lost` or `unsupported`. */
  start(deliver: (event: RuntimeEvent) => void): void;
  stop(): void;
}
