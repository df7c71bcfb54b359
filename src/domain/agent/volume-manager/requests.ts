// What other parts request of the volume manager.
import { allocatableUpdated } from '../../volume-manager/attach-limits.js';
import { csiDriverChanged, csiDriversChanged } from '../../volume-manager/csi-volumes.js';
import { forgetRelease, releaseVolumes } from '../../volume-manager/release-volumes.js';
import { volumeDataArrived } from '../../volume-manager/volume-operations.js';
import type { AgentContext } from '../agent-context.js';
import { asVolumeManager } from './slice.js';

/** Unmounts what a removed pod has left, one volume after the other. */
export function releasePodVolumes(sender: AgentContext, uid: string): void {
  const context = asVolumeManager(sender);
  releaseVolumes(context.state.volumes, uid, context);
}

/** The volumes of a removed pod need no more attention. */
export function forgetVolumeRelease(sender: AgentContext, uid: string): void {
  const context = asVolumeManager(sender);
  forgetRelease(context.state.volumes, uid, context);
}

/** Data that a volume of the pod waits for may have arrived. */
export function resumeVolumes(sender: AgentContext, uid: string): void {
  const context = asVolumeManager(sender);
  volumeDataArrived(context.state.volumes, uid, context);
}

/** CSIDriver objects have changed. */
export function csiDriverObjectsUpdated(sender: AgentContext): void {
  const context = asVolumeManager(sender);
  csiDriversChanged(context.state.volumes, context);
}

/** A CSI driver came or went. */
export function csiDriverRegistered(sender: AgentContext, name: string): void {
  const context = asVolumeManager(sender);
  csiDriverChanged(context.state.volumes, name, context);
}

/** How many volumes a CSI driver can attach is known. */
export function attachLimitUpdated(sender: AgentContext, name: string): void {
  const context = asVolumeManager(sender);
  allocatableUpdated(context.state.volumes, name, context);
}
