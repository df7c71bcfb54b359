// The state of a kill of some or all of a pod's containers.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ActionResult } from './action-result.js';
import type { ContainerKill } from './container-kill.js';
import type { LifecycleHook } from './lifecycle-hook-state.js';

export interface KillItem {
  readonly containerId: string;
  readonly kill: ContainerKill;
  /** The preStop hook, after its start. */
  hook: LifecycleHook | null;
  asked: boolean;
  /** The end of the stop's grace period, after its request. */
  stopUntil: Micros | null;
  /** The time of the retry of an interrupted stop; null: no retry. */
  retryAt: Micros | null;
}

export interface PodKill {
  readonly pod: Pod;
  readonly items: KillItem[];
  /** Container -> the containers that must stop before it; empty: no order. */
  readonly order: ReadonlyMap<string, readonly string[]>;
  /** Sandboxes to stop in the end. */
  readonly sandboxIds: readonly string[];
  phase: 'containers' | 'sandboxes' | 'done';
  asked: boolean;
  readonly results: ActionResult[];
}
