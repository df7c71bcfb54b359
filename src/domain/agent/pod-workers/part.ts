// The life of each pod: its operations one after the other, and the end of the pod.
import { hookMachine } from '../../pod-sync/lifecycle-hook.js';
import { podMachine } from '../../pod-sync/sync-context.js';
import type { AgentPart } from '../part.js';
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
    [hookMachine]: { replied: (context, uid, reply) => withEffects(context, (effects) => operationHookReplied(context, uid, reply, effects)) },
    [overdueKillMachine]: { woken: endOverdue },
    [keptPodMachine]: { woken: reportOverdueStep },
  },
};
