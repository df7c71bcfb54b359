// The steps of a pod operation's run: the commands of each, and the handling of its answers.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { unreachable } from '../kernel/assert.js';
import type { Reply } from '../kernel/machine.js';
import { hostCallLimit } from '../values/host-call-limit.js';
import { containerLogPath, legacyLogSymlink } from '../values/log-paths.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { errorOfResults, failed, succeeded } from './action-result.js';
import { awaitClaims } from './claim-steps.js';
import { applyContainerStartReply, askForImageAhead, decideContainerStart, isStartWaiting, leaveStartImage } from './container-start.js';
import { decideImageVolumes } from './image-volumes.js';
import { planSync } from './plan-sync.js';
import { applyPodKillReply, beginPodKill, decidePodKill } from './pod-kill.js';
import type { PodKill } from './pod-kill-state.js';
import { podLogDirectoryName } from './pod-log-directory.js';
import { applyResizeReply, decideResizeStep } from './resize-step.js';
import { sandboxFailed } from './sandbox-failure.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { ContainerToRemove, StepOutcome, SyncRun, SyncStep } from './sync-run.js';
import { applyUserNamespace, decideUserNamespace, sandboxInputs } from './user-namespace-step.js';
import { awaitUnmount, awaitVolumes } from './volume-steps.js';

/** Sends the step's next commands. `waiting`: answers are due; `ended`: the run ends with this step. */
export function decideStep(step: SyncStep, run: SyncRun, context: SyncContext): StepOutcome {
  switch (step.kind) {
    case 'allocation':
      return context.allocation.isGrantSaved(run.uid) ? 'done' : 'waiting';
    case 'resize':
      return decideResizeStep(step.resize, run, context);
    case 'cgroup':
      return decideCgroup(step, run, context);
    case 'directories':
      if (step.phase === 'done') return 'done';
      return asked(run, () => context.turn.ask('podDirectories.prepare', podAddress(run.uid), 'directories', { uid: run.uid }));
    case 'volumes':
      return awaitVolumes(step.wait, run, context);
    case 'plan':
      run.steps = [step, ...planSync(run, context)];
      return 'done';
    case 'kill':
      return decideKill(step.kill, run, context);
    case 'remove':
      return decideRemove(step, run, context);
    case 'claims':
      return awaitClaims(step, run, context);
    case 'userNamespace':
      return decideUserNamespace(step.fresh, run, context);
    case 'sandbox':
      return decideSandbox(step, run, context);
    case 'imageVolumes':
      return decideImageVolumes(step.pulls, run, context);
    case 'start':
      return decideStart(step, run, context);
    case 'verify':
      if (step.phase === 'done') return 'done';
      return asked(run, () => context.turn.ask('runtime.inspectPod', podAddress(run.uid), 'verify', { uid: run.uid }, context.settings.runtimeRequestTimeout));
    case 'unmount':
      return awaitUnmount(step.wait, run, context);
    case 'destroyCgroup': {
      const name = context.settings.podCgroup(run.pod);
      if (step.phase === 'done' || name === null) return 'done';
      return asked(run, () => context.turn.ask('podCgroups.destroy', podAddress(run.uid), 'cgroup', { name }, hostCallLimit));
    }
    default:
      return unreachable(step);
  }
}

/** Takes an answer to one of the step's commands. */
export function applyStepReply(step: SyncStep, run: SyncRun, reply: Reply<AgentOperations>, context: SyncContext): void {
  switch (step.kind) {
    case 'cgroup':
      applyCgroup(step, run, reply, context);
      return;
    case 'directories':
      step.phase = 'done';
      if (reply.outcome.ok) return;
      context.event(run.pod, null, 'Warning', 'Failed', `error making pod data directories: ${reply.outcome.error.message}`);
      run.failure = reply.outcome.error.message;
      return;
    case 'kill':
      applyPodKillReply(step.kill, run.uid, reply, context);
      return;
    case 'remove':
      applyRemove(step, run, reply);
      return;
    case 'userNamespace':
      applyUserNamespace(run, reply, context);
      return;
    case 'sandbox':
      applySandbox(step, run, reply, context);
      return;
    case 'start':
      applyContainerStartReply(step.start, run, reply, context);
      return;
    case 'verify':
      applyVerify(step, run, reply);
      return;
    case 'destroyCgroup':
      step.phase = 'done';
      if (!reply.outcome.ok) run.failure = `failed to destroy the pod cgroup: ${reply.outcome.error.message}`;
      return;
    case 'resize':
      applyResizeReply(step.resize, run, reply, context);
      return;
    case 'allocation':
    case 'plan':
    case 'imageVolumes':
    case 'volumes':
    case 'claims':
    case 'unmount':
      return;
    default:
      unreachable(step);
  }
}

function asked(run: SyncRun, ask: () => void): StepOutcome {
  run.outstanding++;
  ask();
  return 'waiting';
}

type CgroupStep = Extract<SyncStep, { kind: 'cgroup' }>;

function decideCgroup(step: CgroupStep, run: SyncRun, context: SyncContext): StepOutcome {
  const name = context.settings.podCgroup(run.pod);
  if (name === null) {
    context.allocation.podActuated(run.uid, run.pod.spec.resources ?? null);
    return 'done';
  }
  if (step.phase === 'check' && !run.status.containers.some(({ state }) => state === 'running')) step.phase = 'ensure';
  if (step.phase === 'check') return asked(run, () => context.turn.ask('podCgroups.exists', podAddress(run.uid), 'cgroup', { name }));
  if (step.phase === 'kill' && step.kill !== null) {
    const outcome = decideKill(step.kill, run, context);
    if (outcome !== 'done') return outcome;
    // What runs now was killed because it ran outside of the limits; what this sync planned for it is void.
    run.status = { ...run.status, containers: run.status.containers.map((status) => (status.state === 'running' ? { ...status, state: 'exited' as const } : status)) };
    step.phase = 'ensure';
  }
  if (run.failure !== null) return 'ended';
  const request = { name, values: context.settings.podCgroupValues(run.pod), rewrite: !context.settings.isPodCgroupSet(run.uid) };
  return asked(run, () => context.turn.ask('podCgroups.ensure', podAddress(run.uid), 'cgroup', request));
}

function applyCgroup(step: CgroupStep, run: SyncRun, reply: Reply<AgentOperations>, context: SyncContext): void {
  if (step.phase === 'kill' && step.kill !== null) {
    applyPodKillReply(step.kill, run.uid, reply, context);
    return;
  }
  if (reply.op === 'podCgroups.exists') {
    const missing = reply.outcome.ok && !reply.outcome.value;
    step.phase = missing ? 'kill' : 'ensure';
    if (missing) step.kill = beginPodKill(run.pod, run.status, null, context);
    return;
  }
  if (reply.outcome.ok) {
    const problem = reply.op === 'podCgroups.ensure' ? reply.outcome.value.problem : '';
    if (problem !== '') context.turn.log('error', 'cgroup manager.Set failed', { podUID: run.uid, err: problem });
    context.podCgroupSet(run);
    if (reply.op === 'podCgroups.ensure' && reply.outcome.value.created) context.allocation.podActuated(run.uid, run.pod.spec.resources ?? null);
    run.steps.shift();
    return;
  }
  const message = reply.outcome.error.message;
  context.event(run.pod, null, 'Warning', 'FailedCreatePodContainer', `unable to ensure pod container exists: ${message}`);
  run.failure = `failed to ensure that the pod: ${run.uid} cgroups exist and are correctly applied: ${message}`;
}

function decideKill(kill: PodKill, run: SyncRun, context: SyncContext): StepOutcome {
  run.outstanding += decidePodKill(kill, run.uid, context);
  if (kill.phase !== 'done') return 'waiting';
  run.results.push(...kill.results);
  return errorOfResults(kill.results) === null ? 'done' : 'ended';
}

type RemoveStep = Extract<SyncStep, { kind: 'remove' }>;

function decideRemove(step: RemoveStep, run: SyncRun, context: SyncContext): StepOutcome {
  const { turn, settings } = context;
  if (step.containers.length === 0) return 'done';
  if (step.phase === 'ask') {
    const withLogs = step.containers.filter(({ keepLogs }) => !keepLogs);
    step.phase = withLogs.length === 0 ? 'containers' : 'logs';
    if (withLogs.length > 0) return asked(run, () => turn.ask('podLogs.removeContainerLogs', podAddress(run.uid), 'logs', logsOf(run, withLogs, context)));
  }
  if (step.phase === 'containers') {
    if (run.outstanding === 0) {
      for (const { containerId } of step.containers) {
        run.outstanding++;
        turn.ask('containers.remove', podAddress(run.uid), `remove/${containerId}`, { containerId }, settings.runtimeRequestTimeout);
      }
    }
    return 'waiting';
  }
  if (step.phase !== 'done') return 'waiting';
  return errorOfResults(run.results) === null ? 'done' : 'ended';
}

function logsOf(run: SyncRun, containers: readonly ContainerToRemove[], context: SyncContext): { logPaths: string[]; links: string[] } {
  const { podLogsDirectory, containerLogLinks } = context.settings;
  const directory = `${podLogsDirectory}/${podLogDirectoryName(run.pod)}`;
  const logPaths = containers.map(({ containerName, restartCount }) => `${directory}/${containerLogPath(containerName, restartCount)}`);
  if (containerLogLinks === null) return { logPaths, links: [] };
  const { name, namespace = '' } = run.pod.metadata;
  const links = containers.map(({ containerId, containerName }) => {
    const link = legacyLogSymlink(containerId, containerName, name, namespace);
    return `${containerLogLinks}${link.slice(link.lastIndexOf('/'))}`;
  });
  return { logPaths, links };
}

function applyRemove(step: RemoveStep, run: SyncRun, reply: Reply<AgentOperations>): void {
  if (step.phase === 'logs') {
    step.phase = 'containers';
    return;
  }
  const removed = step.containers.find(({ containerId }) => reply.slot === `remove/${containerId}`);
  const target = removed?.containerName ?? '';
  run.results.push(reply.outcome.ok ? succeeded('RemoveContainer', target) : failed('RemoveContainer', target, 'RemoveContainerError', reply.outcome.error.message));
  if (run.outstanding === 0) step.phase = 'done';
}

type SandboxStep = Extract<SyncStep, { kind: 'sandbox' }>;

function decideSandbox(step: SandboxStep, run: SyncRun, context: SyncContext): StepOutcome {
  const { turn, settings, configs } = context;
  if (step.phase === 'done') return 'done';
  if (step.phase === 'failed') return 'ended';
  if (step.phase === 'inspect') {
    const [, next] = run.steps;
    if (next?.kind === 'start') askForImageAhead(next.start, run, context);
    return asked(run, () => turn.ask('runtime.inspectPod', podAddress(run.uid), 'inspect', { uid: run.uid }, settings.runtimeRequestTimeout));
  }
  const config = configs.sandbox(run.pod, step.attempt, sandboxInputs(run, context));
  if (!config.ok) {
    sandboxFailed(run, config.message, context);
    return 'ended';
  }
  for (const { subject, reason, message } of config.value.events) {
    if (subject === 'pod') context.event(run.pod, null, 'Warning', reason, message);
    else context.nodeWarning(reason, message);
  }
  const request = { config: config.value.config, runtimeHandler: config.value.runtimeHandler };
  return asked(run, () => turn.ask('sandboxes.run', podAddress(run.uid), 'sandbox', request, 2 * settings.runtimeRequestTimeout));
}

function applySandbox(step: SandboxStep, run: SyncRun, reply: Reply<AgentOperations>, context: SyncContext): void {
  if (reply.op === 'sandboxes.run') {
    if (!reply.outcome.ok) {
      step.phase = 'failed';
      sandboxFailed(run, reply.outcome.error.message, context);
      return;
    }
    run.results.push(succeeded('CreatePodSandbox', podReferenceTextOf(run.pod)));
    step.sandboxId = reply.outcome.value.sandboxId;
    run.sandboxId = step.sandboxId;
    run.sandboxAttempt = step.attempt;
    step.phase = 'inspect';
    return;
  }
  if (reply.op !== 'runtime.inspectPod') return;
  const found = reply.outcome.ok ? reply.outcome.value : null;
  if (found === null) {
    const message = reply.outcome.ok ? 'the runtime has no such pod' : reply.outcome.error.message;
    context.event(run.pod, null, 'Warning', 'FailedPodSandBoxStatus', `Unable to get pod sandbox status: ${message}`);
    run.failure = `failed to SyncPod: ${message}`;
    leaveImageAhead(run, context);
    return;
  }
  // Container statuses stay as the plan was made from them; only the addresses and the sandbox are news.
  run.status = { ...run.status, ips: found.ips, sandboxes: found.sandboxes };
  step.phase = 'done';
  context.sandboxReady(run);
}

/** Abandons the image requested ahead when the run doesn't reach its step. */
export function leaveImageAhead(run: SyncRun, context: SyncContext): void {
  const [first, next] = run.steps;
  if (first?.kind === 'sandbox' && next?.kind === 'start') leaveStartImage(next.start, context);
}

type StartStep = Extract<SyncStep, { kind: 'start' }>;

function decideStart(step: StartStep, run: SyncRun, context: SyncContext): StepOutcome {
  const { start } = step;
  const sent = decideContainerStart(start, run, context);
  run.outstanding += sent;
  if (sent > 0 || isStartWaiting(start)) return 'waiting';
  // A failed init container blocks all containers after it; a sidecar or a regular container only itself.
  const holdsUp = start.phase === 'failed' && start.group === 'init' && start.container.restartPolicy !== 'Always';
  return holdsUp ? 'ended' : 'done';
}

function applyVerify(step: Extract<SyncStep, { kind: 'verify' }>, run: SyncRun, reply: Reply<AgentOperations>): void {
  step.phase = 'done';
  if (reply.op !== 'runtime.inspectPod') return;
  if (!reply.outcome.ok) {
    run.failure = `unable to read pod status prior to final pod termination: ${reply.outcome.error.message}`;
    return;
  }
  const found = reply.outcome.value ?? { ...run.status, sandboxes: [], containers: [] };
  const running = found.containers.filter(({ state }) => state === 'running').map(({ name, id }) => `${name} (${id})`);
  // The runtime drops the addresses of a stopped sandbox; the API keeps the last ones.
  run.status = { ...found, ips: found.ips.length > 0 ? found.ips : run.status.ips };
  if (running.length > 0) run.failure = `detected running containers after a successful KillPod, CRI violation: [${running.join(' ')}]`;
}
