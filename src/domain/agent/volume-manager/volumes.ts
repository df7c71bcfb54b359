// The volume manager in the agent: requests of pods' runs, and the runs to resume after changes.
import type { Pod } from '../../../ports/model/pod.js';
import type { VolumesOfPods } from '../../pod-sync/sync-context.js';
import { attachmentLimitOf } from '../../volume-manager/attach-limits.js';
import { refreshVolumes, wantVolumes } from '../../volume-manager/desired-volumes.js';
import { nodeSeen } from '../../volume-manager/found-volumes.js';
import { reconcileVolumes } from '../../volume-manager/reconcile-volumes.js';
import { releaseVolumes, settleRelease } from '../../volume-manager/release-volumes.js';
import { volumeGroups } from '../../volume-manager/volume-groups.js';
import { blockVolumesOf, mountedVolumesOf, releaseState, volumesState } from '../../volume-manager/volume-waiting.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentEvent } from '../agent-state.js';
import { orphanVolumesChanged } from '../housekeeping/orphan-directories.js';
import { operationWoken } from '../pod-workers/pod-operations.js';
import { withEffects } from '../pod-workers/worker-effects.js';
import { asVolumeManager, type VolumeManagerContext } from './slice.js';

export function volumesOfPods(caller: AgentContext): VolumesOfPods {
  const context = asVolumeManager(caller);
  const { volumes } = context.state;
  return {
    want: (uid: string, pod: Pod) => wantVolumes(volumes, uid, pod, context),
    state: (uid, waited) => volumesState(volumes, uid, waited),
    // A pod that ran before this agent started isn’t refused: it waits for its volumes.
    attachmentLimit: (uid) => (context.state.inherited.has(uid) ? 'none' : attachmentLimitOf(volumes, uid, context)),
    refresh: (uid) => refreshVolumes(volumes, uid, context),
    mounted: (uid) => mountedVolumesOf(volumes, uid, context.nodeFacts.rootDirectory),
    devices: (uid) => blockVolumesOf(volumes, uid, context.nodeFacts.rootDirectory),
    groups: (uid) => volumeGroups(volumes, uid),
    release: (uid) => releaseVolumes(volumes, uid, context),
    releaseState: (uid, waited) => releaseState(volumes, uid, waited),
  };
}

/** The driver of a pod's volume reports it as abnormal. */
export function recordVolumeAbnormal(context: VolumeManagerContext, { uid, volumeName, message }: Extract<AgentEvent, { readonly type: 'volumeAbnormal' }>): void {
  const pod = context.state.pods.pods.get(uid);
  if (pod !== undefined) context.event(pod, null, 'Warning', 'VolumeConditionAbnormal', `Volume ${volumeName}: ${message}`);
}

/** The Node has changed. */
export function volumesNodeChanged(caller: AgentContext): void {
  const context = asVolumeManager(caller);
  nodeSeen(context.state.volumes, context);
}

/** Runs the volume work, and wakes waiting runs, until nothing more follows in this step. */
export function settleVolumes(context: VolumeManagerContext): void {
  const { volumes } = context.state;
  const { podsWithVolumes } = context;
  while (volumes.dirty.size > 0 || podsWithVolumes.size > 0) {
    reconcileVolumes(volumes, context);
    const uids = [...podsWithVolumes];
    podsWithVolumes.clear();
    for (const uid of uids) {
      context.forPod(uid, () => {
        settleRelease(volumes, uid);
        if (context.state.orphans.has(uid)) orphanVolumesChanged(context, uid);
        else withEffects(context, (effects) => operationWoken(context, uid, effects));
      });
    }
  }
}
