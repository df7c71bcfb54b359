// Asking the runtime: for everything, or for one pod. What the answers mean is in relist.
//
// Looks go on side by side, a list beside them: a slow answer holds up its own pod alone.
// Invariants: one look at a pod at a time; a look that fails is asked for again after a pause that doubles.
import type { Micros } from '../../ports/micros.js';
import { isInspectionAwaited, isPodRelistDue } from '../pleg/pleg.js';
import type { AgentContext } from './agent-context.js';

export const relistAddress = { machine: 'relist', key: '' } as const;
export const podRelistMachine = 'relist-pod';
export const looksAddress = { machine: 'looks', key: '' } as const;
/** Pods looked at side by side; more wait. One that takes long doesn't count. */
const maxLooks = 32;
const longLook: Micros = 500_000;
const longestPause: Micros = 10_000_000;

/** Begins a look at everything; if one is under way, another one after it. */
export function beginRelist(context: AgentContext): void {
  const { relist, settings } = context.state;
  relist.again = relist.listing;
  if (relist.listing) return;
  context.turn.wakeAt(relistAddress, null);
  relist.listing = true;
  context.turn.ask('runtime.listPods', relistAddress, 'list', { uid: null }, settings.runtimeRequestTimeout);
}

/** Asks for a look at one pod soon. One request a pod is kept: the newest. */
export function requestPodRelist(context: AgentContext, uid: string): void {
  // What is aside is looked at by nobody.
  if (context.state.setAside.pods.get(uid)?.phase === 'aside') return;
  context.state.relist.requests.set(uid, context.turn.now);
  beginLooks(context);
}

/** Asks for a look at one pod when one that is polled would show what has just happened to it. */
export function planPodRelist({ turn, state }: AgentContext, uid: string): void {
  turn.wakeAt({ machine: podRelistMachine, key: uid }, turn.now + state.settings.relistPeriod);
}

/** A planned look is due; of a pod that is gone by now nobody wants to know. */
export function podRelistDue(context: AgentContext, uid: string): void {
  const { workers, pleg, setAside, relist } = context.state;
  const isWanted = workers.records.has(uid) || isInspectionAwaited(pleg, uid) || pleg.records.get(uid)?.reinspect === true;
  if (isWanted || setAside.pods.get(uid)?.phase === 'returning') requestPodRelist(context, uid);
  else relist.failures.delete(uid);
}

/** A listing has found the pod changed. One whose last look failed has its own time. */
export function requestInspection({ state, turn }: AgentContext, uid: string): void {
  const { relist } = state;
  if (!relist.looks.has(uid) && (relist.failures.get(uid)?.nextAt ?? 0) <= turn.now) relist.requests.set(uid, turn.now);
}

/** A look has failed: plans the next one. */
export function planLookAfterFailure({ state, turn }: AgentContext, uid: string): void {
  const { relist, settings } = state;
  const count = (relist.failures.get(uid)?.count ?? 0) + 1;
  const nextAt = turn.now + pauseAfter(count, settings.relistPeriod);
  relist.failures.set(uid, { count, nextAt });
  turn.wakeAt({ machine: podRelistMachine, key: uid }, nextAt);
}

/** How long to wait after the n-th failure in a row. */
export function pauseAfter(failures: number, shortest: Micros): Micros {
  return Math.min(shortest * 2 ** Math.min(failures - 1, 10), Math.max(longestPause, shortest));
}

/** Begins the looks that wait, as many as may go on at once. */
export function beginLooks(context: AgentContext): void {
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
    if (short >= maxLooks) {
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
