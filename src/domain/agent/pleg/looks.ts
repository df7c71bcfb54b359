// Requests to the runtime: for everything, or for one pod. relist processes the answers.
//
// Inspections run concurrently, also with a listing: a slow answer delays only its own pod.
// Invariants: one inspection of a pod at a time; a failed one is retried after a pause that doubles.
import type { Micros } from '../../../ports/micros.js';
import { doubledPause } from '../../backoff/doubled-pause.js';
import { isInspectionAwaited, isPodRelistDue } from '../../pleg/pleg.js';
import type { AgentContext } from '../agent-context.js';
import { asPleg, type PlegContext } from './slice.js';

export const relistAddress = { machine: 'relist', key: '' } as const;
export const podRelistMachine = 'relist-pod';
export const looksAddress = { machine: 'looks', key: '' } as const;
/** Concurrent inspections; more wait. A slow one doesn't count. */
const maxConcurrentRelists = 32;
const longLook: Micros = 500_000;
const longestPause: Micros = 10_000_000;

/** Begins a complete listing; if one is in progress, another one follows it. */
export function beginRelist(context: PlegContext): void {
  const { relist, settings } = context.state;
  relist.again = relist.listing;
  if (relist.listing) return;
  context.turn.wakeAt(relistAddress, null);
  relist.listing = true;
  context.turn.ask('runtime.listPods', relistAddress, 'list', { uid: null }, settings.runtimeRequestTimeout);
}

/** Requests an inspection of one pod. One request a pod is kept: the newest. */
export function requestPodRelist(caller: AgentContext, uid: string): void {
  const context = asPleg(caller);
  // Pods that are set aside are not inspected.
  if (context.state.setAside.pods.get(uid)?.phase === 'aside') return;
  context.state.relist.requests.set(uid, context.turn.now);
  beginLooks(context);
}

/** Plans an inspection of one pod for when a poll would show its latest change. */
export function planPodRelist({ turn, state }: AgentContext, uid: string): void {
  turn.wakeAt({ machine: podRelistMachine, key: uid }, turn.now + state.settings.relistPeriod);
}

/** A planned inspection is due; drops it for a removed pod. */
export function podRelistDue(context: PlegContext, uid: string): void {
  const { workers, pleg, setAside, relist } = context.state;
  const isWanted = workers.records.has(uid) || isInspectionAwaited(pleg, uid) || pleg.records.get(uid)?.reinspect === true;
  if (isWanted || setAside.pods.get(uid)?.phase === 'returning') requestPodRelist(context, uid);
  else relist.failures.delete(uid);
}

/** A listing has found the pod changed. One whose last inspection failed has a retry time. */
export function requestInspection({ state, turn }: PlegContext, uid: string): void {
  const { relist } = state;
  if (!relist.looks.has(uid) && (relist.failures.get(uid)?.nextAt ?? 0) <= turn.now) relist.requests.set(uid, turn.now);
}

/** An inspection has failed: plans the next one. */
export function planLookAfterFailure({ state, turn }: PlegContext, uid: string): void {
  const { relist, settings } = state;
  const count = (relist.failures.get(uid)?.count ?? 0) + 1;
  const nextAt = turn.now + pauseAfter(count, settings.relistPeriod);
  relist.failures.set(uid, { count, nextAt });
  turn.wakeAt({ machine: podRelistMachine, key: uid }, nextAt);
}

/** How long to wait after the n-th failure in a row. */
export function pauseAfter(failures: number, shortest: Micros): Micros {
  return doubledPause(shortest, Math.max(longestPause, shortest), failures - 1);
}

/** Begins waiting inspections, up to the concurrency limit. */
export function beginLooks(context: PlegContext): void {
  const { state, turn } = context;
  const { relist, pleg } = state;
  if (relist.requests.size === 0) return;
  let short = 0;
  let nextLong = Number.POSITIVE_INFINITY;
  for (const askedAt of relist.looks.values()) {
    if (askedAt + longLook <= turn.now) continue;
    short++;
    nextLong = Math.min(nextLong, askedAt + longLook);
  }
  for (const [uid, requestedAt] of relist.requests) {
    if (relist.looks.has(uid)) continue;
    if (short >= maxConcurrentRelists) {
      turn.wakeAt(looksAddress, nextLong);
      return;
    }
    relist.requests.delete(uid);
    if (!isPodRelistDue(pleg, requestedAt) && !isInspectionAwaited(pleg, uid)) continue;
    relist.looks.set(uid, turn.now);
    short++;
    nextLong = Math.min(nextLong, turn.now + longLook);
    context.forPod(uid, () => turn.ask('runtime.inspectPod', relistAddress, `look/${uid}`, { uid }, state.settings.runtimeRequestTimeout));
  }
}
