// Reports a failed sandbox: an event, and the result of the sync's action. Reports nothing for a terminating pod.
import { podReferenceTextOf } from '../values/pod-references.js';
import { failed } from './action-result.js';
import type { SyncContext } from './sync-context.js';
import type { SyncRun } from './sync-run.js';

export function sandboxFailed(run: SyncRun, message: string, context: SyncContext): void {
  if (context.isTerminationRequested(run.uid)) {
    run.cancelled = true;
    return;
  }
  context.event(run.pod, null, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${message}`);
  run.results.push(
    failed('CreatePodSandbox', podReferenceTextOf(run.pod), 'CreatePodSandboxError', `Failed to create sandbox for pod ${JSON.stringify(podReferenceTextOf(run.pod))}: ${message}`),
  );
}
