// Exclusive resources of containers, for pod-resources clients. It reads and changes nothing.

import type { HeldMemory, PodHoldings, PodResourceQueries } from '../../../ports/inbound/pod-resources.js';
import type { Pod } from '../../../ports/model/pod.js';
import { allocatableExclusiveCpus } from '../../cpu-manager/cpu-manager.js';
import type { MemoryBlock } from '../../memory-manager/machine-memory.js';
import { allocatableMemory } from '../../memory-manager/memory-manager.js';
import { isRestartableInit } from '../../status/restart-rules.js';
import { podFullName } from '../../values/pod-references.js';
import type { AgentView } from '../agent-view.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { activePods, isActive } from '../pod-workers/active-pods.js';

export function podResourceQueries(state: AgentView): PodResourceQueries {
  return {
    list: () => activePods(state).map((pod) => holdingsOf(state, pod)),
    get(namespace, name) {
      const pod = state.pods.podsByFullName.get(podFullName(name, namespace));
      return pod === undefined || !isActive(state, pod) ? null : holdingsOf(state, pod);
    },
    allocatable() {
      const { alignment } = state;
      if (alignment === null) return { cpus: [], memory: [] };
      return { cpus: allocatableExclusiveCpus(alignment.cpu), memory: allocatableMemory(alignment.memory).map(heldMemory) };
    },
  };
}

function holdingsOf({ alignment }: AgentView, pod: Pod): PodHoldings {
  const { name, namespace = '' } = pod.metadata;
  const uid = uidOf(pod);
  const containers = [...(pod.spec.initContainers ?? []).filter(isRestartableInit), ...pod.spec.containers];
  return {
    name,
    namespace,
    containers: containers.map((container) => ({
      containerName: container.name,
      cpus: alignment?.cpu.assignments.get(uid)?.get(container.name) ?? [],
      memory: (alignment?.memory.assignments.get(uid)?.get(container.name) ?? []).map(heldMemory),
    })),
  };
}

function heldMemory({ type, size, numaAffinity }: MemoryBlock): HeldMemory {
  return { type, sizeBytes: size, numaNodes: numaAffinity };
}
