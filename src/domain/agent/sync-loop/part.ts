// Dispatches changes of pods to their workers.
import type { AgentPart } from '../part.js';
import { syncMachine } from '../pod-workers/worker-effects.js';
import { syncLoopAddress } from './pod-pace.js';
import { drain, resumeWaitingPods, syncPods } from './sync-loop.js';

/** `syncLoop` of `pkg/kubelet/kubelet.go`. */
export const syncLoop: AgentPart<'syncLoop'> = {
  name: 'syncLoop',
  start: ({ state, turn }) => {
    state.loopEnteredAt = turn.now;
  },
  settle: resumeWaitingPods,
  machines: {
    [syncMachine]: { woken: (context, uid) => syncPods(context, [uid]) },
    [syncLoopAddress.machine]: { woken: drain },
  },
};
