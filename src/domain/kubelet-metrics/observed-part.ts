// One part of the agent's observation for metrics. A part reads commands, answers and state; it decides nothing and gets no events.
// Invariant: a part remembers only objects that exist or operations in flight, and drops them with these.

import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { MetricsRecorder } from '../../ports/outbound/metrics/kubelet-metrics.js';
import type { KubeletOperations, KubeletState } from '../agent/kubelet.js';
import type { Command, Reply } from '../kernel/machine.js';

export interface Watched {
  readonly metrics: MetricsRecorder;
  readonly state: KubeletState;
}

export interface Begun {
  readonly at: Micros;
  readonly command: Command<KubeletOperations>;
}

export interface ObservedPart {
  begun?(now: Micros, command: Command<KubeletOperations>, wall: Instant): void;
  /** @param begun null: the command preceded the observation */
  answered?(now: Micros, begun: Begun | null, reply: Reply<KubeletOperations>): void;
  /** After each step. */
  stepped?(now: Micros, wall: Instant): void;
  /** Forgets removed objects. */
  forgetGone?(): void;
}

export function secondsBetween(from: Micros, to: Micros): number {
  return Math.max(0, to - from) / 1e6;
}
