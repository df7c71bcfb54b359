// The result of each action of a sync, and the one error text of a failed sync.
import type { Micros } from '../../ports/micros.js';

export type SyncAction = 'StartContainer' | 'KillContainer' | 'CreatePodSandbox' | 'KillPodSandbox' | 'RemoveContainer' | 'ResizePodInPlace';

export interface ActionResult {
  readonly action: SyncAction;
  /** The container's name; of a sandbox that is made the pod's reference text, of one that is stopped the pod's uid. */
  readonly target: string;
  /** Null: it worked. */
  readonly error: { readonly reason: string; readonly message: string /** Not before this time, when it only waits. */; readonly retryAt: Micros | null } | null;
}

export function succeeded(action: SyncAction, target: string): ActionResult {
  return { action, target, error: null };
}

export function failed(action: SyncAction, target: string, reason: string, message: string, retryAt: Micros | null = null): ActionResult {
  return { action, target, error: { reason, message, retryAt } };
}

/** The text of all failures, or null if every action succeeded; several are joined in brackets, each text once. */
export function errorOfResults(results: readonly ActionResult[]): string | null {
  const texts = new Set<string>();
  for (const { action, target, error } of results) {
    if (error !== null) texts.add(`failed to ${JSON.stringify(action)} for ${JSON.stringify(target)} with ${error.reason}: ${JSON.stringify(error.message)}`);
  }
  if (texts.size === 0) return null;
  return texts.size === 1 ? [...texts].join('') : `[${[...texts].join(', ')}]`;
}

export function retryTimes(results: readonly ActionResult[]): Micros[] {
  return results.flatMap(({ error }) => (error?.retryAt == null ? [] : [error.retryAt]));
}
