// Statuses of pods, and writing them to the API.
import { type AgentPart, repliesTo, whenSettled } from '../part.js';
import { setReadyToStartContainers } from './pod-statuses.js';
import { pauseAddress, planStatusWrites, queueStatusWrite, restAddress, statusWriteMachine, statusWriteReplied, statusWritesResumed } from './status-writes.js';

/** `pkg/kubelet/status`. */
export const statusManager: AgentPart<'statusManager'> = {
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
    [restAddress.machine]: { woken: whenSettled },
  },
};
