// A run's waits for claims: until they are prepared, before the sandbox is made, and until they are not any more, after the containers are dead.
import type { SyncContext } from './sync-context.js';
import type { StepOutcome, SyncRun, SyncStep } from './sync-run.js';

type ClaimStep = Extract<SyncStep, { kind: 'claims' }>;

export function awaitClaims(step: ClaimStep, run: SyncRun, context: SyncContext): StepOutcome {
  const { claims } = context;
  if (claims === null) return 'done';
  step.begun ||= step.to === 'prepare' ? claims.prepare(run.pod) : claims.unprepare(run.uid);
  if (!step.begun) return 'waiting';
  const progress = claims.progress(run.uid);
  if (progress.kind === 'waiting') return 'waiting';
  if (progress.error === null) return 'done';
  if (step.to === 'prepare' && context.isTerminationRequested(run.uid)) {
    run.cancelled = true;
    return 'ended';
  }
  if (step.to === 'prepare') context.event(run.pod, null, 'Warning', 'FailedPrepareDynamicResources', `Failed to prepare dynamic resources: ${progress.error}`);
  run.failure = progress.error;
  return 'ended';
}
