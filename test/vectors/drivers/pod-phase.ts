// pod-phase: phase and the Initialized, ContainersReady and Ready conditions from container statuses alone.
import { containersReadyCondition, initializedCondition, readyCondition } from '../../../src/domain/status/conditions.js';
import { podPhase } from '../../../src/domain/status/phase.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { ContainerStatus, PodCondition } from '../../../src/ports/model/pod-status.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly pod: Pod;
  readonly containerStatuses: readonly ContainerStatus[] | null;
  readonly podIsTerminal: boolean;
  readonly podHasInitialized: boolean;
  readonly oldConditions?: readonly PodCondition[] | null;
  readonly otherConditions?: readonly PodCondition[] | null;
}

export const driver: VectorDriver = {
  run({ pod, containerStatuses, podIsTerminal, podHasInitialized, oldConditions, otherConditions }: Input) {
    const phase = podPhase({ pod, statuses: containerStatuses ?? [], podIsTerminal, podHasInitialized });
    const containers = containersReadyCondition(pod, containerStatuses, phase);
    return {
      phase,
      conditions: [initializedCondition(pod, containerStatuses, phase, oldConditions ?? []), containers, readyCondition(pod, otherConditions ?? [], containers)],
    };
  },
};
