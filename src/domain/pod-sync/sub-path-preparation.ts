// Creates the sub paths that a container mounts, and binds each below the pod's directory, where no container can replace it.
//
//   present? -- no --> directories are created --> mount
//      '---- yes ----------------------------> mount: an existing bind is compared, otherwise bound -> the next one
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { EnvVariable } from '../containers/env-expansion.js';
import type { MountedVolume } from '../containers/mounts.js';
import type { ReplyTo } from '../kernel/machine.js';
import { podDirectory } from '../values/pod-directories.js';
import { planSubPathDirectory, planSubPathMount, subPathPresence, subPathTarget } from '../volumes/sub-path.js';
import { type SubPathUse, subPathDirectoryFailure, subPathMountFailure, subPathUses } from '../volumes/sub-path-mounts.js';
import type { ContainerStart } from './container-start-state.js';
import type { SubPathPreparation } from './sub-path-state.js';
import { podAddress, type SyncContext } from './sync-context.js';

/** The result of a check, a plan or an answer. */
type Progress = 'asked' | 'continue' | 'done' | { readonly failure: string };

interface Scene {
  readonly uid: string;
  readonly containerName: string;
  readonly volumes: Readonly<Record<string, MountedVolume>>;
  readonly context: SyncContext;
}

/** `asked`: an answer is due; `done`: all are bound; otherwise the error. @param env null: unknown, which the container's configuration reports */
export function decideSubPaths(
  start: ContainerStart,
  uid: string,
  env: readonly EnvVariable[] | null,
  volumes: Scene['volumes'],
  context: SyncContext,
): Exclude<Progress, 'continue'> {
  const { subPaths, container } = start;
  subPaths.pending ??= env === null ? [] : [...subPathUses(container, env)];
  const scene = { uid, containerName: container.name, volumes, context };
  for (let use = subPaths.pending[0]; use !== undefined; use = subPaths.pending[0]) {
    const progress = work(subPaths, use, scene);
    if (progress !== 'continue') return progress;
  }
  return 'done';
}

function work(preparation: SubPathPreparation, use: SubPathUse, scene: Scene): Progress {
  const volume = Object.hasOwn(scene.volumes, use.volumeName) ? scene.volumes[use.volumeName] : undefined;
  // Without its volume the container has no configuration, which reports the cause. The runtime resolves a path within an image.
  if (volume === undefined || volume.hostPath === '') return next(preparation);
  switch (preparation.phase) {
    case 'present':
      return lookForPath(preparation, use, volume.hostPath, scene);
    case 'directory':
      return makeDirectory(preparation, use, volume.hostPath, scene);
    case 'mount':
      return mount(preparation, use, volume, scene);
  }
}

function lookForPath(preparation: SubPathPreparation, use: SubPathUse, volumePath: string, scene: Scene): Progress {
  const presence = subPathPresence(volumePath, use.subPath, preparation.known);
  if (typeof presence !== 'string') return look(preparation, presence.path, scene);
  preparation.phase = presence === 'present' ? 'mount' : 'directory';
  return 'continue';
}

function makeDirectory(preparation: SubPathPreparation, { subPath, volumeName }: SubPathUse, volumePath: string, scene: Scene): Progress {
  if (preparation.rootMode === null) return look(preparation, volumePath, scene);
  const plan = planSubPathDirectory(volumePath, subPath, preparation.rootMode, preparation.known);
  if (plan.kind === 'look') return look(preparation, plan.path, scene);
  if (plan.kind === 'refused') return refused(plan.reason, subPathDirectoryFailure(volumeName, scene.containerName), scene);
  if (plan.steps.length > 0) return carryOut(plan.steps, scene);
  return directoryMade(preparation);
}

function mount(
  preparation: SubPathPreparation,
  { index, subPath, volumeName }: SubPathUse,
  { hostPath: volumePath, directoryName = volumeName }: MountedVolume,
  scene: Scene,
): Progress {
  const { uid, containerName, context } = scene;
  const target = subPathTarget(podDirectory(context.nodeFacts.rootDirectory, uid), directoryName, containerName, index);
  const plan = planSubPathMount({ volumePath, subPath, target }, preparation.known, preparation.mounted);
  if (plan.kind === 'look') return look(preparation, plan.path, scene);
  if (plan.kind === 'refused') return refused(plan.reason, subPathMountFailure(volumeName, containerName), scene);
  preparation.targets[index] = target;
  if (plan.kind === 'compare') {
    context.turn.ask('subPaths.compare', podAddress(uid), 'subPath', { source: plan.source, target });
    return 'asked';
  }
  return plan.steps.length > 0 ? carryOut(plan.steps, scene) : next(preparation);
}

/** Takes an answer; returns the failure, or null. */
export function applySubPathReply(
  { subPaths, container }: ContainerStart,
  reply: ReplyTo<AgentOperations, 'subPaths.look' | 'subPaths.compare' | 'subPaths.carryOut'>,
  context: SyncContext,
): string | null {
  const use = subPaths.pending?.[0];
  if (use === undefined) return null;
  if (!reply.outcome.ok) {
    const text = subPaths.phase === 'mount' ? subPathMountFailure : subPathDirectoryFailure;
    return reportFailure(reply.outcome.error.message, text(use.volumeName, container.name), { podUID: reply.address.key, containerName: container.name }, context);
  }
  if (reply.op === 'subPaths.look') {
    if (subPaths.phase === 'directory' && subPaths.rootMode === null) subPaths.rootMode = reply.outcome.value.mode;
    subPaths.known.set(subPaths.lookedAt, reply.outcome.value.entry);
  } else if (reply.op === 'subPaths.compare') subPaths.mounted = reply.outcome.value;
  else if (subPaths.phase === 'directory') directoryMade(subPaths);
  else next(subPaths);
  return null;
}

function look(preparation: SubPathPreparation, path: string, { uid, context }: Scene): 'asked' {
  preparation.lookedAt = path;
  context.turn.ask('subPaths.look', podAddress(uid), 'subPath', { path });
  return 'asked';
}

function carryOut(steps: Extract<ReturnType<typeof planSubPathMount>, { kind: 'planned' }>['steps'], { uid, context }: Scene): 'asked' {
  context.turn.ask('subPaths.carryOut', podAddress(uid), 'subPath', { uid, steps });
  return 'asked';
}

/** Earlier checks are outdated. */
function directoryMade(preparation: SubPathPreparation): 'continue' {
  preparation.known = new Map();
  preparation.phase = 'mount';
  return 'continue';
}

function next(preparation: SubPathPreparation): 'continue' {
  preparation.pending?.shift();
  preparation.phase = 'present';
  preparation.known = new Map();
  preparation.rootMode = null;
  preparation.mounted = null;
  return 'continue';
}

function refused(reason: string, failure: string, { uid, containerName, context }: Scene): { readonly failure: string } {
  return { failure: reportFailure(reason, failure, { podUID: uid, containerName }, context) };
}

/** Only the log has the reason: the user may not be allowed to see the volume's content. */
function reportFailure(reason: string, failure: string, of: { readonly podUID: string; readonly containerName: string }, { turn }: SyncContext): string {
  turn.log('warn', failure, { err: reason, podUID: of.podUID, containerName: of.containerName });
  return failure;
}
