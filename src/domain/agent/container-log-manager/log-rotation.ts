// Limits the log size of running containers. At an interval all logs are measured together; those that have grown too large are
// rotated, a few at a time, each by the steps below. Nothing is measured while the runtime has no pods.
//
//   a check: unswept -> sweeping -> idle -> measuring -> idle
//
//   one log: [missing] reopening -> measuring -\
//            [too large] ----------------------> listing -> discarding -> compressing (one file at a time) -> moving -> reopeningMoved -> done
//                                                                                                                         | failed
//                                                                                                                         v
//                                                                                                                    restoring -> done
//
// A step that fails ends the rotation; the next check finds the log as large as before. Invariants: the log is moved aside only for a
// running container, and moved back if the runtime does not open a new one; a log is in one rotation at a time, and meanwhile its
// container is not collected (`isBeingRotated`), so that no rotated file of a removed container is left.

import type { Micros } from '../../../ports/micros.js';
import type { ContainerRuntimeState } from '../../../ports/model/runtime-status.js';
import { assert } from '../../kernel/assert.js';
import { type LogRotationPolicy, planRotatedFiles, rotatedLogName } from '../../logs/log-rotation.js';
import type { AgentContext } from '../agent-context.js';
import { requestCollection } from '../container-gc/requests.js';
import type { AnswerOf } from '../part.js';
import { isAside } from '../set-aside/aside-pods.js';
import { logPathOf } from './container-log-files.js';
import type { LogRotation, WaitingLog } from './log-rotation-state.js';
import type { ContainerLogManagerContext } from './slice.js';

export const logRotationMachine = 'log-rotation';
const roundAddress = { machine: logRotationMachine, key: '' } as const;
/** A slow disk compresses some megabytes a second, and logs have some tens of them. */
const compressionTimeout: Micros = 600_000_000;

/** Whether the files of the container's log are being worked on: then they are not to be removed. */
export function isBeingRotated({ state }: AgentContext, containerId: string): boolean {
  return state.logRotation.active.has(containerId);
}

/** Plans the next check, if the runtime has pods. */
export function planLogRotation(context: ContainerLogManagerContext): void {
  const { logRotation, pleg, settings, setAside } = context.state;
  if (settings.logRotation === null || logRotation.planned || (pleg.records.size === 0 && setAside.pods.size === 0)) return;
  if (logRotation.phase === 'unswept') {
    logRotation.phase = 'sweeping';
    context.turn.ask('containerLogs.removeUnfinished', roundAddress, 'sweep', null);
  }
  logRotation.planned = true;
  context.turn.wakeAt(roundAddress, context.turn.now + settings.logRotation.monitorInterval);
}

export function beginLogRotation(context: ContainerLogManagerContext): void {
  const { logRotation } = context.state;
  logRotation.planned = false;
  if (logRotation.phase !== 'idle') return;
  const running = [...runningLogs(context), ...logsOfAside(context)].filter(({ containerId }) => !logRotation.active.has(containerId) && !logRotation.waiting.has(containerId));
  if (running.length === 0) return;
  logRotation.phase = 'measuring';
  logRotation.measured = running;
  context.turn.ask('containerLogs.measure', roundAddress, 'measure', { paths: running.map(({ path }) => path) });
}

export const logRotationOperations = [
  'containerLogs.removeUnfinished',
  'containerLogs.measure',
  'containerLogs.listRotated',
  'containerLogs.discard',
  'containerLogs.compress',
  'containerLogs.rename',
  'containers.reopenLog',
] as const;
type LogRotationAnswer = AnswerOf<(typeof logRotationOperations)[number]>;

/** @param key the container's id; '': of the round */
export function logRotationReplied(context: ContainerLogManagerContext, key: string, reply: LogRotationAnswer): void {
  const { logRotation, settings } = context.state;
  const policy = settings.logRotation;
  if (policy === null) return;
  if (key === '') roundReplied(context, policy, reply);
  else {
    const rotation = logRotation.active.get(key);
    if (rotation === undefined) return;
    if (!advance(context, policy, key, rotation, reply)) finish(context, key, rotation);
  }
  startWaiting(context, policy);
}

function roundReplied(context: ContainerLogManagerContext, policy: LogRotationPolicy, reply: LogRotationAnswer): void {
  const { logRotation } = context.state;
  assert(logRotation.phase === (reply.op === 'containerLogs.measure' ? 'measuring' : 'sweeping'), 'a round of log rotation got an answer that it does not wait for', reply.op);
  logRotation.phase = 'idle';
  if (!reply.outcome.ok) {
    context.turn.log('error', 'Failed to look at the logs of containers', { err: reply.outcome.error.message, operation: reply.op });
    logRotation.measured = [];
    return;
  }
  if (reply.op !== 'containerLogs.measure') return;
  const { sizeBytes } = reply.outcome.value;
  for (const [i, log] of logRotation.measured.entries()) {
    const size = sizeBytes[i] ?? null;
    if (size === null || size >= policy.maxSizeBytes) logRotation.waiting.set(log.containerId, size === null ? { ...log, missing: true } : log);
  }
  logRotation.measured = [];
}

function startWaiting(context: ContainerLogManagerContext, { maxWorkers }: LogRotationPolicy): void {
  const { waiting, active } = context.state.logRotation;
  for (const [containerId, { podUid, path, missing }] of waiting) {
    if (active.size >= maxWorkers) return;
    waiting.delete(containerId);
    if (!isRunning(context, podUid, containerId)) continue;
    const rotation: LogRotation = { podUid, path, step: missing ? 'reopening' : 'listing', discard: [], compress: [], utcOffsetSeconds: 0, rotatedName: '' };
    active.set(containerId, rotation);
    ask(context, containerId, rotation);
  }
}

/** Processes the reply of a step and begins the next one. False: no next step. */
function advance(context: ContainerLogManagerContext, policy: LogRotationPolicy, containerId: string, rotation: LogRotation, reply: LogRotationAnswer): boolean {
  if (!reply.outcome.ok) {
    const { message, kind } = reply.outcome.error;
    context.turn.log('error', 'Failed to rotate log for container', { containerID: containerId, path: rotation.path, step: rotation.step, err: message });
    if (rotation.step !== 'reopeningMoved') {
      // A file that went meanwhile needs no compression.
      if (rotation.step !== 'compressing' || kind !== 'not-found') return false;
    } else {
      rotation.step = 'restoring';
      ask(context, containerId, rotation);
      return true;
    }
  }
  // The next steps change files, and a container that does not run may be collected with them.
  if (rotation.step !== 'moving' && !isRunning(context, rotation.podUid, containerId)) return false;
  const next = nextStep(context, policy, rotation, reply);
  if (next === null) return false;
  rotation.step = next;
  ask(context, containerId, rotation);
  return true;
}

function nextStep(context: ContainerLogManagerContext, policy: LogRotationPolicy, rotation: LogRotation, reply: LogRotationAnswer): LogRotation['step'] | null {
  switch (rotation.step) {
    case 'reopening':
      return 'measuring';
    case 'measuring':
      return reply.op === 'containerLogs.measure' && reply.outcome.ok && (reply.outcome.value.sizeBytes[0] ?? 0) >= policy.maxSizeBytes ? 'listing' : null;
    case 'listing': {
      if (reply.op !== 'containerLogs.listRotated' || !reply.outcome.ok) return null;
      const { discard, compress } = planRotatedFiles(reply.outcome.value.names, policy.maxFiles);
      rotation.utcOffsetSeconds = reply.outcome.value.utcOffsetSeconds;
      rotation.discard = discard;
      rotation.compress = [...compress];
      return discard.length > 0 ? 'discarding' : afterTidying(context, rotation);
    }
    case 'discarding':
      return afterTidying(context, rotation);
    case 'compressing':
      rotation.compress.shift();
      return afterTidying(context, rotation);
    case 'moving':
      return 'reopeningMoved';
    case 'reopeningMoved':
    case 'restoring':
      return null;
  }
}

function afterTidying(context: ContainerLogManagerContext, rotation: LogRotation): 'compressing' | 'moving' {
  if (rotation.compress.length > 0) return 'compressing';
  rotation.rotatedName = rotatedLogName(nameOf(rotation.path), context.turn.wall, rotation.utcOffsetSeconds);
  return 'moving';
}

function ask({ turn, state }: ContainerLogManagerContext, containerId: string, rotation: LogRotation): void {
  const address = { machine: logRotationMachine, key: containerId };
  const { path, step, discard, compress, rotatedName } = rotation;
  switch (step) {
    case 'reopening':
    case 'reopeningMoved':
      turn.ask('containers.reopenLog', address, step, { containerId }, state.settings.runtimeRequestTimeout);
      return;
    case 'measuring':
      turn.ask('containerLogs.measure', address, step, { paths: [path] });
      return;
    case 'listing':
      turn.ask('containerLogs.listRotated', address, step, { path });
      return;
    case 'discarding':
      turn.ask('containerLogs.discard', address, step, { path, names: discard });
      return;
    case 'compressing':
      turn.ask('containerLogs.compress', address, step, { path, name: compress[0] ?? '' }, compressionTimeout);
      return;
    case 'moving':
    case 'restoring':
      turn.ask('containerLogs.rename', address, step, { path, name: rotatedName, direction: step === 'moving' ? 'aside' : 'back' });
      return;
  }
}

function finish(context: ContainerLogManagerContext, containerId: string, { podUid, path }: LogRotation): void {
  const { turn, state } = context;
  state.logRotation.active.delete(containerId);
  turn.end({ machine: logRotationMachine, key: containerId });
  // The collection has skipped this container.
  if (!isRunning(context, podUid, containerId)) requestCollection(state);
  // A pod's own sync doesn't wait for the rotation when it removes a container with its logs.
  if (!isAside(state, podUid) && stateOf(context, podUid, containerId) === null) turn.emit('podLogs.removeContainerLogs', { logPaths: [path], links: [] });
}

function runningLogs({ state }: ContainerLogManagerContext): WaitingLog[] {
  const logs: WaitingLog[] = [];
  for (const { cached } of state.cache.entries.values()) {
    if (cached.kind !== 'status') continue;
    for (const container of cached.status.containers) {
      if (container.state !== 'running') continue;
      logs.push({ containerId: container.id, podUid: cached.status.uid, path: logPathOf(state.settings, cached.status, container), missing: false });
    }
  }
  return logs;
}

/** Pods that are aside keep running and logging; a pod that ended the agent while it was aside is left alone altogether. */
function logsOfAside({ state }: ContainerLogManagerContext): WaitingLog[] {
  return [...state.setAside.pods.values()].flatMap(({ uid, isHidden, listed }) => {
    if (isHidden || listed === null || !isAside(state, uid)) return [];
    const running = listed.containers.filter((container) => container.state === 'running');
    return running.map(({ id, name, attempt }) => ({ containerId: id, podUid: uid, path: logPathOf(state.settings, listed, { id, name, restartCount: attempt }), missing: false }));
  });
}

function isRunning(context: ContainerLogManagerContext, podUid: string, containerId: string): boolean {
  return stateOf(context, podUid, containerId) === 'running';
}

/** null: unknown to the runtime. */
function stateOf({ state }: ContainerLogManagerContext, podUid: string, containerId: string): ContainerRuntimeState | null {
  if (isAside(state, podUid)) return state.setAside.pods.get(podUid)?.listed?.containers.find(({ id }) => id === containerId)?.state ?? null;
  const cached = state.cache.entries.get(podUid)?.cached;
  if (cached === undefined) return null;
  // While it can't be inspected, its last state applies.
  if (cached.kind === 'failed') return 'running';
  return cached.status.containers.find(({ id }) => id === containerId)?.state ?? null;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
