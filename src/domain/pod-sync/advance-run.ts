// Advances a run of a pod operation until it waits for answers or ends.
//
//   begin -> [step, step, ...] -> end: no step left, a step that ended it, a failure, or cancelled with nothing in flight

import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { assert } from '../kernel/assert.js';
import type { Reply } from '../kernel/machine.js';
import type { PodRest } from '../pod-workers/effects.js';
import type { RunResult } from '../pod-workers/run-pod.js';
import { type ActionResult, errorOfResults, retryTimes } from './action-result.js';
import { applyPostStartReply, leaveStartImage } from './container-start.js';
import { leaveImageVolumes } from './image-volumes.js';
import { type HookReply, hookAddress, hookSlot } from './lifecycle-hook.js';
import { applyPreStopReply } from './pod-kill.js';
import { podAddress, type SyncContext } from './sync-context.js';
import { killOf, type SyncRun } from './sync-run.js';
import { applyStepReply, decideStep, leaveImageAhead } from './sync-steps.js';

/** Performs steps until one waits. True: the run has ended, call `resultOfRun`. */
export function advanceRun(run: SyncRun, context: SyncContext): boolean {
  for (;;) {
    if (run.outstanding > 0 && !isKilling(run)) return false;
    if (run.outstanding === 0 && (run.cancelled || run.failure !== null)) return true;
    const step = run.steps[0];
    if (step === undefined) return true;
    const outcome = decideStep(step, run, context);
    if (outcome === 'waiting') return false;
    if (outcome === 'ended') return true;
    run.steps.shift();
  }
}

/** While several containers are stopped side by side, each answer may give the next one its turn. */
function isKilling(run: SyncRun): boolean {
  return !run.cancelled && killOf(run.steps[0]) !== null;
}

/** Handles an answer; true if the run has ended. */
export function runReplied(run: SyncRun, reply: Reply<AgentOperations>, context: SyncContext): boolean {
  assert(run.outstanding > 0, 'a pod got an answer that it does not wait for', run.uid);
  run.outstanding--;
  const step = run.steps[0];
  assert(step !== undefined, 'a pod got an answer without a step', run.uid);
  applyStepReply(step, run, reply, context);
  return advanceRun(run, context);
}

/** Handles an answer to one of the pod's hooks; true if the run has ended. Ignores answers to abandoned hooks. */
export function hookReplied(run: SyncRun, reply: HookReply, context: SyncContext): boolean {
  const step = run.steps[0];
  const kill = killOf(step);
  if (kill !== null) applyPreStopReply(kill, reply, context);
  else if (step?.kind === 'start') applyPostStartReply(step.start, run, reply, context);
  return advanceRun(run, context);
}

/** Cancels the run: starts no new step, abandons a stop or a postStart hook in flight, doesn't wait for images, and waits for all other commands. */
export function cancelRun(run: SyncRun, context: SyncContext): void {
  run.cancelled = true;
  const step = run.steps[0];
  leaveImageAhead(run, context);
  if (step?.kind === 'start') {
    leaveStartImage(step.start, context);
    context.turn.cancel(hookAddress(run.uid), hookSlot('postStart', step.start.containerId));
  }
  if (step?.kind === 'imageVolumes') leaveImageVolumes(step.pulls, context);
  if (step?.kind === 'kill') for (const { containerId } of step.kill.items) context.turn.cancel(podAddress(run.uid), `stop/${containerId}`);
}

export function resultOfRun(run: SyncRun): RunResult {
  if (run.cancelled) return { error: { kind: 'cancelled', message: 'context canceled', backOffExpiries: [] }, podIsTerminal: false, postSync: false, rest: null };
  const message = run.failure ?? errorOfResults(run.results);
  const postSync = run.operation.op === 'syncPod' && run.results.some(({ error }) => error === null);
  const rest = run.operation.op === 'syncPod' && run.failure === null ? restOf(run.results) : null;
  if (message === null) return { error: null, podIsTerminal: run.podIsTerminal, postSync, rest };
  return { error: { kind: run.isNetworkMissing ? 'network' : 'failed', message, backOffExpiries: retryTimes(run.results) }, podIsTerminal: false, postSync, rest };
}

/** A run without actions, or with only pending back-offs, has a time to resume. */
function restOf(results: readonly ActionResult[]): PodRest | null {
  let until: Micros | null = null;
  for (const { error } of results) {
    if (error?.retryAt == null) return null;
    until = until === null ? error.retryAt : Math.min(until, error.retryAt);
  }
  return { until };
}
