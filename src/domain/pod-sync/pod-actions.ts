// The next actions of a pod's sync: compares the desired pod with the runtime's report, and returns the difference.
// It keeps no state, so a lost event, a restart or an unexpected runtime state only changes the next answer.
// Invariant: a running container is started again only if it is also killed.
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { isRestartableAfterExit } from '../status/restart-rules.js';
import { findContainerStatus } from '../status/runtime-lookup.js';
import { checkSandbox } from '../status/sandbox-check.js';
import { podLevelResourcesDiffer } from './container-resize.js';
import { addInitContainerActions } from './init-container-actions.js';
import type { PodActions, PodActionsDraft, PodActionsInput } from './pod-actions-types.js';
import { addRegularContainerActions } from './regular-container-actions.js';
import { containersToReset } from './restart-all-containers.js';

export function computePodActions(input: PodActionsInput): PodActions {
  const { pod, status } = input;
  const sandbox = checkSandbox(pod, status);
  const draft: PodActionsDraft = {
    killPod: sandbox.needsNew,
    createSandbox: sandbox.needsNew,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: new Map(),
    containersToUpdate: { cpu: [], memory: [] },
    updatePodResources: false,
    updatePodLevelResources: false,
  };
  if (!input.restartAllContainers) {
    if (sandbox.needsNew) addNewSandboxActions(draft, pod, status, sandbox.attempt);
    else addContainerActions(draft, input);
  }
  // Spelled out: adding members to a copied object costs more than all the rest of this function.
  return {
    killPod: draft.killPod,
    createSandbox: draft.createSandbox,
    initContainersToStart: draft.initContainersToStart,
    containersToStart: draft.containersToStart,
    ephemeralContainersToStart: draft.ephemeralContainersToStart,
    containersToUpdate: draft.containersToUpdate,
    updatePodResources: draft.updatePodResources,
    updatePodLevelResources: draft.updatePodLevelResources,
    sandboxId: sandbox.sandboxId,
    attempt: sandbox.attempt,
    containersToKill: [...draft.containersToKill.values()].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)),
    containersToReset: input.restartAllContainers ? containersToReset(pod, status) : [],
  };
}

/**
 * Whether the sync continues with container starts. A pod that is killed permanently starts nothing, not even an ephemeral container:
 * its sandbox is the one being stopped.
 */
export function mayStartContainers(actions: PodActions): boolean {
  return !actions.killPod || actions.createSandbox;
}

/** A new sandbox starts everything again, except containers that completed. */
function addNewSandboxActions(draft: PodActionsDraft, pod: Pod, status: PodRuntimeStatus, attempt: number): void {
  const { containers, initContainers = [], restartPolicy } = pod.spec;
  // A pod that runs once is not run a second time because its sandbox died; but one whose first sandbox never came up has not run yet.
  if (restartPolicy === 'Never' && attempt !== 0 && status.containers.length > 0) {
    draft.createSandbox = false;
    return;
  }
  const starts: number[] = [];
  let everStarted = false;
  for (const [index, container] of containers.entries()) {
    const newest = findContainerStatus(status, container.name);
    everStarted ||= newest !== null && newest.state !== 'unknown';
    const hasEnded = newest !== null && newest.state === 'exited' && !isRestartableAfterExit(pod, container, newest.exitCode);
    if (!hasEnded) starts.push(index);
  }
  if (starts.length === 0 && everStarted) draft.createSandbox = false;
  else if (initContainers.length > 0) draft.initContainersToStart = [0];
  else draft.containersToStart = starts;
}

function addContainerActions(draft: PodActionsDraft, input: PodActionsInput): void {
  const { pod, status } = input;
  for (const [index, container] of (pod.spec.ephemeralContainers ?? []).entries()) {
    // Started once. They don't wait for the init containers, which may be what the user debugs.
    if (findContainerStatus(status, container.name) === null) draft.ephemeralContainersToStart.push(index);
  }
  const initialised = addInitContainerActions(draft, input);
  if (draft.killPod || !initialised) return;
  const kept = addRegularContainerActions(draft, input);
  if (kept === 0 && draft.containersToStart.length === 0) {
    draft.killPod = true;
    // Sidecars must not keep a pod alive whose work is done.
    draft.initContainersToStart = [];
  }
  draft.updatePodLevelResources = podLevelResourcesDiffer(pod, input.actuated);
}
