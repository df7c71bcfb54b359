// Whether the runtime can be used, and what it is.
import type { AgentPart } from '../part.js';
import { thenDrain } from '../sync-loop/then-drain.js';
import { podCidrReplied, pollStatus, runtimeAddress, statusReplied, versionReplied } from './runtime-poll.js';

/** `pkg/kubelet/runtime.go`: whether the runtime can be used. */
export const runtimeState: AgentPart<'runtimeState'> = {
  name: 'runtimeState',
  start: pollStatus,
  machines: {
    [runtimeAddress.machine]: {
      replies: {
        'runtime.version': thenDrain(versionReplied),
        'runtime.updateConfig': thenDrain(podCidrReplied),
        'runtime.status': thenDrain(statusReplied),
      },
      woken: pollStatus,
    },
  },
};
