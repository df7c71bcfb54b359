// A run's waits for the volume manager: until its volumes are mounted, and until they are torn down.
import { attachmentLimitReason } from '../volume-manager/attach-limits.js';
import { volumePatience } from '../volume-manager/volume-waiting.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { StepOutcome, SyncRun } from './sync-run.js';
import type { VolumeWait } from './volume-wait.js';

export function awaitVolumes(wait: VolumeWait, run: SyncRun, context: SyncContext): StepOutcome {
  const { turn, volumes } = context;
  const isNew = wait.since === null;
  wait.since ??= turn.now;
  // Always requested: it covers all changes up to now.
  const hasChanged = context.apiData?.takeChanged(run.uid) === true;
  if (isNew) volumes.want(run.uid, run.pod);
  if (hasChanged) volumes.refresh(run.uid);
  const state = volumes.state(run.uid, turn.now - wait.since);
  switch (state.kind) {
    case 'mounted':
      context.podPrepared(run);
      return 'done';
    case 'waiting':
      turn.wakeAt(podAddress(run.uid), wait.since + volumePatience);
      return 'waiting';
    case 'failed':
      switch (volumes.attachmentLimit(run.uid)) {
        case 'looking':
          return 'waiting';
        case 'exceeded':
          run.failure = state.message;
          context.refuse(run, attachmentLimitReason, `Node has reached its volume attachment limit, rejecting pod. ${state.message}`);
          return 'ended';
        case 'none':
          break;
      }
      run.failure = state.message;
      if (state.hasEvents) context.event(run.pod, null, 'Warning', 'FailedMount', `Unable to attach or mount volumes: ${state.message}`);
      return 'ended';
  }
}

export function awaitUnmount(wait: VolumeWait, run: SyncRun, { turn, volumes }: SyncContext): StepOutcome {
  if (wait.since === null) {
    wait.since = turn.now;
    volumes.release(run.uid);
  }
  const waited = turn.now - wait.since;
  let state = volumes.releaseState(run.uid, waited);
  if (state.kind === 'forgotten') {
    // The release of an earlier pod with this UID has ended; looks up the current volumes.
    volumes.release(run.uid);
    state = volumes.releaseState(run.uid, waited);
  }
  if (state.kind === 'mounted') return 'done';
  if (state.kind === 'failed') {
    run.failure = state.message;
    return 'ended';
  }
  turn.wakeAt(podAddress(run.uid), wait.since + volumePatience);
  return 'waiting';
}
