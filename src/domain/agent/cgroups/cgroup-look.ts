// Checks the cgroups of all prepared pods together, at the sync frequency. A pod whose cgroup has vanished is synced: processes
// outside of it are killed and started inside a new one. The cgroups above the pods' are set again at the same time.
import { hostCallLimit } from '../../values/host-call-limit.js';
import type { AnswerOf } from '../part.js';
import { syncPods } from '../sync-loop/sync-loop.js';
import { refreshNodeCgroups } from './node-cgroups.js';
import { setUnprepared, vanishedPods } from './prepared-pods.js';
import type { CgroupsContext } from './slice.js';

export const cgroupLookAddress = { machine: 'cgroups', key: '' } as const;

/** Plans the next check if any pod is prepared. */
export function planCgroupLook(context: CgroupsContext): void {
  const { prepared, settings } = context.state;
  if (prepared.lookPlanned || prepared.lookAskedAt !== null || prepared.pods.size === 0 || !settings.cgroupsPerQos) return;
  prepared.lookPlanned = true;
  context.turn.wakeAt(cgroupLookAddress, context.turn.now + settings.syncFrequency);
}

export function beginCgroupLook(context: CgroupsContext): void {
  const { prepared } = context.state;
  prepared.lookPlanned = false;
  if (prepared.pods.size === 0) return;
  prepared.lookAskedAt = context.turn.now;
  refreshNodeCgroups(context.state);
  context.turn.ask('podCgroups.list', cgroupLookAddress, 'list', null, hostCallLimit);
}

export function cgroupLookReplied(context: CgroupsContext, { outcome }: AnswerOf<'podCgroups.list'>): void {
  const { state, turn } = context;
  const askedAt = state.prepared.lookAskedAt ?? 0;
  state.prepared.lookAskedAt = null;
  if (!outcome.ok) {
    turn.log('error', 'Failed to list the cgroups of pods', { err: outcome.error.message });
    return;
  }
  const vanished = vanishedPods(state, new Set(outcome.value.map(({ uid }) => uid)), askedAt);
  for (const uid of vanished) setUnprepared(state, uid);
  syncPods(context, vanished);
}
