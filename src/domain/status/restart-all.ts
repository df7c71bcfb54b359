// Restart of all containers of a pod in place (KEP-5532): whether a pod is in such a restart, and its condition.
// Invariant: only the runtime's instances or the present condition start or continue it. API container statuses outlive the restart and would start it
// repeatedly.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodCondition, PodPhase, PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { conditionTypes, findCondition } from './conditions.js';
import { podHasRestartAllRule, triggersRestartAll } from './restart-rules.js';
import { findContainerStatus } from './runtime-lookup.js';

/** @param previous the status before this one: cached, else the API's */
export function isRestartingAll(pod: Pod, runtime: PodRuntimeStatus, previous: PodStatus): boolean {
  if (findCondition(previous.conditions, conditionTypes.allContainersRestarting)?.status === 'True') return true;
  return (
    podHasRestartAllRule(pod) &&
    ownContainers(pod).some((container) => {
      const newest = findContainerStatus(runtime, container.name);
      return newest !== null && newest.state === 'exited' && triggersRestartAll(container, newest.exitCode);
    })
  );
}

/** AllContainersRestarting; without observedGeneration. Only for pods with a rule for it. */
export function allContainersRestartingCondition(pod: Pod, runtime: PodRuntimeStatus, previous: PodStatus, phase: PodPhase): PodCondition {
  const type = conditionTypes.allContainersRestarting;
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  if (!isRestartingAll(pod, runtime, previous) || everythingRemoved(pod, runtime)) return { type, status: 'False' };
  return { type, status: 'True', reason: 'RestartAllContainersStarted', message: 'container exited with restart policy rule' };
}

function everythingRemoved(pod: Pod, runtime: PodRuntimeStatus): boolean {
  return ownContainers(pod).every((container) => findContainerStatus(runtime, container.name) === null);
}

function ownContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}
