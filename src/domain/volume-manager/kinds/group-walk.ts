// Gives what is mounted to the pod's group, file by file. A walk that takes long is told of, once, with what would shorten it.
import type { Micros } from '../../../ports/micros.js';
import type { VolumePlace } from '../../../ports/outbound/volume-mounts.js';
import { assert } from '../../kernel/assert.js';
import { microsPerSecond } from '../../values/time.js';
import { fsGroupMode } from '../../volumes/volume-ownership.js';
import type { VolumeScene, VolumeStep } from '../volume-kind.js';

const longWalk: Micros = 30 * microsPerSecond;
const advice =
  'consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

export function giveToGroup(scene: VolumeScene, place: VolumePlace): VolumeStep {
  const { fsGroup, fsGroupChangePolicy = null } = scene.pod?.spec.securityContext ?? {};
  assert(fsGroup !== undefined, 'only a group that is asked for is given');
  const bits = { fileBits: fsGroupMode(0, 'file', false), directoryBits: fsGroupMode(0, 'directory', false) };
  scene.remindAt(scene.context.turn.now + longWalk);
  return scene.ask('volumeMounts.setOwnership', { place, ownership: { gid: fsGroup, ...bits, onRootMismatch: fsGroupChangePolicy === 'OnRootMismatch' } });
}

/** The walk is under way still. */
export function tellLongWalk({ pod, context }: VolumeScene, place: VolumePlace): void {
  if (pod === null || place.kind !== 'pod') return;
  const directory = [place.uid, 'volumes', place.plugin, place.volume, ...(place.inner === null ? [] : [place.inner])].join('/');
  context.event(pod, null, 'Warning', 'VolumePermissionChangeInProgress', `Setting volume ownership for ${directory} is taking longer than expected, ${advice}`);
}
