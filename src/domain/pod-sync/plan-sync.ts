// Turns the pod actions of one sync into the steps that carry them out, in the order that is contract: kills, removals, the sandbox,
// ephemeral containers, init containers, regular containers.
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { podCgroupConfig, podCgroupOptions } from '../cgroups/pod-cgroup-config.js';
import { usesClaims } from '../dra-manager/pod-claims.js';
import { withReportedEnds } from '../status/reported-ends.js';
import { isRestartingAll } from '../status/restart-all.js';
import { newContainerStart } from './container-start-state.js';
import { newImageVolumePulls } from './image-volumes.js';
import { computePodActions, mayStartContainers } from './pod-actions.js';
import type { PodActions } from './pod-actions-types.js';
import { beginContainerKills, beginPodKill } from './pod-kill.js';
import { isResizing, planResize } from './resize-plan.js';
import type { ResizeActuation } from './resize-state.js';
import type { SyncContext } from './sync-context.js';
import type { ContainerToRemove, SyncRun, SyncStep } from './sync-run.js';

export function planSync(run: SyncRun, context: SyncContext): SyncStep[] {
  const { pod, status } = run;
  const reported = context.previousStatus(run);
  const restartAllContainers = isRestartingAll(pod, status, reported);
  const actions = computePodActions({
    pod,
    status: restartAllContainers ? status : withReportedEnds(pod, status, reported, context.turn.wall),
    restartAllContainers,
    livenessResults: context.probeResults.liveness,
    startupResults: context.probeResults.startup,
    actuated: context.actuatedResources(run),
  });
  run.sandboxId = actions.createSandbox ? '' : actions.sandboxId;
  run.sandboxAttempt = actions.attempt;
  if (actions.createSandbox && actions.sandboxId !== '') {
    context.event(pod, null, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
  }
  const steps = actions.killPod ? killPodSteps(run, actions, context) : killContainerSteps(run, actions, context);
  if (!mayStartContainers(actions)) return steps;
  steps.push({ kind: 'remove', containers: oldInitContainers(pod, status, actions), phase: 'ask' });
  if (actions.createSandbox && usesClaims(pod)) steps.push({ kind: 'claims', to: 'prepare', begun: false });
  if (pod.spec.hostUsers === false) steps.push({ kind: 'userNamespace', fresh: actions.createSandbox });
  if (actions.createSandbox) steps.push({ kind: 'sandbox', attempt: actions.attempt, phase: 'run', sandboxId: '' });
  const starts = startSteps(pod, actions);
  if (isResizing(actions)) starts.splice(regularAt(starts), 0, { kind: 'resize', resize: resizeOf(run, actions, context) });
  const pulls = newImageVolumePulls(run, starts, context);
  if (pulls !== null) steps.push({ kind: 'imageVolumes', pulls });
  steps.push(...starts);
  return steps;
}

function killPodSteps(run: SyncRun, actions: PodActions, context: SyncContext): SyncStep[] {
  const steps: SyncStep[] = [{ kind: 'kill', kill: beginPodKill(run.pod, run.status, null, context) }];
  // A new sandbox runs the init containers again, from the first: their old instances must not count.
  if (actions.createSandbox) steps.push({ kind: 'remove', containers: initInstances(run.pod, run.status).map((status) => toRemove(status, false)), phase: 'ask' });
  return steps;
}

function killContainerSteps(run: SyncRun, actions: PodActions, context: SyncContext): SyncStep[] {
  const steps: SyncStep[] = [];
  if (actions.containersToKill.length > 0) steps.push({ kind: 'kill', kill: beginContainerKills(run.pod, actions.containersToKill, null, context) });
  if (actions.containersToReset.length > 0) {
    const killed = actions.containersToReset.filter(({ kill }) => kill).map(({ id, name }) => ({ id, name, reason: 'RestartAllContainers' as const, message: 'killing' }));
    const byId = new Map(run.status.containers.map((status) => [status.id, status]));
    const removed = actions.containersToReset.flatMap(({ id }) => {
      const status = byId.get(id);
      return status === undefined ? [] : [toRemove(status, true)];
    });
    if (killed.length > 0) steps.push({ kind: 'kill', kill: beginContainerKills(run.pod, killed, 0, context) });
    steps.push({ kind: 'remove', containers: removed, phase: 'ask' });
  }
  return steps;
}

function startSteps(pod: Pod, actions: PodActions): SyncStep[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const start = (list: typeof containers, indexes: readonly number[], group: 'init' | 'regular' | 'ephemeral'): SyncStep[] =>
    indexes.flatMap((index) => {
      const container = list[index];
      return container === undefined ? [] : [{ kind: 'start' as const, start: newContainerStart(container, group) }];
    });
  return [
    ...start(ephemeralContainers, actions.ephemeralContainersToStart, 'ephemeral'),
    ...start(initContainers, actions.initContainersToStart, 'init'),
    ...start(containers, actions.containersToStart, 'regular'),
  ];
}

/** The index of the first regular container: running containers are resized before it starts. */
function regularAt(starts: readonly SyncStep[]): number {
  const at = starts.findIndex((step) => step.kind === 'start' && step.start.group === 'regular');
  return at === -1 ? starts.length : at;
}

function resizeOf({ pod, uid }: SyncRun, actions: PodActions, { allocation, nodeFacts, pinning, settings, turn }: SyncContext): ResizeActuation {
  const options = podCgroupOptions(nodeFacts, pinning.liftsPodQuota(uid));
  return planResize(actions, podCgroupConfig(allocation.actuatedPod(pod), options), podCgroupConfig(pod, options), settings.podCgroup(pod) !== null, turn.now);
}

function initInstances(pod: Pod, status: PodRuntimeStatus): RuntimeContainerStatus[] {
  const names = new Set((pod.spec.initContainers ?? []).map(({ name }) => name));
  return status.containers.filter(({ name }) => names.has(name));
}

/** Keeps only the newest ended instance of each init container. */
function oldInitContainers(pod: Pod, status: PodRuntimeStatus, actions: PodActions): ContainerToRemove[] {
  if (actions.createSandbox) return [];
  const seen = new Set<string>();
  return initInstances(pod, status).flatMap((instance) => {
    if (instance.state !== 'exited' && instance.state !== 'unknown') return [];
    if (seen.has(instance.name)) return [toRemove(instance, false)];
    seen.add(instance.name);
    return [];
  });
}

function toRemove(status: RuntimeContainerStatus, keepLogs: boolean): ContainerToRemove {
  return { containerId: status.id, containerName: status.name, restartCount: status.restartCount, keepLogs };
}
