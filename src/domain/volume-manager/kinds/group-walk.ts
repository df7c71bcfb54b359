// Applies the pod's fsGroup to a mount, file by file. Reports a slow walk: once with advice to shorten it, and every minute with
// its progress.
import type { Micros } from '../../../ports/micros.js';
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import type { VolumePlace } from '../../../ports/outbound/volume-mounts.js';
import { assert } from '../../kernel/assert.js';
import type { ReplyFor } from '../../kernel/machine.js';
import { microsPerSecond } from '../../values/time.js';
import { fsGroupMode } from '../../volumes/volume-ownership.js';
import type { VolumeScene, VolumeStep } from '../volume-kind.js';

const longWalk: Micros = 30 * microsPerSecond;
const progressPeriod: Micros = 60 * microsPerSecond;
const reason = 'VolumePermissionChangeInProgress';
const advice =
  'consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

export interface GroupWalk {
  /** The slow walk has been reported. */
  isProgressReported: boolean;
}

export function applyFsGroup(scene: VolumeScene, place: VolumePlace): VolumeStep {
  const { fsGroup, fsGroupChangePolicy = null } = scene.pod?.spec.securityContext ?? {};
  assert(fsGroup !== undefined, 'only a group that is asked for is given');
  const bits = { fileBits: fsGroupMode(0, 'file', false), directoryBits: fsGroupMode(0, 'directory', false) };
  scene.remindAt(scene.context.turn.now + longWalk);
  return scene.ask('volumeMounts.setOwnership', { place, ownership: { gid: fsGroup, ...bits, onRootMismatch: fsGroupChangePolicy === 'OnRootMismatch' } });
}

/** The walk is still running. */
export function reportSlowWalk(walk: GroupWalk, scene: VolumeScene, place: VolumePlace): void {
  scene.remindAt(scene.context.turn.now + progressPeriod);
  if (walk.isProgressReported) {
    scene.look('volumeMounts.ownershipProgress', { place });
    return;
  }
  walk.isProgressReported = true;
  report(scene, place, ` is taking longer than expected, ${advice}`);
}

export function reportProgress(outcome: ReplyFor<AgentOperations, 'volumeMounts.ownershipProgress'>['outcome'], scene: VolumeScene, place: VolumePlace): void {
  const files = outcome.ok ? outcome.value : null;
  if (files !== null) report(scene, place, `, processed ${files} files.`);
}

function report({ pod, context }: VolumeScene, place: VolumePlace, what: string): void {
  if (pod === null || place.kind !== 'pod') return;
  const directory = [place.uid, 'volumes', place.plugin, place.volume, ...(place.inner === null ? [] : [place.inner])].join('/');
  context.event(pod, null, 'Warning', reason, `Setting volume ownership for ${directory}${what}`);
}
