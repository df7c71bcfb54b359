// The life of each pod: its operations one after the other, and the end of the pod.
import { hookMachine, hookOperations } from '../../pod-sync/lifecycle-hook.js';
import { podMachine } from '../../pod-sync/sync-context.js';
import { type AgentPart, repliesTo } from '../part.js';
import { forgetFinishedPods } from './ended-pods.js';
import { keptPodMachine, reportOverdueStep } from './kept-pods.js';
import { endOverdue, overdueKillMachine } from './overdue-kills.js';
import { operationHookReplied, operationReplied, operationWoken } from './pod-operations.js';
import { withEffects } from './worker-effects.js';

/** `pkg/kubelet/pod_workers.go`. */
export const podWorkers: AgentPart<'podWorkers'> = {
  name: 'podWorkers',
  settle: forgetFinishedPods,
  machines: {
    [podMachine]: {
      replied: (context, uid, reply) => withEffects(context, (effects) => operationReplied(context, uid, reply, effects)),
      woken: (context, uid) => withEffects(context, (effects) => operationWoken(context, uid, effects)),
    },
    [hookMachine]: {
      replies: repliesTo(hookOperations, (context, uid, answer) => withEffects(context, (effects) => operationHookReplied(context, uid, answer, effects))),
    },
    [overdueKillMachine]: { woken: endOverdue },
    [keptPodMachine]: { woken: reportOverdueStep },
  },
};
