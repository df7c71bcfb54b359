// The CPU manager as the topology manager sees it: stale state is collected before anything is answered.
import type { ActivePods } from '../topology-manager/active-pods.js';
import type { HintProvider } from '../topology-manager/pod-admission.js';
import { allocateContainerCpus, type CpuManager, collectStaleCpus, cpuContainerHints, cpuPodHints } from './cpu-manager.js';

export function cpuHintProvider(manager: CpuManager, active: ActivePods): HintProvider {
  return {
    name: 'cpu',
    containerHints: (pod, container) => {
      collectStaleCpus(manager, active);
      return cpuContainerHints(manager, pod, container);
    },
    podHints: (pod) => {
      collectStaleCpus(manager, active);
      return cpuPodHints(manager, pod);
    },
    allocate: (pod, container, hint) => {
      collectStaleCpus(manager, active);
      return allocateContainerCpus(manager, pod, container, hint);
    },
  };
}
