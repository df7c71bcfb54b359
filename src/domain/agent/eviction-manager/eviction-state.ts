// The eviction loop as data, and the agent's state beside it.
import type { Micros } from '../../../ports/micros.js';
import { type EvictionLoop, startEvictionLoop } from '../../eviction/eviction-loop.js';
import type { EvictionSignal } from '../../eviction/signals.js';

export interface EvictionState {
  loop: EvictionLoop;
  /** When the loop is woken next; null: nothing is planned. */
  plannedAt: Micros | null;
  /** Until when pods that are being evicted are waited for; null: none are. */
  killsEndAt: Micros | null;
  /** Why pods were evicted, by uid: the signal that the metric `kubelet_evictions` names. */
  readonly evicted: Map<string, string>;
  /** The age of the statistics that the last eviction used. */
  statsAges: readonly { readonly signal: EvictionSignal; readonly age: Micros }[];
}

export function newEviction(): EvictionState {
  return { loop: startEvictionLoop(0), plannedAt: null, killsEndAt: null, evicted: new Map(), statsAges: [] };
}
