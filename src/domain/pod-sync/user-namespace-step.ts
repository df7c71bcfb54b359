// Ensures that the ids of a pod's user namespace are on disk before a sandbox or container is created with them.
//
//   files unread -> they are read -> reserved -> the pod's file is written -> done; a range that is on disk already is used again
//
// Invariant: `run.hostIds` is set only to the content of the pod's file on disk.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { writeUserNamespace } from '../checkpoints/small-state-files.js';
import { runtimeHandlerOf, supportsUserNamespaces } from '../containers/namespaces.js';
import type { PodInputs } from '../containers/sandbox-config.js';
import type { ReplyFor } from '../kernel/machine.js';
import { sandboxFailed } from './sandbox-failure.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { StepOutcome, SyncRun } from './sync-run.js';

export function decideUserNamespace(fresh: boolean, run: SyncRun, context: SyncContext): StepOutcome {
  const { turn, nodeFacts, userNamespaces } = context;
  if (run.hostIds !== null) return 'done';
  const handler = runtimeHandlerOf(run.pod, nodeFacts.runtimeClasses);
  // The sandbox's configuration reports the problem.
  if (!handler.ok || !supportsUserNamespaces(handler.value, nodeFacts.runtimeHandlers)) return 'done';
  const { uid } = run;
  if (!userNamespaces.known) {
    run.outstanding++;
    turn.ask('podDirectories.readUserNamespaces', podAddress(uid), 'userNamespaces', null);
    return 'waiting';
  }
  const range = userNamespaces.ofPod(uid, fresh);
  switch (range.kind) {
    case 'failed':
      sandboxFailed(run, range.message, context);
      return 'ended';
    case 'written':
      run.hostIds = range.ids;
      return 'done';
    case 'reserved':
      run.outstanding++;
      turn.ask('podDirectories.writeUserNamespace', podAddress(uid), 'userNamespace', { uid, text: writeUserNamespace(range.ids.hostId, range.ids.length) });
      return 'waiting';
  }
}

export function userNamespacesRead(run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'podDirectories.readUserNamespaces'>, context: SyncContext): void {
  if (outcome.ok) context.userNamespaces.taken(outcome.value);
  else userNamespaceFailed(run, `user namespace: read pods from disk: ${outcome.error.message}`, context);
}

export function userNamespaceWritten(run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'podDirectories.writeUserNamespace'>, context: SyncContext): void {
  if (outcome.ok) context.userNamespaces.written(run.uid);
  // The reservation stays: the file may exist nevertheless.
  else userNamespaceFailed(run, `create user namespace: ${outcome.error.message}`, context);
}

function userNamespaceFailed(run: SyncRun, failure: string, context: SyncContext): void {
  run.failure = failure;
  context.event(run.pod, null, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${failure}`);
}

/** Inputs of the configurations of the pod's sandbox and containers besides its object; undefined if none. */
export function sandboxInputs({ hostIds, uid }: SyncRun, { volumes, pinning }: SyncContext): PodInputs | undefined {
  const groups = volumes.groups(uid);
  const exclusiveCpus = pinning.liftsPodQuota(uid);
  if (hostIds === null && groups.length === 0 && !exclusiveCpus) return undefined;
  return {
    ...(hostIds === null ? {} : { userNamespaceMapping: { hostId: hostIds.hostId, length: hostIds.length } }),
    ...(groups.length === 0 ? {} : { volumeSupplementalGroups: groups }),
    ...(exclusiveCpus ? { exclusiveCpus } : {}),
  };
}
