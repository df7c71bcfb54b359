// Pods whose cgroups and directories this agent has made.
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';

/** What this agent has made for pods outside of the runtime; see prepared-pods. */
export interface PreparedState {
  /** By uid: the pod for which it was made, and when. */
  readonly pods: Map<string, { readonly pod: Pod; readonly at: Micros }>;
  lookPlanned: boolean;
  /** null: no check in progress. */
  lookAskedAt: Micros | null;
}

export function newPrepared(): PreparedState {
  return { pods: new Map(), lookPlanned: false, lookAskedAt: null };
}
