// Parts of the life of pods: the sync loop, workers, admission, probes, statuses, and what removes the remains.

import { hookMachine } from '../../pod-sync/lifecycle-hook.js';
import { podMachine } from '../../pod-sync/sync-context.js';
import { probeOperations } from '../../probes/ask-probe.js';
import { forgetFinishedPods } from '../ended-pods.js';
import { beginHousekeeping, cgroupDestroyed, cgroupsListed, directoriesListed, housekeepingAddress, planHousekeeping, runningListed } from '../housekeeping.js';
import { keptPodMachine, reportOverdueStep } from '../kept-pods.js';
import { mirrorCreated, mirrorDeleted, mirrorMachine, mirrorWoken } from '../mirror-pods.js';
import { orphanMachine, orphanRemoved } from '../orphan-directories.js';
import { endOverdue, overdueKillMachine } from '../overdue-kills.js';
import { type AgentPart, repliesTo } from '../part.js';
import { admissionMachine, endRefused, takePodsWhosePreemptionIsDone } from '../pod-admission.js';
import { uidOf } from '../pod-index.js';
import { operationHookReplied, operationReplied, operationWoken } from '../pod-operations.js';
import { syncLoopAddress } from '../pod-pace.js';
import { setReadyToStartContainers } from '../pod-statuses.js';
import { probeMachine } from '../probe-workers.js';
import { probeReplied, probeWoken } from '../probing.js';
import { pauseAddress, planStatusWrites, queueStatusWrite, restAddress, statusWriteMachine, statusWriteReplied, statusWritesResumed } from '../status-writes.js';
import { admitAgain, drain, goOn, nodeRead, syncPods } from '../sync-loop.js';
import { syncMachine, withEffects } from '../worker-effects.js';

/** `syncLoop` of `pkg/kubelet/kubelet.go`. */
export const syncLoop: AgentPart = {
  name: 'syncLoop',
  settle: goOn,
  machines: {
    [syncMachine]: { woken: (context, uid) => syncPods(context, [uid]) },
    [syncLoopAddress.machine]: { woken: drain },
  },
};

/** `pkg/kubelet/pod_workers.go`. */
export const podWorkers: AgentPart = {
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

/** `pkg/kubelet/lifecycle` and `pkg/kubelet/preemption`. */
export const podAdmission: AgentPart = {
  name: 'podAdmission',
  settle: (context) => {
    if (context.refusals.size === 0 && context.state.admission.completed.length === 0) return;
    endRefused(context);
    for (const pod of takePodsWhosePreemptionIsDone(context)) context.forPod(uidOf(pod), () => admitAgain(context, pod));
  },
  machines: { [admissionMachine]: { replies: { 'apiReader.get': nodeRead } } },
};

/** `HandlePodCleanups` of `pkg/kubelet/kubelet_pods.go`. */
export const housekeeping: AgentPart = {
  name: 'housekeeping',
  settle: planHousekeeping,
  machines: {
    [housekeepingAddress.machine]: {
      replies: {
        'podCgroups.list': (context, _key, answer) => cgroupsListed(context, answer),
        'podDirectories.list': (context, _key, answer) => directoriesListed(context, answer),
        'runtime.listPods': (context, _key, answer) => runningListed(context, answer),
        'podCgroups.destroy': (context, _key, answer) => cgroupDestroyed(context, answer),
      },
      woken: beginHousekeeping,
    },
    [orphanMachine]: { replies: { 'podDirectories.remove': orphanRemoved } },
  },
};

/** `pkg/kubelet/prober`. */
export const probeManager: AgentPart = { name: 'probeManager', machines: { [probeMachine]: { replies: repliesTo(probeOperations, probeReplied), woken: probeWoken } } };

/** `pkg/kubelet/status`. */
export const statusManager: AgentPart = {
  name: 'statusManager',
  settle: (context) => {
    setReadyToStartContainers(context);
    planStatusWrites(context);
  },
  machines: {
    [statusWriteMachine]: {
      replies: repliesTo(['apiReader.get', 'apiWriter.patch', 'apiWriter.delete'], statusWriteReplied),
      woken: ({ state }, uid) => queueStatusWrite(state, uid),
    },
    [pauseAddress.machine]: { woken: statusWritesResumed },
    // The rest is planned at the end of the step.
    [restAddress.machine]: { woken: () => {} },
  },
};

/** `pkg/kubelet/pod/mirror_client.go`. */
export const mirrorClient: AgentPart = {
  name: 'mirrorClient',
  machines: { [mirrorMachine]: { replies: { 'apiWriter.create': mirrorCreated, 'apiWriter.delete': mirrorDeleted }, woken: mirrorWoken } },
};
