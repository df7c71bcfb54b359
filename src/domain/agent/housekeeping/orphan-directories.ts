// Removes the directories of unknown pods, after their volumes: a killed agent may have mounted
// something for a pod that no longer existed when the next agent started.
//
//   found by housekeeping -> volumes are torn down, as long as that takes -> the directory is removed -> forgotten;
//   a failure is retried by a pass, after a pause that doubles

import { tryFailed, trySucceeded } from '../../backoff/retry-pauses.js';
import { hostCallLimit } from '../../values/host-call-limit.js';
import { releaseState } from '../../volume-manager/volume-waiting.js';
import type { AgentContext } from '../agent-context.js';
import type { AnswerOf } from '../part.js';
import { syncAddress } from '../pod-workers/worker-effects.js';
import { releasePodRange } from '../user-namespace-manager/user-namespace-ranges.js';
import { forgetVolumeRelease, releasePodVolumes } from '../volume-manager/requests.js';
import { asHousekeeping, type HousekeepingContext } from './slice.js';

export const orphanMachine = 'orphan';

export function removeOrphanDirectory(caller: AgentContext, uid: string): void {
  const context = asHousekeeping(caller);
  const { orphans } = context.state;
  if (orphans.has(uid)) return;
  orphans.add(uid);
  context.forPod(uid, () => releasePodVolumes(context, uid));
}

export function orphanRemoved(context: HousekeepingContext, uid: string, { outcome }: AnswerOf<'podDirectories.remove'>): void {
  if (context.state.orphans.has(uid)) end(context, uid, outcome.ok ? null : outcome.error.message);
}

export function orphanVolumesChanged(caller: AgentContext, uid: string): void {
  const context = asHousekeeping(caller);
  const { state, turn } = context;
  const address = { machine: orphanMachine, key: uid };
  if (turn.inFlight(address, 'directory')) return;
  const left = releaseState(state.volumes, uid, 0);
  if (left.kind === 'forgotten') releasePodVolumes(context, uid);
  else if (left.kind === 'mounted') turn.ask('podDirectories.remove', address, 'directory', { uid }, hostCallLimit);
  else if (left.kind === 'failed') end(context, uid, left.message);
}

function end(context: HousekeepingContext, uid: string, problem: string | null): void {
  const { state, turn } = context;
  state.orphans.delete(uid);
  forgetVolumeRelease(context, uid);
  // A pod of this UID that came meanwhile waits for this.
  if (state.pods.pods.has(uid)) turn.wakeAt(syncAddress(uid), turn.now);
  const retry = `directory/${uid}`;
  if (problem === null) {
    trySucceeded(state.housekeeping.retries, retry);
    releasePodRange(state, uid);
    return;
  }
  turn.log('warn', 'Orphaned pod found, but failed to remove its directory', { podUID: uid, err: problem });
  tryFailed(state.housekeeping.retries, retry, turn.now);
}
