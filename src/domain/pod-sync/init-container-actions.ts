// The init containers of a pod that has its sandbox, including sidecars (KEP-753): which run next, which must run again.
// They are checked from the last to the first: the newest instance shows the pod's progress.
// Invariant: an ordinary init container never starts once a regular container was created or runs.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { unreachable } from '../kernel/assert.js';
import { effectiveRestartPolicy, isRestartableInit, shouldContainerBeRestarted } from '../status/restart-rules.js';
import { findContainerStatus } from '../status/runtime-lookup.js';
import { isContainerChanged, killContainer, resizeContainer } from './container-actions.js';
import type { PodActionsDraft, PodActionsInput } from './pod-actions-types.js';

/** The actions for one init container. `next`: the next init container may start. */
interface Verdict {
  readonly start: boolean;
  readonly next: boolean;
}
const wait: Verdict = { start: false, next: false };
const startAgain: Verdict = { start: true, next: false };
const letNext: Verdict = { start: false, next: true };
const letNextAndStartAgain: Verdict = { start: true, next: true };

/** Adds the actions; returns whether the regular containers may run. */
export function addInitContainerActions(draft: PodActionsDraft, input: PodActionsInput): boolean {
  const { pod, status } = input;
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return true;
  let initialised = hasActiveRegularContainer(pod, status);
  // Whether some container after the present one has left a trace, so that the present one must have been done before.
  let passed = initialised;
  const starts: number[] = [];
  for (let index = containers.length - 1; index >= 0; index--) {
    const container = containers[index] as Container;
    const sidecar = isRestartableInit(container);
    const newest = findContainerStatus(status, container.name);
    if (newest === null) {
      if (sidecar && passed) starts.push(index);
      continue;
    }
    if (passed && !sidecar) continue;
    const verdict = sidecar ? examineSidecar(draft, input, container, newest) : examineInitContainer(draft, input, container, newest);
    if (verdict === null) {
      draft.killPod = true;
      return false;
    }
    if (verdict.next && index === containers.length - 1) initialised = true;
    else if (verdict.next && !passed) starts.push(index + 1);
    if (verdict.start) starts.push(index);
    passed = true;
  }
  if (!passed) starts.push(0);
  draft.initContainersToStart = starts.reverse();
  return initialised;
}

/** Ignores exited containers: after a reboot they belong to a removed sandbox. */
function hasActiveRegularContainer(pod: Pod, status: PodRuntimeStatus): boolean {
  return pod.spec.containers.some((container) => {
    const state = findContainerStatus(status, container.name)?.state;
    return state === 'created' || state === 'running';
  });
}

/** null: it can't run again, so the pod has failed. */
function examineInitContainer(draft: PodActionsDraft, input: PodActionsInput, container: Container, newest: RuntimeContainerStatus): Verdict | null {
  const { pod, status } = input;
  switch (newest.state) {
    case 'created':
      // Creation and start are one step; it stopped in between.
      return startAgain;
    case 'running':
      return resizeContainer(draft, input, container, newest) === 'restart' ? startAgain : wait;
    case 'exited':
      if (newest.exitCode === 0 && newest.reason !== 'OOMKilled') return letNext;
      return shouldContainerBeRestarted(pod, container, status) ? startAgain : null;
    case 'unknown':
      if (effectiveRestartPolicy(pod, container) === 'Never') return null;
      killUnknown(draft, newest);
      return startAgain;
    default:
      return unreachable(newest.state);
  }
}

function examineSidecar(draft: PodActionsDraft, input: PodActionsInput, container: Container, newest: RuntimeContainerStatus): Verdict {
  switch (newest.state) {
    case 'created':
    case 'exited':
      return startAgain;
    case 'unknown':
      killUnknown(draft, newest);
      return startAgain;
    case 'running':
      return examineRunningSidecar(draft, input, container, newest);
    default:
      return unreachable(newest.state);
  }
}

function examineRunningSidecar(draft: PodActionsDraft, input: PodActionsInput, container: Container, newest: RuntimeContainerStatus): Verdict {
  const { name } = container;
  const startup = input.startupResults.get(newest.id);
  if (container.startupProbe !== undefined && startup !== 'success') {
    if (startup !== 'failure') return wait;
    killContainer(draft, newest, `Init container ${name} failed startup probe`, 'StartupProbe');
    return startAgain;
  }
  // It has started, so neither a new definition nor its liveness blocks the containers after it.
  if (isContainerChanged(container, newest)) {
    killContainer(draft, newest, `Init container ${name} definition changed`, '');
    return letNextAndStartAgain;
  }
  const liveness = input.livenessResults.get(newest.id);
  if (container.livenessProbe !== undefined && liveness === undefined) return letNext;
  if (container.livenessProbe !== undefined && liveness === 'failure') {
    killContainer(draft, newest, `Init container ${name} failed liveness probe`, 'LivenessProbe');
    return letNextAndStartAgain;
  }
  return resizeContainer(draft, input, container, newest) === 'restart' ? letNextAndStartAgain : letNext;
}

function killUnknown(draft: PodActionsDraft, newest: RuntimeContainerStatus): void {
  killContainer(draft, newest, 'Init container is in "unknown" state, try killing it before restart', 'Unknown');
}
