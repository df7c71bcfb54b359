// The init containers of a pod that has its sandbox, sidecars among them (KEP-753): which run next, which have to run again.
// They are looked at from the last to the first: the newest one that left a trace tells how far the pod had come.
// Invariant: an ordinary init container never starts once a regular container was created or runs.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { unreachable } from '../kernel/assert.js';
import { effectiveRestartPolicy, isRestartableInit, shouldContainerBeRestarted } from '../status/restart-rules.js';
import { findContainerStatus } from '../status/runtime-lookup.js';
import { isContainerChanged, killContainer, resizeContainer } from './container-actions.js';
import type { PodActionsDraft, PodActionsInput } from './pod-actions-types.js';

/** How the look at one init container goes on. */
type Verdict =
  /** Nothing more to do for it; those before it were done at some time. */
  | 'examined'
  /** It is as far as it has to be: those after it may run. */
  | 'initialised'
  /** It can't run again, so the pod can't go on. */
  | 'podFailed';

/** Adds what is to do; answers whether the regular containers may run. */
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
    const start = (): void => void starts.push(index);
    // The next one starts before anything that this one itself may need.
    const goOn = (): void => {
      if (index === containers.length - 1) initialised = true;
      else if (!passed) starts.push(index + 1);
    };
    const verdict = sidecar ? examineSidecar(draft, input, container, newest, start, goOn) : examineInitContainer(draft, input, container, newest, start);
    if (verdict === 'podFailed') {
      draft.killPod = true;
      draft.initContainersToStart = [];
      return false;
    }
    if (verdict === 'initialised') goOn();
    passed = true;
  }
  if (!passed) starts.push(0);
  draft.initContainersToStart = [...draft.initContainersToStart, ...starts.reverse()];
  return initialised;
}

/** An exited one doesn't count: after a reboot it belongs to a sandbox that is gone. */
function hasActiveRegularContainer(pod: Pod, status: PodRuntimeStatus): boolean {
  return pod.spec.containers.some((container) => {
    const state = findContainerStatus(status, container.name)?.state;
    return state === 'created' || state === 'running';
  });
}

function examineInitContainer(draft: PodActionsDraft, input: PodActionsInput, container: Container, newest: RuntimeContainerStatus, start: () => void): Verdict {
  const { pod, status } = input;
  switch (newest.state) {
    case 'created':
      // Creation and start are one step; it stopped in between.
      start();
      return 'examined';
    case 'running':
      if (resizeContainer(draft, input, container, newest) === 'restart') start();
      return 'examined';
    case 'exited':
      if (newest.exitCode === 0 && newest.reason !== 'OOMKilled') return 'initialised';
      if (!shouldContainerBeRestarted(pod, container, status)) return 'podFailed';
      start();
      return 'examined';
    case 'unknown':
      if (effectiveRestartPolicy(pod, container) === 'Never') return 'podFailed';
      killUnknown(draft, newest);
      start();
      return 'examined';
    default:
      return unreachable(newest.state);
  }
}

function examineSidecar(draft: PodActionsDraft, input: PodActionsInput, container: Container, newest: RuntimeContainerStatus, start: () => void, goOn: () => void): Verdict {
  switch (newest.state) {
    case 'created':
    case 'exited':
      start();
      return 'examined';
    case 'unknown':
      killUnknown(draft, newest);
      start();
      return 'examined';
    case 'running':
      examineRunningSidecar(draft, input, container, newest, start, goOn);
      return 'examined';
    default:
      return unreachable(newest.state);
  }
}

function examineRunningSidecar(draft: PodActionsDraft, input: PodActionsInput, container: Container, newest: RuntimeContainerStatus, start: () => void, goOn: () => void): void {
  const { name } = container;
  if (container.startupProbe !== undefined) {
    const startup = input.startupResults.get(newest.id);
    if (startup === 'failure') {
      killContainer(draft, newest, `Init container ${name} failed startup probe`, 'StartupProbe');
      start();
    }
    if (startup !== 'success') return;
  }
  // Its liveness doesn't hold up those after it.
  goOn();
  if (isContainerChanged(container, newest)) {
    killContainer(draft, newest, `Init container ${name} definition changed`, '');
    start();
    return;
  }
  if (container.livenessProbe !== undefined) {
    const liveness = input.livenessResults.get(newest.id);
    if (liveness === undefined) return;
    if (liveness === 'failure') {
      killContainer(draft, newest, `Init container ${name} failed liveness probe`, 'LivenessProbe');
      start();
      return;
    }
  }
  if (resizeContainer(draft, input, container, newest) === 'restart') start();
}

function killUnknown(draft: PodActionsDraft, newest: RuntimeContainerStatus): void {
  killContainer(draft, newest, 'Init container is in "unknown" state, try killing it before restart', 'Unknown');
}
