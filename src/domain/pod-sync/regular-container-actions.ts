// The regular containers of a pod whose initialization is done: which start, which are killed, which are kept.
// Invariant: a running container is either kept or killed.
import type { Container } from '../../ports/model/container.js';
import type { RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { effectiveRestartPolicy, shouldContainerBeRestarted } from '../status/restart-rules.js';
import { findContainerStatus } from '../status/runtime-lookup.js';
import { isContainerChanged, killContainer, resizeContainer } from './container-actions.js';
import type { KillReason } from './kill-grace.js';
import type { PodActionsDraft, PodActionsInput } from './pod-actions-types.js';

/** Adds the actions; returns how many containers keep running. */
export function addRegularContainerActions(draft: PodActionsDraft, input: PodActionsInput): number {
  const { pod, status } = input;
  let kept = 0;
  for (const [index, container] of pod.spec.containers.entries()) {
    const newest = findContainerStatus(status, container.name);
    if (newest === null || newest.state !== 'running') {
      if (!shouldContainerBeRestarted(pod, container, status)) continue;
      draft.containersToStart.push(index);
      // It may be running, and two of it must not.
      if (newest?.state === 'unknown') killContainer(draft, newest, 'Container is in "unknown" state, try killing it before restart', 'Unknown');
      continue;
    }
    const cause = killCause(input, container, newest);
    if (cause !== null) {
      // Exit code rules don't apply: there is no exit code yet.
      const restart = cause.always || effectiveRestartPolicy(pod, container) !== 'Never';
      killContainer(draft, newest, restart ? `${cause.message}, will be restarted` : cause.message, cause.reason);
      if (restart) draft.containersToStart.push(index);
    } else if (resizeContainer(draft, input, container, newest) === 'restart') draft.containersToStart.push(index);
    else kept++;
  }
  return kept;
}

interface KillCause {
  readonly message: string;
  readonly reason: KillReason;
  /** It starts again under any restart policy. */
  readonly always: boolean;
}

function killCause(input: PodActionsInput, container: Container, newest: RuntimeContainerStatus): KillCause | null {
  const { name } = container;
  if (isContainerChanged(container, newest)) return { message: `Container ${name} definition changed`, reason: '', always: true };
  if (input.livenessResults.get(newest.id) === 'failure') return { message: `Container ${name} failed liveness probe`, reason: 'LivenessProbe', always: false };
  if (input.startupResults.get(newest.id) === 'failure') return { message: `Container ${name} failed startup probe`, reason: 'StartupProbe', always: false };
  return null;
}
