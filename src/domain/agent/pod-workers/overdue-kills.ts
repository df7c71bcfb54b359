// Pods that the node itself kills, and that still exist long after they should have ended: their events report it, the kill continues.
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import { isPodKnownTerminated } from '../../pod-workers/queries.js';
import { microsPerSecond } from '../../values/time.js';
import type { AgentContext } from '../agent-context.js';
import { uidOf } from '../pod-manager/pod-index.js';
import type { PodWorkersContext } from './slice.js';

export const overdueKillMachine = 'overdue-kill';
/** The Go kubelet's: half as long again as the pod's grace period, and ten seconds at least. */
const leastWait: Micros = 10 * microsPerSecond;
const patience = 1.5;

/** @param gracePeriodSeconds the killer's; null: the pod's own */
export function expectEnd({ turn }: AgentContext, pod: Pod, gracePeriodSeconds: number | null): void {
  turn.wakeAt({ machine: overdueKillMachine, key: uidOf(pod) }, turn.now + longestKill(pod, gracePeriodSeconds));
}

/** How long a kill is expected to take. @param gracePeriodSeconds the killer's; null: the pod's own */
export function longestKill({ spec }: Pod, gracePeriodSeconds: number | null): Micros {
  const grace = gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 0;
  return Math.max(leastWait, Math.floor(grace * patience * microsPerSecond));
}

export function endOverdue(context: PodWorkersContext, uid: string): void {
  const { pods, workers } = context.state;
  const pod = pods.pods.get(uid);
  context.turn.end({ machine: overdueKillMachine, key: uid });
  if (pod === undefined || isPodKnownTerminated(workers, uid)) return;
  context.event(pod, null, 'Warning', 'ExceededGracePeriod', 'Container runtime did not kill the pod within specified grace period.');
}
