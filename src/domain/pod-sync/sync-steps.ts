// The steps of a pod operation's run: the commands of each, and the handling of its answers.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { assert } from '../kernel/assert.js';
import type { Reply, ReplyFor } from '../kernel/machine.js';
import { hostCallLimit } from '../values/host-call-limit.js';
import { containerLogPath, legacyLogSymlink } from '../values/log-paths.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { errorOfResults, failed, succeeded } from './action-result.js';
import { awaitClaims } from './claim-steps.js';
import { askForImageAhead, containerStartReplies, decideContainerStart, isStartWaiting, leaveStartImage } from './container-start.js';
import type { ContainerStart } from './container-start-state.js';
import { decideImageVolumes } from './image-volumes.js';
import { planSync } from './plan-sync.js';
import { applyPodKillReply, beginPodKill, decidePodKill, type KillReply } from './pod-kill.js';
import type { PodKill } from './pod-kill-state.js';
import { podLogDirectoryName } from './pod-log-directory.js';
import { applyResizeReply, decideResizeStep, type ResizeReply } from './resize-step.js';
import { sandboxFailed } from './sandbox-failure.js';
import type { StepKind, StepOf, StepReplies } from './step-kind.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { ContainerToRemove, StepOutcome, SyncRun, SyncStep } from './sync-run.js';
import { decideUserNamespace, sandboxInputs, userNamespacesRead, userNamespaceWritten } from './user-namespace-step.js';
import { awaitUnmount, awaitVolumes } from './volume-steps.js';

const stepKinds: { readonly [Kind in SyncStep['kind']]: StepKind<Kind> } = {
  allocation: { decide: (_step, { uid }, { allocation }) => (allocation.isGrantSaved(uid) ? 'done' : 'waiting') },
  cgroup: {
    decide: decideCgroup,
    replies: { 'podCgroups.exists': cgroupFound, 'podCgroups.ensure': cgroupEnsured, 'containers.stop': stoppedOutsideCgroup, 'sandboxes.stop': stoppedOutsideCgroup },
  },
  directories: {
    decide: (step, run, { turn }) => (step.phase === 'done' ? 'done' : asked(run, () => turn.ask('podDirectories.prepare', podAddress(run.uid), 'directories', { uid: run.uid }))),
    replies: { 'podDirectories.prepare': directoriesPrepared },
  },
  volumes: { decide: ({ wait }, run, context) => awaitVolumes(wait, run, context) },
  plan: {
    decide: (step, run, context) => {
      run.steps = [step, ...planSync(run, context)];
      return 'done';
    },
  },
  kill: {
    decide: ({ kill }, run, context) => decideKill(kill, run, context),
    replies: {
      'containers.stop': ({ kill }, { uid }, answer, context) => applyPodKillReply(kill, uid, answer, context),
      'sandboxes.stop': ({ kill }, { uid }, answer, context) => applyPodKillReply(kill, uid, answer, context),
    },
  },
  remove: { decide: decideRemove, replies: { 'podLogs.removeContainerLogs': logsRemoved, 'containers.remove': containerRemoved } },
  claims: { decide: awaitClaims },
  userNamespace: {
    decide: ({ fresh }, run, context) => decideUserNamespace(fresh, run, context),
    replies: {
      'podDirectories.readUserNamespaces': (_step, run, answer, context) => userNamespacesRead(run, answer, context),
      'podDirectories.writeUserNamespace': (_step, run, answer, context) => userNamespaceWritten(run, answer, context),
    },
  },
  sandbox: { decide: decideSandbox, replies: { 'sandboxes.run': sandboxRun, 'runtime.inspectPod': sandboxInspected } },
  imageVolumes: { decide: ({ pulls }, run, context) => decideImageVolumes(pulls, run, context) },
  start: { decide: decideStart, replies: startReplies() },
  resize: {
    decide: ({ resize }, run, context) => decideResizeStep(resize, run, context),
    replies: { 'nodeStats.summary': resized, 'sandboxes.updateResources': resized, 'podCgroups.set': resized, 'containers.updateResources': resized },
  },
  verify: {
    decide: (step, run, { turn, settings }) =>
      step.phase === 'done' ? 'done' : asked(run, () => turn.ask('runtime.inspectPod', podAddress(run.uid), 'verify', { uid: run.uid }, settings.runtimeRequestTimeout)),
    replies: { 'runtime.inspectPod': verified },
  },
  unmount: { decide: ({ wait }, run, context) => awaitUnmount(wait, run, context) },
  destroyCgroup: {
    decide: (step, run, { turn, settings }) => {
      const name = settings.podCgroup(run.pod);
      if (step.phase === 'done' || name === null) return 'done';
      return asked(run, () => turn.ask('podCgroups.destroy', podAddress(run.uid), 'cgroup', { name }, hostCallLimit));
    },
    replies: {
      'podCgroups.destroy': (step, run, { outcome }) => {
        step.phase = 'done';
        if (!outcome.ok) run.failure = `failed to destroy the pod cgroup: ${outcome.error.message}`;
      },
    },
  },
};

type AnyStepReply = (step: SyncStep, run: SyncRun, reply: Reply<AgentOperations>, context: SyncContext) => void;

/** Sends the step's next commands. `waiting`: answers are due; `ended`: the run ends with this step. */
export function decideStep(step: SyncStep, run: SyncRun, context: SyncContext): StepOutcome {
  return (stepKinds[step.kind].decide as (one: SyncStep, run: SyncRun, context: SyncContext) => StepOutcome)(step, run, context);
}

/** Takes an answer to one of the step's commands. */
export function applyStepReply(step: SyncStep, run: SyncRun, reply: Reply<AgentOperations>, context: SyncContext): void {
  const take = stepKinds[step.kind].replies?.[reply.op] as AnyStepReply | undefined;
  assert(take !== undefined, 'a pod got an answer that its step has no handler for', reply.op);
  take(step, run, reply, context);
}

function startReplies(): StepReplies<StepOf<'start'>> {
  const replies = Object.entries(containerStartReplies).map(([op, take]) => [
    op,
    ({ start }: StepOf<'start'>, run: SyncRun, reply: never, context: SyncContext) => (take as AnyStartReply)(start, run, reply, context),
  ]);
  return Object.fromEntries(replies);
}

type AnyStartReply = (start: ContainerStart, run: SyncRun, reply: never, context: SyncContext) => void;

function resized({ resize }: StepOf<'resize'>, run: SyncRun, answer: ResizeReply, context: SyncContext): void {
  applyResizeReply(resize, run, answer, context);
}

function directoriesPrepared(step: StepOf<'directories'>, run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'podDirectories.prepare'>, context: SyncContext): void {
  assert(step.phase === 'ask', 'the directories of a pod were prepared twice', run.uid);
  step.phase = 'done';
  if (outcome.ok) return;
  context.event(run.pod, null, 'Warning', 'Failed', `error making pod data directories: ${outcome.error.message}`);
  run.failure = outcome.error.message;
}

function asked(run: SyncRun, ask: () => void): StepOutcome {
  run.outstanding++;
  ask();
  return 'waiting';
}

type CgroupStep = StepOf<'cgroup'>;

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

function cgroupFound(step: CgroupStep, run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'podCgroups.exists'>, context: SyncContext): void {
  assert(step.phase === 'check', 'the cgroup of a pod was looked for twice', run.uid);
  const missing = outcome.ok && !outcome.value;
  step.phase = missing ? 'kill' : 'ensure';
  if (missing) step.kill = beginPodKill(run.pod, run.status, null, context);
}

/** A container that runs outside of the cgroup. */
function stoppedOutsideCgroup({ phase, kill }: CgroupStep, { uid }: SyncRun, answer: KillReply, context: SyncContext): void {
  assert(phase === 'kill' && kill !== null, 'a container was stopped that runs in the cgroup of its pod', uid);
  applyPodKillReply(kill, uid, answer, context);
}

function cgroupEnsured(step: CgroupStep, run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'podCgroups.ensure'>, context: SyncContext): void {
  assert(step.phase === 'ensure', 'the cgroup of a pod was made before it was looked for', run.uid);
  if (outcome.ok) {
    const { problem, created } = outcome.value;
    if (problem !== '') context.turn.log('error', 'cgroup manager.Set failed', { podUID: run.uid, err: problem });
    context.podCgroupSet(run);
    if (created) context.allocation.podActuated(run.uid, run.pod.spec.resources ?? null);
    run.steps.shift();
    return;
  }
  const { message } = outcome.error;
  context.event(run.pod, null, 'Warning', 'FailedCreatePodContainer', `unable to ensure pod container exists: ${message}`);
  run.failure = `failed to ensure that the pod: ${run.uid} cgroups exist and are correctly applied: ${message}`;
}

function decideKill(kill: PodKill, run: SyncRun, context: SyncContext): StepOutcome {
  run.outstanding += decidePodKill(kill, run.uid, context);
  if (kill.phase !== 'done') return 'waiting';
  run.results.push(...kill.results);
  return errorOfResults(kill.results) === null ? 'done' : 'ended';
}

type RemoveStep = StepOf<'remove'>;

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

function logsRemoved(step: RemoveStep, { uid }: SyncRun): void {
  assert(step.phase === 'logs', 'logs were removed that are not to be removed', uid);
  step.phase = 'containers';
}

function containerRemoved(step: RemoveStep, run: SyncRun, { slot, outcome }: ReplyFor<AgentOperations, 'containers.remove'>): void {
  assert(step.phase === 'containers', 'a container was removed before its logs', run.uid);
  const removed = step.containers.find(({ containerId }) => slot === `remove/${containerId}`);
  assert(removed !== undefined, 'a container was removed that is not to be removed', slot);
  const target = removed.containerName;
  run.results.push(outcome.ok ? succeeded('RemoveContainer', target) : failed('RemoveContainer', target, 'RemoveContainerError', outcome.error.message));
  if (run.outstanding === 0) step.phase = 'done';
}

type SandboxStep = StepOf<'sandbox'>;

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

function sandboxRun(step: SandboxStep, run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'sandboxes.run'>, context: SyncContext): void {
  assert(step.phase === 'run', 'a sandbox was created twice', run.uid);
  if (!outcome.ok) {
    step.phase = 'failed';
    sandboxFailed(run, outcome.error.message, context);
    return;
  }
  run.results.push(succeeded('CreatePodSandbox', podReferenceTextOf(run.pod)));
  step.sandboxId = outcome.value.sandboxId;
  run.sandboxId = step.sandboxId;
  run.sandboxAttempt = step.attempt;
  step.phase = 'inspect';
}

function sandboxInspected(step: SandboxStep, run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'runtime.inspectPod'>, context: SyncContext): void {
  assert(step.phase === 'inspect', 'a pod was inspected before its sandbox was created', run.uid);
  const found = outcome.ok ? outcome.value : null;
  if (found === null) {
    const message = outcome.ok ? 'the runtime has no such pod' : outcome.error.message;
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

function decideStart(step: StepOf<'start'>, run: SyncRun, context: SyncContext): StepOutcome {
  const { start } = step;
  const sent = decideContainerStart(start, run, context);
  run.outstanding += sent;
  if (sent > 0 || isStartWaiting(start)) return 'waiting';
  // A failed init container blocks all containers after it; a sidecar or a regular container only itself.
  const holdsUp = start.phase === 'failed' && start.group === 'init' && start.container.restartPolicy !== 'Always';
  return holdsUp ? 'ended' : 'done';
}

function verified(step: StepOf<'verify'>, run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'runtime.inspectPod'>): void {
  assert(step.phase === 'ask', 'the end of a pod was verified twice', run.uid);
  step.phase = 'done';
  if (!outcome.ok) {
    run.failure = `unable to read pod status prior to final pod termination: ${outcome.error.message}`;
    return;
  }
  const found = outcome.value ?? { ...run.status, sandboxes: [], containers: [] };
  const running = found.containers.filter(({ state }) => state === 'running').map(({ name, id }) => `${name} (${id})`);
  // The runtime drops the addresses of a stopped sandbox; the API keeps the last ones.
  run.status = { ...found, ips: found.ips.length > 0 ? found.ips : run.status.ips };
  if (running.length > 0) run.failure = `detected running containers after a successful KillPod, CRI violation: [${running.join(' ')}]`;
}
