// Resizes of running pods (KEP-1287): a request is allocated, deferred, or infeasible.
//
//   requests other resources -> Infeasible: the condition says why; nothing more until the request changes
//                           -> rejected by admission: Deferred, retried when resources may be free, and every 3 minutes
//                           -> fits after preemption: it waits for the victims' end
//                           -> allocated: recorded, ResizeStarted; the pod's worker actuates it
//
// Invariants: nothing is allocated before every source has reported; a pod whose request equals its allocation waits for nothing.
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import { areResourcesChanged } from '../../allocation/allocated-pod.js';
import { allocationMachine, conditionsOf, isAllocationKnown, type RetryTrigger, setConditions } from '../../allocation/allocation-state.js';
import { conditionsInApi, isNews, noResize, type ResizeConditions, withInProgress, withPending } from '../../allocation/resize-conditions.js';
import { countRequested } from '../../allocation/resize-counts.js';
import { infeasibleResize } from '../../allocation/resize-gate.js';
import { resizeOrder } from '../../allocation/resize-queue.js';
import { resizeMessage } from '../../allocation/resize-text.js';
import { areAllSourcesReady } from '../../pod-sources/pod-config.js';
import { podRequests } from '../../qos/pod-resources.js';
import { isTerminalPhase } from '../../status/phase.js';
import { isMirrorPod } from '../../values/pod-kind.js';
import { compareQuantities, zeroQuantity } from '../../values/quantity.js';
import type { AgentContext } from '../agent-context.js';
import { admitResize, preemptPods } from '../pod-admission/pod-admission.js';
import { podAndMirror, uidOf } from '../pod-manager/pod-index.js';
import { isActive } from '../pod-workers/active-pods.js';
import { dispatchUpdate } from '../pod-workers/worker-effects.js';
import { allocate, putAllocated } from './allocation.js';
import { readAllocation } from './allocation-files.js';
import { type AllocationManagerContext, asAllocationManager } from './slice.js';

const firstRetry: Micros = 30_000_000;
const retryPeriod: Micros = 180_000_000;
const retryAddress = { machine: allocationMachine, key: 'retry' } as const;

/** The agent begins. */
export function beginResizes({ state: { allocation }, turn }: AllocationManagerContext): void {
  allocation.retryAt = turn.now + firstRetry;
}

/** A pod was admitted, or existed before: resumes a resize that an earlier agent left unfinished. */
export function restoreResize(context: AgentContext, pod: Pod): void {
  const { state } = asAllocationManager(context);
  if (isMirrorPod(pod)) return;
  const { allocation } = state;
  const uid = uidOf(pod);
  const inApi = conditionsInApi(pod);
  if (inApi !== noResize && !allocation.conditions.has(uid)) allocation.conditions.set(uid, inApi);
  if (allocation.desired.has(uid)) allocation.pending.push(uid);
}

/** A pod's spec has changed. @param before with its previous requests */
export function noteUpdate(caller: AgentContext, before: Pod | undefined, after: Pod): void {
  const context = asAllocationManager(caller);
  const { allocation } = context.state;
  const uid = uidOf(after);
  if (isMirrorPod(after) || !allocation.allocated.has(uid)) return;
  if (before !== undefined && !areResourcesChanged(before, after, allocation.gates)) return;
  if (before !== undefined) countRequested(allocation.counters, before, after, allocation.gates);
  if (allocation.desired.has(uid)) {
    if (!allocation.pending.includes(uid)) allocation.pending.push(uid);
    allocation.pending = inOrder(context, allocation.pending);
    retryResizes(context, 'pod_updated');
  } else {
    allocation.pending = allocation.pending.filter((other) => other !== uid);
    setConditions(allocation, uid, withPending(conditionsOf(allocation, uid), null, context.turn.wall));
  }
}

/** The status of a pod has changed in the API: room may have come. */
export function noteStatus(context: AgentContext, before: Pod | undefined, after: Pod): void {
  if (context.state.allocation.pending.length === 0 || before === undefined) return;
  if (isTerminalPhase(after.status?.phase) && !isTerminalPhase(before.status?.phase)) retryResizes(context, 'pod_terminated');
  else if (hasShrunk(before, after)) retryResizes(context, 'pod_resized');
}

function hasShrunk(before: Pod, after: Pod): boolean {
  if (before.status === after.status) return false;
  const [then, now] = [before, after].map((pod) => podRequests(pod, { useStatus: true }));
  return (['cpu', 'memory'] as const).some((name) => compareQuantities(now?.get(name) ?? zeroQuantity, then?.get(name) ?? zeroQuantity) < 0);
}

/** At the end of a step: resumes resizes whose victims have ended, and plans the next retry. */
export function planResizes(context: AllocationManagerContext): void {
  const { state, turn } = context;
  const { allocation } = state;
  if (allocation.victims.size > 0 && madeRoom(context)) retryResizes(context, 'pod_terminated');
  const at = allocation.pending.length === 0 ? null : allocation.retryAt;
  if (at === allocation.plannedAt) return;
  allocation.plannedAt = at;
  turn.wakeAt(retryAddress, at === null ? null : Math.max(at, turn.now));
}

/** True: for one of the resizes all have ended. */
function madeRoom({ state }: AllocationManagerContext): boolean {
  let made = false;
  for (const [uid, victims] of state.allocation.victims) {
    for (const victim of victims) {
      const pod = state.pods.pods.get(victim);
      if (pod === undefined || !isActive(state, pod)) victims.delete(victim);
    }
    if (victims.size > 0) continue;
    state.allocation.victims.delete(uid);
    made = true;
  }
  return made;
}

/** Files that are due are written at the end of the step. */
export function allocationWoken(context: AllocationManagerContext, key: string): void {
  if (key === 'read') readAllocation(context);
  if (key !== retryAddress.key) return;
  context.state.allocation.plannedAt = null;
  retryResizes(context, 'periodic_retry');
}

/** Tries all that wait, in their order. */
export function retryResizes(caller: AgentContext, trigger: RetryTrigger): void {
  const context = asAllocationManager(caller);
  const { state, turn } = context;
  const { allocation } = state;
  if (allocation.pending.length === 0) return;
  if (!isAllocationKnown(allocation) || !areAllSourcesReady(state.config)) {
    if (trigger === 'periodic_retry') allocation.retryAt = turn.now + firstRetry;
    return;
  }
  allocation.retryAt = turn.now + retryPeriod;
  const tried = inOrder(context, allocation.pending);
  allocation.pending = [];
  const left = tried.filter((uid) => tryResize(context, uid, trigger));
  allocation.pending = [...left, ...allocation.pending.filter((uid) => !left.includes(uid))];
}

function inOrder({ state }: AllocationManagerContext, uids: readonly string[]): string[] {
  const { allocation, pods } = state;
  return resizeOrder(
    [...new Set(uids)].flatMap((uid) => {
      const [desired, allocated] = [allocation.desired.get(uid), pods.pods.get(uid)];
      return desired === undefined || allocated === undefined ? [] : [{ uid, desired, allocated, pending: conditionsOf(allocation, uid).pending }];
    }),
  );
}

/** True: it waits on. */
function tryResize(context: AllocationManagerContext, uid: string, trigger: RetryTrigger): boolean {
  const { state } = context;
  const { allocation } = state;
  const [desired, allocated] = [allocation.desired.get(uid), state.pods.pods.get(uid)];
  if (desired === undefined || allocated === undefined || !isActive(state, allocated)) return false;
  if (allocation.victims.has(uid)) return true;
  const before = conditionsOf(allocation, uid);
  const infeasible = infeasibleResize({ desired, allocated, facts: state.nodeFacts, gates: allocation.gates, ...managerPolicies(state) });
  if (infeasible !== null) {
    count(allocation.counters.infeasible, infeasible.detail);
    defer(context, desired, 'Infeasible', 'Infeasible', infeasible.message);
  } else {
    const answer = admitResize(context, desired);
    if (answer.kind === 'rejected') defer(context, desired, 'Deferred', answer.reason, answer.message);
    else if (answer.preempted.length > 0) {
      preemptPods(context, answer.preempted, answer.lacking, null);
      allocation.victims.set(uid, new Set(answer.preempted.map(uidOf)));
      return true;
    } else grant(context, desired, before, trigger);
  }
  if (conditionsOf(allocation, uid) !== before || !allocation.desired.has(uid)) syncNow(context, uid);
  return infeasible === null && allocation.desired.has(uid);
}

function defer(context: AllocationManagerContext, pod: Pod, reason: 'Deferred' | 'Infeasible', headline: string, message: string): void {
  const { allocation } = context.state;
  const uid = uidOf(pod);
  const generation = pod.metadata.generation ?? 0;
  const before = conditionsOf(allocation, uid);
  const after = withPending(before, { reason, message, generation }, context.turn.wall);
  setConditions(allocation, uid, after);
  if (!isNews(before.pending, after.pending)) return;
  const event = reason === 'Infeasible' ? 'ResizeInfeasible' : 'ResizeDeferred';
  context.event(pod, null, 'Warning', event, resizeMessage(headline, pod, allocation.gates, generation));
}

function grant(context: AllocationManagerContext, pod: Pod, before: ResizeConditions, trigger: RetryTrigger): void {
  const { state, turn } = context;
  const { allocation } = state;
  const uid = uidOf(pod);
  const generation = pod.metadata.generation ?? 0;
  allocate(allocation, pod);
  if (!allocation.resized.has(uid)) allocation.resized.set(uid, -1);
  putAllocated(state, pod);
  // An earlier resize's failure doesn't apply to this one.
  setConditions(allocation, uid, withInProgress(noResize, { reason: '', message: '', generation }, turn.wall));
  if (before.pending?.reason === 'Deferred') count(allocation.counters.deferredAccepted, trigger);
  context.event(pod, null, 'Normal', 'ResizeStarted', resizeMessage('started', pod, allocation.gates, generation));
}

function syncNow(context: AllocationManagerContext, uid: string): void {
  const { state, turn } = context;
  const allocated = state.pods.pods.get(uid);
  if (allocated === undefined) return;
  const { pod, mirror } = podAndMirror(state.pods, allocated);
  if (pod !== null) dispatchUpdate(context, { type: 'sync', pod, mirrorPod: mirror, runningPod: null, killOptions: null, startTime: turn.now });
}

function managerPolicies({ settings: { alignment } }: AllocationManagerContext['state']) {
  return { cpuManagerPolicy: alignment?.cpuManagerPolicy ?? 'none', memoryManagerPolicy: alignment?.memoryManagerPolicy ?? 'None' };
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
