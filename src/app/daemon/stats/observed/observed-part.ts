// One kind of what is observed of the agent for metrics. A part looks at commands, answers and state; it decides nothing and is told nothing.
// Invariant: what a part remembers is of things that are there or under way, and goes with them.

import type { KubeletMetrics } from '../../../../adapters/metrics/index.js';
import type { KubeletOperations, KubeletState } from '../../../../domain/agent/kubelet.js';
import type { Command, Reply } from '../../../../domain/kernel/machine.js';
import type { Instant } from '../../../../ports/instant.js';
import type { Micros } from '../../../../ports/micros.js';

export interface Watched {
  readonly metrics: KubeletMetrics;
  readonly state: KubeletState;
}

export interface Begun {
  readonly at: Micros;
  readonly command: Command<KubeletOperations>;
}

export interface ObservedPart {
  begun?(now: Micros, command: Command<KubeletOperations>, wall: Instant): void;
  /** @param begun null: it was asked before anybody watched */
  answered?(now: Micros, begun: Begun | null, reply: Reply<KubeletOperations>): void;
  /** After each step. */
  stepped?(now: Micros, wall: Instant): void;
  /** Something may be gone: forgets what belonged to it. */
  forgetGone?(): void;
}

export function secondsBetween(from: Micros, to: Micros): number {
  return Math.max(0, to - from) / 1e6;
}
