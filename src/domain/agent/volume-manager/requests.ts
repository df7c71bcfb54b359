// What other parts request of the volume manager.
import { allocatableUpdated } from '../../volume-manager/attach-limits.js';
import { csiDriverChanged, csiDriversChanged } from '../../volume-manager/csi-volumes.js';
import { forgetRelease, releaseVolumes } from '../../volume-manager/release-volumes.js';
import { volumeDataArrived } from '../../volume-manager/volume-operations.js';
import type { AgentContext } from '../agent-context.js';
import { asVolumeManager } from './slice.js';

/** Unmounts what a removed pod has left, one volume after the other. */
export function releasePodVolumes(caller: AgentContext, uid: string): void {
  const context = asVolumeManager(caller);
  releaseVolumes(context.state.volumes, uid, context);
}

/** The volumes of a removed pod need no more attention. */
export function forgetVolumeRelease(caller: AgentContext, uid: string): void {
  const context = asVolumeManager(caller);
  forgetRelease(context.state.volumes, uid, context);
}

/** Data that a volume of the pod waits for may have arrived. */
export function resumeVolumes(caller: AgentContext, uid: string): void {
  const context = asVolumeManager(caller);
  volumeDataArrived(context.state.volumes, uid, context);
}

/** CSIDriver objects have changed. */
export function csiDriverObjectsUpdated(caller: AgentContext): void {
  const context = asVolumeManager(caller);
  csiDriversChanged(context.state.volumes, context);
}

/** A CSI driver came or went. */
export function csiDriverRegistered(caller: AgentContext, name: string): void {
  const context = asVolumeManager(caller);
  csiDriverChanged(context.state.volumes, name, context);
}

/** How many volumes a CSI driver can attach is known. */
export function attachLimitUpdated(caller: AgentContext, name: string): void {
  const context = asVolumeManager(caller);
  allocatableUpdated(context.state.volumes, name, context);
}
