// Tears down a pod's volumes on the node once its containers are dead. The volumes are looked up on disk, so that it completes the
// work of an earlier agent.
//
//   release -> look -> unmounting: unknown found volumes become uncertain; the reconciler tears all down -> done
//
// Invariant: a volume without a matching kind stays, and is reported; nothing of it is removed.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { VolumeLeftovers } from '../../ports/outbound/pod-volumes.js';
import type { ReplyFor } from '../kernel/machine.js';
import type { View } from '../kernel/view.js';
import { hostCallLimit } from '../values/host-call-limit.js';
import { podDirectory } from '../values/pod-directories.js';
import { planSubPathCleanup } from '../volumes/sub-path.js';
import { specName, unescapeName } from '../volumes/volume-spec.js';
import { unwantVolumes } from './desired-volumes.js';
import { adoptVolume, logDamaged } from './found-volumes.js';
import { backoffKey } from './volume-backoff.js';
import type { VolumeContext } from './volume-kind.js';
import { releaseMachine, type VolumeManager, type VolumeRelease } from './volume-manager-state.js';

/** The pod's containers have stopped permanently. A repeated call checks again. */
export function releaseVolumes(manager: VolumeManager, uid: string, { turn }: VolumeContext): void {
  const known = [...(manager.pods.get(uid)?.names ?? [])].map(([volumeName, name]) => [name, volumeName] as const);
  const names = known.length > 0 ? new Map(known) : (manager.releases.get(uid)?.names ?? new Map());
  unwantVolumes(manager, uid);
  const address = { machine: releaseMachine, key: uid };
  if (turn.inFlight(address, 'list')) return;
  manager.releases.set(uid, { uid, phase: 'look', names, subPaths: new Map(), failures: [] });
  turn.ask('podVolumes.list', address, 'list', { uid }, hostCallLimit);
}

/** The caller no longer needs it. Another waiting caller checks again. */
export function forgetRelease(manager: VolumeManager, uid: string, context: VolumeContext): void {
  manager.releases.delete(uid);
  context.turn.end({ machine: releaseMachine, key: uid });
  context.volumesChanged(uid);
}

export function releaseReplied(manager: VolumeManager, uid: string, { outcome }: ReplyFor<AgentOperations, 'podVolumes.list'>, context: VolumeContext): void {
  const release = manager.releases.get(uid);
  if (release === undefined) {
    // It was forgotten while the list was in flight: a caller that has asked for it since got no list of its own.
    context.volumesChanged(uid);
    return;
  }
  if (outcome.ok) {
    release.phase = 'unmounting';
    found(manager, release, outcome.value, context);
  } else {
    release.failures.push(outcome.error.message);
    release.phase = 'over';
  }
  context.volumesChanged(uid);
}

/** The volumes of the pod that are not down yet, and what the last try to take each down has failed with; null: with nothing so far. */
export function unmountProblems(manager: View<VolumeManager>, uid: string): { readonly name: string; readonly err: string | null }[] {
  return [...(manager.held.get(uid) ?? [])].map((volumeName) => {
    const spec = manager.actual.get(volumeName)?.pods.get(uid)?.spec;
    const backoff = manager.backoffs.get(backoffKey(volumeName, 'unmount', uid)) ?? manager.backoffs.get(volumeName);
    return { name: spec === undefined ? volumeName : specName(spec), err: backoff?.err ?? null };
  });
}

/** Ends the release of the pod if nothing of it is mounted any more. */
export function settleRelease(manager: VolumeManager, uid: string): void {
  const release = manager.releases.get(uid);
  if (release?.phase === 'unmounting' && !manager.held.has(uid)) release.phase = 'over';
}

function found(manager: VolumeManager, release: VolumeRelease, { volumes, subPaths }: VolumeLeftovers, { nodeFacts, turn }: VolumeContext): void {
  const { uid, failures } = release;
  const directory = podDirectory(nodeFacts.rootDirectory, uid);
  const withSubPaths = new Set<string>();
  for (const { volume, ...present } of subPaths) {
    release.subPaths.set(volume, planSubPathCleanup(directory, volume, present));
    withSubPaths.add(volume);
  }
  for (const { plugin, volume, data, isDevice } of volumes) {
    withSubPaths.delete(volume);
    const leftover = { uid, plugin: unescapeName(plugin), name: volume, data, isDevice };
    logDamaged(leftover, turn);
    if (!adoptVolume(manager, leftover)) failures.push(`no plugin of this kubelet takes down ${plugin}/${volume}`);
  }
  for (const name of manager.held.get(uid) ?? []) {
    manager.dirty.add(name);
    const spec = manager.actual.get(name)?.pods.get(uid)?.spec;
    if (spec !== undefined) withSubPaths.delete(specName(spec));
  }
  // Bind mounts from places without a directory of their own are unmounted as a volume of that name.
  for (const volume of withSubPaths) adoptVolume(manager, { uid, plugin: 'kubernetes.io/host-path', name: volume, data: null, isDevice: false });
}
