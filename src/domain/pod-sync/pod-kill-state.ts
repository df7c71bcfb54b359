// A kill of some or all of a pod's containers under way, as data.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ActionResult } from './action-result.js';
import type { ContainerKill } from './container-kill.js';
import type { LifecycleHook } from './lifecycle-hook-state.js';

export interface KillItem {
  readonly containerId: string;
  readonly kill: ContainerKill;
  /** The preStop hook, once it was begun. */
  hook: LifecycleHook | null;
  asked: boolean;
  /** When the grace period of the stop ends, once it was asked for. */
  stopUntil: Micros | null;
  /** When an interrupted stop is asked for again; null: it isn't waited for. */
  retryAt: Micros | null;
}

export interface PodKill {
  readonly pod: Pod;
  readonly items: KillItem[];
  /** Container -> those that must be down first; empty when there is no order to keep. */
  readonly order: ReadonlyMap<string, readonly string[]>;
  /** Sandboxes to stop in the end. */
  readonly sandboxIds: readonly string[];
  phase: 'containers' | 'sandboxes' | 'done';
  asked: boolean;
  readonly results: ActionResult[];
}
