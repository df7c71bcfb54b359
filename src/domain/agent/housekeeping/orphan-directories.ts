// Removes the directories of unknown pods, after their volumes: a killed agent may have mounted
// something for a pod that no longer existed when the next agent started.
//
//   found by housekeeping -> volumes are torn down, as long as that takes -> the directory is removed -> forgotten;
//   a failure is retried by a pass, after a pause that doubles

import { tryFailed, trySucceeded } from '../../backoff/retry-pauses.js';
import { releaseRange } from '../../user-namespaces/user-namespaces.js';
import { hostCallLimit } from '../../values/host-call-limit.js';
import { forgetRelease, releaseVolumes } from '../../volume-manager/release-volumes.js';
import { releaseState } from '../../volume-manager/volume-waiting.js';
import type { AgentContext } from '../agent-context.js';
import type { AnswerOf } from '../part.js';
import { syncAddress } from '../pod-workers/worker-effects.js';

export const orphanMachine = 'orphan';

export function removeOrphanDirectory(context: AgentContext, uid: string): void {
  const { orphans, volumes } = context.state;
  if (orphans.has(uid)) return;
  orphans.add(uid);
  context.forPod(uid, () => releaseVolumes(volumes, uid, context));
}

export function orphanRemoved(context: AgentContext, uid: string, { outcome }: AnswerOf<'podDirectories.remove'>): void {
  if (context.state.orphans.has(uid)) end(context, uid, outcome.ok ? null : outcome.error.message);
}

export function orphanVolumesChanged(context: AgentContext, uid: string): void {
  const { state, turn } = context;
  const address = { machine: orphanMachine, key: uid };
  if (turn.inFlight(address, 'directory')) return;
  const left = releaseState(state.volumes, uid, 0);
  if (left.kind === 'forgotten') releaseVolumes(state.volumes, uid, context);
  else if (left.kind === 'mounted') turn.ask('podDirectories.remove', address, 'directory', { uid }, hostCallLimit);
  else if (left.kind === 'failed') end(context, uid, left.message);
}

function end(context: AgentContext, uid: string, problem: string | null): void {
  const { state, turn } = context;
  state.orphans.delete(uid);
  forgetRelease(state.volumes, uid, context);
  // A pod of this UID that came meanwhile waits for this.
  if (state.pods.pods.has(uid)) turn.wakeAt(syncAddress(uid), turn.now);
  const retry = `directory/${uid}`;
  if (problem === null) {
    trySucceeded(state.housekeeping.retries, retry);
    releaseRange(state.userNamespaces, uid);
    return;
  }
  turn.log('warn', 'Orphaned pod found, but failed to remove its directory', { podUID: uid, err: problem });
  tryFailed(state.housekeeping.retries, retry, turn.now);
}
