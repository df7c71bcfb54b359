// Starts one container: back-off, image, restart count, files, create, start. Every failure becomes the container's waiting
// reason and an event, in the Go kubelet's words.
//
// | phase        | calls                        | then          |
// |--------------|------------------------------|---------------|
// | begin        | (crash-loop back-off)        | secrets       |
// | secrets      | (pull secrets of the API)    | image         |
// | image        | (the image manager)          | user, or count|
// | user         | images.status                | count         |
// | count        | podLogs.nextRestartCount     | hosts         |
// | hosts        | podDirectories.writeHosts    | files         |
// | files        | podDirectories.prepareContainer | objects       |
// | objects      | (data of the API)            | subPaths      |
// | subPaths     | podVolumes.readFiles, subPaths.* | pinning   |
// | pinning      | (its allocation is on disk)  | create        |
// | create       | containers.create            | start         |
// | start        | containers.start             | postStart     |
// | postStart    | (the hook, if there is one)  | done, or kill |
// | kill         | (the container's kill)       | failed        |

import type { Micros } from '../../ports/micros.js';
import type { ResourceRequirements } from '../../ports/model/container.js';
import { decideCrashLoop } from '../backoff/crash-loop-backoff.js';
import type { PullProblem } from '../backoff/image-pull-backoff.js';
import type { ContainerRequest } from '../containers/container-config.js';
import { skippedEnvFromKeys } from '../containers/env-from-names.js';
import { defaultPullPolicy } from '../images/pull-policy.js';
import { assert, unreachable } from '../kernel/assert.js';
import { findContainerStatus } from '../status/runtime-lookup.js';
import { goQuote } from '../values/go-text.js';
import { containerLogPath, legacyLogSymlink } from '../values/log-paths.js';
import { failed, succeeded } from './action-result.js';
import type { ContainerStart } from './container-start-state.js';
import { askEnvFiles, envFileSources, takeEnvFiles } from './env-file-reading.js';
import { areEnvObjectsRead, envObjectsOf } from './env-objects.js';
import { imageVolumeFailure, imageVolumesOf, lastEnd } from './image-volumes.js';
import { beginHook, type HookReply, hookAnswered } from './lifecycle-hook.js';
import { applyPodKillReply, beginContainerKills, decidePodKill } from './pod-kill.js';
import { podLogDirectoryName } from './pod-log-directory.js';
import { arePullSecretsRead } from './pull-secrets.js';
import type { StepReplies } from './step-kind.js';
import { applySubPathReply, decideSubPaths } from './sub-path-preparation.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { SyncRun } from './sync-run.js';
import { sandboxInputs } from './user-namespace-step.js';

/** One object for all: what was actuated is compared by identity. */
const noResources: ResourceRequirements = Object.freeze({});

/** Sends the next commands; returns their number (0: the start has ended). */
export function decideContainerStart(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  comeToImage(start, run, context);
  const { turn, settings } = context;
  const address = podAddress(run.uid);
  const timeout = settings.runtimeRequestTimeout;
  switch (start.phase) {
    case 'image':
      return waitForImage(start, run, context);
    case 'user':
      turn.ask('images.status', address, 'image', { image: { image: start.container.image ?? '' } }, timeout);
      return 1;
    case 'count':
      turn.ask('podLogs.nextRestartCount', address, 'count', { podLogDirectory: podLogDirectoryName(run.pod), containerName: start.container.name });
      return 1;
    case 'hosts':
      return writeHosts(start, run, context);
    case 'files':
      return prepareFiles(start, run, context);
    case 'objects':
      if (!areEnvObjectsRead(start, run, context)) return 0;
      start.phase = 'subPaths';
      return decideContainerStart(start, run, context);
    case 'subPaths':
      if (start.envFiles === null && askEnvFiles(start, run, context)) return 1;
      return prepareSubPaths(start, run, context);
    case 'pinning':
    case 'create':
      return create(start, run, context);
    case 'start':
      turn.ask('containers.start', address, 'start', { containerId: start.containerId }, timeout);
      return 1;
    case 'postStart':
      return postStart(start, run, context);
    case 'kill':
      return killAgain(start, run, context);
    case 'begin':
    case 'secrets':
    case 'done':
    case 'failed':
      return 0;
    default:
      return unreachable(start.phase);
  }
}

/**
 * Requests the image early, while the sandbox is checked: neither waits for the other. Only for a container without an earlier instance: for others
 * its own turn decides whether it may start at all.
 */
export function askForImageAhead(start: ContainerStart, run: SyncRun, context: SyncContext): void {
  if (start.phase !== 'begin' || run.status.containers.some(({ name }) => name === start.container.name)) return;
  comeToImage(start, run, context);
}

function comeToImage(start: ContainerStart, run: SyncRun, context: SyncContext): void {
  if (start.phase === 'begin') begin(start, run, context);
  if (start.phase === 'secrets' && arePullSecretsRead(run, context)) askForImage(start, run, context);
}

/** Stops waiting for its image. */
export function leaveStartImage(start: ContainerStart, context: SyncContext): void {
  if (start.imageRun !== null) context.leaveImage(start.imageRun);
  start.imageRun = null;
}

/** Whether it waits for something else than a command of the run's own: an image, a hook, a kill that has its times, or the API's data. */
export function isStartWaiting({ phase }: ContainerStart): boolean {
  return phase === 'secrets' || phase === 'image' || phase === 'postStart' || phase === 'kill' || phase === 'objects' || phase === 'pinning';
}

export const containerStartReplies: StepReplies<ContainerStart> = {
  'images.status': (start, run, { outcome }, context) => {
    assert(start.phase === 'user', 'an image was looked up before it was present', run.uid);
    start.imageStatus = outcome.ok ? outcome.value : null;
    // Without the image's user, the container would run as root.
    if (start.imageStatus !== null) start.phase = afterImage(start, run);
    else fail(start, run, 'CreateContainerConfigError', outcome.ok ? `image ${goQuote(start.container.image ?? '')} not found` : outcome.error.message, context);
  },
  'podLogs.nextRestartCount': (start, run, { outcome }) => {
    assert(start.phase === 'count', 'the restarts of a container were counted twice', run.uid);
    start.restartCount = outcome.ok ? outcome.value : 0;
    start.phase = 'hosts';
  },
  'podDirectories.writeHosts': (start, run, { outcome }, context) => {
    assert(start.phase === 'hosts', 'the hosts file of a container was written twice', run.uid);
    if (outcome.ok) start.phase = 'files';
    else fail(start, run, 'CreateContainerConfigError', outcome.error.message, context);
  },
  'podDirectories.prepareContainer': (start, run, { outcome }, context) => {
    assert(start.phase === 'files', 'the files of a container were prepared twice', run.uid);
    if (outcome.ok) {
      start.terminationFile = outcome.value.terminationFile;
      start.phase = 'objects';
    } else fail(start, run, 'CreateContainerConfigError', outcome.error.message, context);
  },
  'podVolumes.readFiles': (start, run, answer, context) => failConfig(start, run, takeEnvFiles(start, run, answer, context), context),
  'subPaths.look': (start, run, answer, context) => failConfig(start, run, applySubPathReply(start, answer, context), context),
  'subPaths.compare': (start, run, answer, context) => failConfig(start, run, applySubPathReply(start, answer, context), context),
  'subPaths.carryOut': (start, run, answer, context) => failConfig(start, run, applySubPathReply(start, answer, context), context),
  'containers.create': (start, run, { outcome }, context) => {
    assert(start.phase === 'create' && start.containerId === '', 'a container was created twice', run.uid);
    if (outcome.ok) created(start, run, outcome.value.containerId, context);
    else fail(start, run, 'CreateContainerError', outcome.error.message, context);
  },
  'containers.start': (start, run, { outcome }, context) => {
    assert(start.phase === 'start', 'a container was started before it was created', run.uid);
    if (outcome.ok) started(start, run, context);
    else fail(start, run, 'RunContainerError', outcome.error.message, context);
  },
  'containers.stop': ({ phase, kill }, { uid }, answer, context) => {
    assert(phase === 'kill' && kill !== null, 'a container was stopped whose postStart hook has not failed', uid);
    applyPodKillReply(kill, uid, answer, context);
  },
};

/** @param failure null: none */
function failConfig(start: ContainerStart, run: SyncRun, failure: string | null, context: SyncContext): void {
  if (failure !== null) fail(start, run, 'CreateContainerConfigError', failure, context);
}

function begin(start: ContainerStart, run: SyncRun, context: SyncContext): void {
  const { container } = start;
  const { pod } = run;
  const decision = decideCrashLoop(context.crashLoop, pod, container, lastEnd(run, container, context), context.turn.now);
  if (decision.kind === 'wait') {
    context.event(pod, container.name, decision.event.type, decision.event.reason, decision.event.message);
    end(start, run, 'CrashLoopBackOff', decision.message, context, decision.retryAt);
    return;
  }
  const volumeFailure = imageVolumeFailure(run, container);
  if (volumeFailure !== null) {
    imageProblem(start, run, volumeFailure, volumeFailure.retryAt, context);
    return;
  }
  if (start.group !== 'ephemeral') context.allocation.containerActuated(run.uid, container.name, container.resources ?? noResources);
  start.phase = 'secrets';
}

function askForImage(start: ContainerStart, run: SyncRun, context: SyncContext): void {
  const { container } = start;
  const image = container.image ?? '';
  const sandbox = context.configs.sandbox(run.pod, run.sandboxAttempt, sandboxInputs(run, context));
  const pullPolicy = container.imagePullPolicy ?? defaultPullPolicy(image);
  start.imageRun = context.ensureImage({ pod: run.pod, containerName: container.name, image, pullPolicy, sandboxConfig: sandbox.ok ? sandbox.value.config : null });
  start.phase = 'image';
}

/** Continues when the image is present. */
function waitForImage(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  if (start.imageRun === null) return 0;
  const ensured = context.takeImage(start.imageRun);
  if (ensured === null) return 0;
  start.imageRun = null;
  const { outcome, image, retryAt } = ensured;
  if (outcome.kind === 'problem') {
    imageProblem(start, run, outcome, retryAt, context);
    return 0;
  }
  start.imageRef = outcome.imageRef;
  start.imageStatus = image;
  start.phase = image === null ? 'user' : afterImage(start, run);
  return decideContainerStart(start, run, context);
}

/** A container with an earlier instance continues its count; otherwise only its logs can show how often it ran. */
function afterImage(start: ContainerStart, run: SyncRun): 'count' | 'hosts' {
  const last = findContainerStatus(run.status, start.container.name);
  if (last === null) return 'count';
  start.restartCount = last.restartCount + 1;
  return 'hosts';
}

function writeHosts(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  const text = context.configs.hosts(run.pod, run.status.ips);
  if (text === null) {
    start.phase = 'files';
    return prepareFiles(start, run, context);
  }
  context.turn.ask('podDirectories.writeHosts', podAddress(run.uid), 'hosts', { uid: run.uid, text });
  return 1;
}

function prepareFiles(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  const { name, terminationMessagePath = '' } = start.container;
  const request = { uid: run.uid, containerName: name, podLogDirectory: podLogDirectoryName(run.pod), wantsTerminationFile: terminationMessagePath !== '' };
  context.turn.ask('podDirectories.prepareContainer', podAddress(run.uid), 'files', request);
  return 1;
}

function prepareSubPaths(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  const mounts = start.container.volumeMounts ?? [];
  if (mounts.some(({ subPath = '', subPathExpr = '' }) => subPath !== '' || subPathExpr !== '')) {
    const request = requestOf(start, run, context);
    const env = context.configs.environment(request);
    const progress = decideSubPaths(start, run.uid, env.ok ? env.value : null, request.volumes ?? {}, context);
    if (progress === 'asked') return 1;
    if (progress !== 'done') {
      fail(start, run, 'CreateContainerConfigError', progress.failure, context);
      return 0;
    }
  }
  start.phase = 'pinning';
  return create(start, run, context);
}

function requestOf(start: ContainerStart, run: SyncRun, context: SyncContext): ContainerRequest {
  const { container, restartCount, imageRef, imageStatus, terminationFile, subPaths } = start;
  const volumes = context.volumes.mounted(run.uid);
  const blockVolumes = context.volumes.devices(run.uid);
  const { pod, status } = run;
  const envSources = { ...context.envSources(run), ...envFileSources(start, run, context), objects: envObjectsOf(start, context) };
  const of = { pod, container, restartCount, podIps: status.ips, status, envSources };
  const imageVolumes = imageVolumesOf(run);
  return { ...of, ...sandboxInputs(run, context), imageRef, image: imageStatus, terminationFile, volumes, blockVolumes, imageVolumes, subPathMounts: subPaths.targets };
}

function create(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  const pinning = context.pinning.ofContainer(run.uid, start.container.name);
  // Without a record of the actuated resources, a later agent would restart a container whose resize policy requires restarts.
  const isRecordKept = start.container.resizePolicy?.some(({ restartPolicy }) => restartPolicy === 'RestartContainer') !== true || context.allocation.areActuatedSaved(run.uid);
  if (pinning.kind === 'waiting' || !isRecordKept) return 0;
  if (pinning.kind === 'failed') {
    context.event(run.pod, start.container.name, 'Warning', 'Failed', pinning.message);
    end(start, run, 'PreCreateHookError', pinning.message, context);
    return 0;
  }
  const cdiDevices = context.claims?.cdiDevices(run.pod, start.container) ?? { ok: true, value: [] };
  if (!cdiDevices.ok) {
    fail(start, run, 'CreateContainerConfigError', cdiDevices.message, context);
    return 0;
  }
  start.phase = 'create';
  start.cpus = pinning.cpus;
  const devices = { cdiDevices: cdiDevices.value };
  const request = { ...requestOf(start, run, context), devices, exclusiveCpus: pinning.liftsQuota, pinned: pinning.resources };
  return createWith(request, start, run, context);
}

function createWith(asked: ContainerRequest, start: ContainerStart, run: SyncRun, context: SyncContext): number {
  const config = context.configs.container(asked);
  const sandbox = context.configs.sandbox(run.pod, run.sandboxAttempt, sandboxInputs(run, context));
  if (!config.ok || !sandbox.ok) {
    fail(start, run, 'CreateContainerConfigError', config.ok ? (sandbox as { message: string }).message : config.message, context);
    return 0;
  }
  for (const message of skippedEnvFromKeys(run.pod, start.container, envObjectsOf(start, context)))
    context.event(run.pod, null, 'Warning', 'InvalidEnvironmentVariableNames', message);
  const request = { sandboxId: run.sandboxId, config: config.value, sandboxConfig: sandbox.value.config };
  context.turn.ask('containers.create', podAddress(run.uid), 'create', request, context.settings.runtimeRequestTimeout);
  return 1;
}

function created(start: ContainerStart, run: SyncRun, containerId: string, context: SyncContext): void {
  start.containerId = containerId;
  start.phase = 'start';
  context.pinning.created(run.pod, start.container, start.cpus);
  context.event(run.pod, start.container.name, 'Normal', 'Created', 'Container created');
}

function started(start: ContainerStart, run: SyncRun, context: SyncContext): void {
  const { name } = start.container;
  start.phase = 'postStart';
  context.event(run.pod, name, 'Normal', 'Started', 'Container started');
  const { containerLogLinks, podLogsDirectory } = context.settings;
  if (containerLogLinks === null) return;
  const link = legacyLogSymlink(start.containerId, name, run.pod.metadata.name, run.pod.metadata.namespace ?? '');
  const target = `${podLogsDirectory}/${podLogDirectoryName(run.pod)}/${containerLogPath(name, start.restartCount)}`;
  context.turn.emit('podLogs.link', { link: `${containerLogLinks}${link.slice(link.lastIndexOf('/'))}`, target });
}

/** Begins the hook or ends its sleep; without a hook the container has started. */
function postStart(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  const { container, containerId } = start;
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) {
    succeed(start, run, context);
    return 0;
  }
  if (start.hook === null) {
    const podIp = context.podIp(run.uid);
    const begun = beginHook({ pod: run.pod, containerName: container.name, containerId, kind: 'postStart', handler, podIp }, context);
    if (begun.kind === 'failed') return hookFailed(start, run, begun.message, context);
    start.hook = begun.hook;
    if (begun.hook.sleepsUntil !== null) context.turn.wakeAt(podAddress(run.uid), begun.hook.sleepsUntil);
  }
  const { sleepsUntil } = start.hook;
  if (sleepsUntil !== null && context.turn.now >= sleepsUntil) succeed(start, run, context);
  return 0;
}

/** Takes the answer to the postStart hook. */
export function applyPostStartReply(start: ContainerStart, run: SyncRun, reply: HookReply, context: SyncContext): void {
  if (start.phase !== 'postStart' || start.hook?.slot !== reply.slot || run.cancelled) return;
  const end = hookAnswered(start.hook, reply, context);
  if (end.kind === 'succeeded') succeed(start, run, context);
  else if (end.kind === 'failed') run.outstanding += hookFailed(start, run, end.message, context);
}

function succeed(start: ContainerStart, run: SyncRun, context: SyncContext): void {
  const { name } = start.container;
  start.phase = 'done';
  context.startResult(run.uid, name, null);
  run.results.push(succeeded('StartContainer', name));
}

/** The container is killed before anything else happens: it must not run with its hook undone. */
function hookFailed(start: ContainerStart, run: SyncRun, message: string, context: SyncContext): number {
  const { name } = start.container;
  context.turn.log('error', 'PostStart hook failed', { err: message, podUID: run.uid, containerName: name });
  context.event(run.pod, name, 'Warning', 'FailedPostStartHook', 'PostStartHook failed');
  start.phase = 'kill';
  start.hookFailure = message;
  start.kill = beginContainerKills(run.pod, [{ id: start.containerId, name, reason: 'FailedPostStartHook', message: 'FailedPostStartHook' }], null, context);
  return killAgain(start, run, context);
}

function killAgain(start: ContainerStart, run: SyncRun, context: SyncContext): number {
  const { kill } = start;
  if (kill === null) return 0;
  const sent = decidePodKill(kill, run.uid, context);
  // The next sync sees whether the kill succeeded.
  if (kill.phase === 'done') end(start, run, 'PostStartHookError', start.hookFailure, context);
  return sent;
}

/** @param retryAt the earliest time of another result; null if unknown */
function imageProblem(start: ContainerStart, run: SyncRun, problem: PullProblem, retryAt: Micros | null, context: SyncContext): void {
  context.event(run.pod, start.container.name, 'Warning', 'Failed', `Error: ${problem.reason}`);
  end(start, run, problem.reason, problem.message, context, retryAt);
}

function fail(start: ContainerStart, run: SyncRun, reason: string, message: string, context: SyncContext): void {
  context.event(run.pod, start.container.name, 'Warning', 'Failed', `Error: ${message}`);
  end(start, run, reason, message, context);
}

function end(start: ContainerStart, run: SyncRun, reason: string, message: string, context: SyncContext, retryAt: Micros | null = null): void {
  start.phase = 'failed';
  context.startResult(run.uid, start.container.name, { reason, message });
  run.results.push(failed('StartContainer', start.container.name, reason, message, retryAt));
}
