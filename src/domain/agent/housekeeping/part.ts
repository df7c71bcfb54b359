// Removes what terminated and unknown pods left on the node.
import type { AgentPart } from '../part.js';
import { beginHousekeeping, cgroupDestroyed, cgroupsListed, directoriesListed, housekeepingAddress, planHousekeeping, runningListed } from './housekeeping.js';
import { orphanMachine, orphanRemoved } from './orphan-directories.js';

/** `HandlePodCleanups` of `pkg/kubelet/kubelet_pods.go`. */
export const housekeeping: AgentPart<'housekeeping'> = {
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
