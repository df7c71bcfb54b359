// Performs the effects of pod workers, at once and in order, including the effects that follow, until none is left.
import type { Micros } from '../../../ports/micros.js';
import { unreachable } from '../../kernel/assert.js';
import { isPodBehind, readPodCache, readPodCacheIfNewer } from '../../pod-cache/pod-cache.js';
import type { PodWorkerEffect } from '../../pod-workers/effects.js';
import type { PodUpdate } from '../../pod-workers/pod-worker-record.js';
import { resyncInterval, runStatusRead } from '../../pod-workers/run-pod.js';
import { updatePod } from '../../pod-workers/update-pod.js';
import { isAlive } from '../../values/alive.js';
import type { AgentContext } from '../agent-context.js';
import { requestCleanUp } from '../housekeeping/requests.js';
import { requestPodRelist } from '../pleg/looks.js';
import { preemptionCompleted } from '../pod-admission/requests.js';
import { isAside } from '../set-aside/aside-pods.js';
import { takePodTurn } from '../sync-loop/pod-pace.js';
import { statusesArrived } from '../sync-loop/requests.js';
import { expectStep } from './kept-pods.js';
import { beginOperation, cancelOperation, logFailedSync } from './pod-operations.js';
import { asPodWorkers, type PodWorkersContext } from './slice.js';

/** The address whose wake-ups are the work queue: one time a pod, a new one replaces the old. */
export const syncMachine = 'sync';

export function syncAddress(uid: string): { readonly machine: typeof syncMachine; readonly key: string } {
  return { machine: syncMachine, key: uid };
}

/** Delivers an update to a pod's worker and carries out what follows. Nothing is done about a pod that is aside. */
export function dispatchUpdate(caller: AgentContext, update: PodUpdate): void {
  const context = asPodWorkers(caller);
  const uid = update.pod?.metadata.uid ?? update.runningPod?.uid ?? '';
  if (isAside(context.state, uid)) return;
  context.forPod(uid, () => {
    const effects: PodWorkerEffect[] = [];
    updatePod(context.state.workers, update, context.turn.now, (of) => runtimeMayBeActive(context, of), effects);
    carryOut(context, effects);
  });
}

/** Lets an operation happen that adds effects, then carries them out. */
export function withEffects(caller: AgentContext, happen: (effects: PodWorkerEffect[]) => void): void {
  const context = asPodWorkers(caller);
  const effects: PodWorkerEffect[] = [];
  happen(effects);
  carryOut(context, effects);
}

export function carryOut(context: PodWorkersContext, effects: PodWorkerEffect[]): void {
  for (let i = 0; i < effects.length; i++) {
    const effect = effects[i];
    if (effect === undefined) continue;
    if ('uid' in effect) context.forPod(effect.uid, () => carryOutOne(context, effect, effects));
    else carryOutOne(context, effect, effects);
  }
}

function carryOutOne(context: PodWorkersContext, effect: PodWorkerEffect, effects: PodWorkerEffect[]): void {
  const { state, turn } = context;
  switch (effect.kind) {
    case 'awaitStatus':
      // Before the first listing of the runtime no pod is known, so even a new worker waits for it.
      // A request to the runtime at the time when the last run ended was made after that end.
      expectStep(context, effect.uid, false);
      awaitStatus(context, effect.uid, effect.newerThan === null ? 0 : effect.newerThan - 1, effects);
      return;
    case 'start':
      expectStep(context, effect.uid, effect.operation.op === 'syncTerminatingPod' || effect.operation.op === 'syncTerminatingRuntimePod');
      beginOperation(context, effect.uid, effect.operation, effects);
      return;
    case 'cancel':
      cancelOperation(context, effect.uid, effects);
      return;
    case 'enqueue':
      turn.wakeAt(syncAddress(effect.uid), effect.rest === null ? turn.now + delayOf(context, effect.baseDelayMicros, effect.uid) : effect.rest.until);
      return;
    case 'postSync':
      requestPodRelist(context, effect.uid);
      return;
    case 'failedSync':
      context.event(effect.pod, null, 'Warning', 'FailedSync', effect.message);
      logFailedSync(context, effect.pod, effect.message);
      return;
    case 'complete':
      requestCleanUp(state);
      preemptionCompleted(state, effect.completion);
      return;
    default:
      unreachable(effect);
  }
}

function delayOf(context: PodWorkersContext, base: Micros, uid: string): Micros {
  const period = base === resyncInterval ? context.state.settings.syncFrequency : base;
  return Math.floor(period * (1 + 0.5 * context.turn.random('requeue', uid)));
}

function awaitStatus(context: PodWorkersContext, uid: string, newerThan: Micros, effects: PodWorkerEffect[]): void {
  const cached = readPodCacheIfNewer(context.state.cache, uid, newerThan);
  if (cached === null) {
    context.state.awaitingStatus.set(uid, newerThan);
    if (context.state.settings.runtimeSendsEvents) requestPodRelist(context, uid);
    return;
  }
  runStatusRead(context.state.workers, uid, cached.kind === 'failed' ? cached.error.message : null, context.turn.now, effects);
}

/** Resumes workers that no longer need to wait; null: check all of them. Those beyond this step's limit resume in the next. */
export function resumeAwaiting(caller: AgentContext, uids: readonly string[] | null): void {
  const context = asPodWorkers(caller);
  const { awaitingStatus } = context.state;
  if (awaitingStatus.size === 0) return;
  const effects: PodWorkerEffect[] = [];
  for (const uid of uids ?? [...awaitingStatus.keys()]) {
    const newerThan = awaitingStatus.get(uid);
    if (newerThan === undefined) continue;
    const cached = readPodCacheIfNewer(context.state.cache, uid, newerThan);
    if (cached === null) continue;
    if (!takePodTurn(context)) {
      statusesArrived(context.state);
      break;
    }
    awaitingStatus.delete(uid);
    context.forPod(uid, () => runStatusRead(context.state.workers, uid, cached.kind === 'failed' ? cached.error.message : null, context.turn.now, effects));
  }
  carryOut(context, effects);
}

/** Whether the cached status shows something that runs, or can't be read. */
function runtimeMayBeActive(context: PodWorkersContext, uid: string): boolean {
  const cached = readPodCache(context.state.cache, uid);
  if (cached.kind === 'failed' || isPodBehind(context.state.cache, uid)) return true;
  return isAlive(cached.status);
}
