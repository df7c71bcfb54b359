// Dispatches pods on changes of their configuration, the runtime or a clock. Everything passes one gate: while the runtime
// is unusable, nothing is dispatched; changes are queued in order until it is usable.
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import { featuresNeededByUpdate } from '../../admission/needed-features.js';
import { missingFeatures } from '../../admission/node-support.js';
import { isAllocationKnown } from '../../allocation/allocation-state.js';
import { evictedReason } from '../../eviction/eviction.js';
import { plegProblem } from '../../pleg/pleg.js';
import { areAllSourcesReady, type DeliveryOp, type PodDelivery } from '../../pod-sources/pod-config.js';
import type { PodUpdateType } from '../../pod-workers/pod-worker-record.js';
import { isPodTerminationRequested } from '../../pod-workers/queries.js';
import { isTerminalPhase } from '../../status/phase.js';
import { needsReadinessReconcile } from '../../status/status-manager.js';
import { isMirrorPod } from '../../values/pod-kind.js';
import { byCodeUnits } from '../../values/text-order.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { desiredPod, putAllocated, recordAdmitted } from '../allocation-manager/allocation.js';
import { noteStatus, noteUpdate, restoreResize, retryResizes } from '../allocation-manager/resizes.js';
import { noteNodeCgroups } from '../cgroups/node-cgroups.js';
import { removeDeadContainers } from '../container-gc/dead-containers.js';
import { noteDelivered } from '../housekeeping/clean-up-needs.js';
import { requestCleanUp } from '../housekeeping/requests.js';
import type { AnswerOf } from '../part.js';
import { admissionReplied, admitPod, forgetAdmission, stillWaits } from '../pod-admission/pod-admission.js';
import { deliveryHandled } from '../pod-config/requests.js';
import { removeFromIndex } from '../pod-manager/indexed-pods.js';
import { podAndMirror, uidOf } from '../pod-manager/pod-index.js';
import { operationWoken } from '../pod-workers/pod-operations.js';
import { syncUnwanted } from '../pod-workers/requests.js';
import { dispatchUpdate, resumeAwaiting, withEffects } from '../pod-workers/worker-effects.js';
import { runtimeProblems } from '../runtime-state/runtime-readiness.js';
import { isAside } from '../set-aside/aside-pods.js';
import { keepAside, takeReturned } from '../set-aside/set-aside.js';
import { resumeVolumes } from '../volume-manager/requests.js';
import type { WaitingDelivery } from './backlog.js';
import { endPodTurns, takePodTurn } from './pod-pace.js';
import { asSyncLoop, type SyncLoopContext } from './slice.js';

/** For more pods, receiving, comparing and sorting a list is enough for one step. */
const manyPods = 16;

/** Why nothing is dispatched; null: the loop runs. */
export function loopProblem({ state, turn }: AgentContext): string | null {
  return loopProblemAt(state, turn.now);
}

/** As `loopProblem`, for a checker. */
export function loopProblemAt({ readiness, pleg }: AgentView, now: Micros): string | null {
  return runtimeProblems(readiness, plegProblem(pleg, now), now);
}

export function deliver(caller: AgentContext, deliveries: readonly PodDelivery[]): void {
  const context = asSyncLoop(caller);
  let count = 0;
  for (const { op, source, pods } of deliveries) {
    context.state.backlog.deliveries.push({ op, source, pods, inOrder: op !== 'ADD' });
    count += pods.length;
  }
  if (count > manyPods) endPodTurns(context);
  drain(context);
}

/** Syncs pods that something happened to, and ends those that their source has no more. */
export function syncPods(caller: AgentContext, uids: Iterable<string>): void {
  const context = asSyncLoop(caller);
  for (const uid of uids) context.state.backlog.syncs.add(uid);
  drain(context);
}

/** Processes waiting work: resumes runs, and dispatches new changes if the gate is open. */
export function drain(caller: AgentContext): void {
  const context = asSyncLoop(caller);
  resumeWaitingPods(context);
  const { backlog } = context.state;
  if (backlog.deliveries.length === 0 && backlog.syncs.size === 0) return;
  // What pods were granted is read from disk at the start.
  if (!isAllocationKnown(context.state.allocation)) return;
  const problem = loopProblem(context);
  if (problem !== null) {
    context.turn.log('error', 'Skipping pod synchronization', { err: problem });
    return;
  }
  context.state.loopEnteredAt = context.turn.now;
  for (let delivery = backlog.deliveries.shift(); delivery !== undefined; delivery = backlog.deliveries.shift()) {
    const rest = handle(context, delivery);
    if (rest.length > 0) {
      backlog.deliveries.unshift({ source: delivery.source, op: delivery.op, pods: rest, inOrder: true });
      return;
    }
    // Only now: if a source counted as seen before its pods are known to the workers, housekeeping would kill them.
    deliveryHandled(context.state, delivery.source);
    if (delivery.op === 'ADD') retryResizes(context, 'pods_added');
    if (delivery.op === 'REMOVE') retryResizes(context, 'pods_removed');
  }
  for (const uid of backlog.syncs) {
    const pod = context.state.pods.pods.get(uid);
    if (pod !== undefined && !takePodTurn(context)) return;
    backlog.syncs.delete(uid);
    if (pod === undefined) context.forPod(uid, () => withEffects(context, (effects) => syncUnwanted(context, uid, effects)));
    else if (!stillWaits(context, pod) && !isRefused(context, uid)) context.forPod(uid, () => update(context, 'sync', pod));
  }
}

/** A refused pod that no worker has gets none: its status is final, and there is nothing of it to sync. */
function isRefused({ state: { admission, workers } }: SyncLoopContext, uid: string): boolean {
  return admission.rejected.has(uid) && !workers.records.has(uid);
}

/** Resumes runs and volumes whose condition is fulfilled: an image, data, a status. */
export function resumeWaitingPods(context: SyncLoopContext): void {
  const { backlog } = context.state;
  if (backlog.woken.size === 0 && !backlog.statusesCame) return;
  // Each may begin with the next image, and have it at once.
  for (const uid of backlog.woken) {
    if (!takePodTurn(context)) return;
    backlog.woken.delete(uid);
    context.forPod(uid, () => {
      resumeVolumes(context, uid);
      withEffects(context, (effects) => operationWoken(context, uid, effects));
    });
  }
  if (!backlog.statusesCame) return;
  backlog.statusesCame = false;
  resumeAwaiting(context, null);
}

/** Returns the pods left for the next step. */
function handle(context: SyncLoopContext, delivery: WaitingDelivery): readonly Pod[] {
  const pods = delivery.inOrder ? delivery.pods : inOrderOfAdmission(context, delivery.pods);
  for (const [i, pod] of pods.entries()) {
    // A mere status update is cheap.
    if (delivery.op !== 'RECONCILE' && !takePodTurn(context)) return pods.slice(i);
    context.forPod(podUidOf(context, pod), () => handleOne(context, delivery, pod));
  }
  return [];
}

/** The uid of the static pod behind a mirror. */
export function podUidOf(caller: AgentContext, pod: Pod): string {
  const context = asSyncLoop(caller);
  return isMirrorPod(pod) ? uidOf(podAndMirror(context.state.pods, pod).pod ?? pod) : uidOf(pod);
}

function handleOne(context: SyncLoopContext, { op, source }: Pick<PodDelivery, 'op' | 'source'>, pod: Pod): void {
  if (isAside(context.state, uidOf(pod))) {
    keepAside(context, op, source, pod);
    noteNodeCgroups(context.state, uidOf(pod));
    return;
  }
  handleByOp(context, op, pod);
  noteDelivered(context, op, pod);
}

/** Pods that return and whose containers are known by now are delivered as new ones, or ended if their object was removed. */
export function deliverReturned(caller: AgentContext): void {
  const context = asSyncLoop(caller);
  if (context.state.setAside.pods.size === 0) return;
  for (const { pod, removed, source } of takeReturned(context)) {
    if (pod !== null) context.state.backlog.deliveries.push({ op: 'ADD', source, pods: [pod], inOrder: true });
    else if (removed !== null) context.state.backlog.deliveries.push({ op: 'REMOVE', source, pods: [removed], inOrder: true });
    requestCleanUp(context.state);
    drain(context);
  }
}

function handleByOp(context: SyncLoopContext, op: DeliveryOp, pod: Pod): void {
  switch (op) {
    case 'ADD':
      add(context, pod);
      return;
    case 'UPDATE':
    case 'DELETE':
      change(context, pod);
      return;
    case 'REMOVE':
      remove(context, pod);
      return;
    case 'RECONCILE':
      reconcile(context, pod);
      return;
  }
}

function add(context: SyncLoopContext, given: Pod): void {
  const pod = putAllocated(context.state, given);
  if (isMirrorPod(pod)) update(context, 'update', pod);
  else if (isOver(context, pod)) update(context, 'create', pod);
  else admitAgain(context, pod);
}

/** The condition of a pending admission is fulfilled: preemption is done, or the node was read. */
export function admitAgain(caller: AgentContext, pod: Pod): void {
  const context = asSyncLoop(caller);
  if (!admitPod(context, pod)) return;
  recordAdmitted(context.state, pod);
  restoreResize(context, pod);
  update(context, 'create', pod);
}

/** The node was read for a pod that waits for its admission. */
export function nodeRead(context: AgentContext, uid: string, answer: AnswerOf<'apiReader.get'>): void {
  const pod = admissionReplied(context, uid, answer);
  if (pod !== null) admitAgain(context, pod);
}

function isOver(context: SyncLoopContext, pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined || isPodTerminationRequested(context.state.workers, uidOf(pod)) || isTerminalPhase(pod.status?.phase);
}

function change(context: SyncLoopContext, pod: Pod): void {
  const { pods, settings } = context.state;
  const before = desiredPod(context.state, uidOf(pod));
  putAllocated(context.state, pod);
  const missing = before === undefined || isMirrorPod(pod) ? null : missingFeatures(featuresNeededByUpdate(before, pod), settings.declaredFeatures);
  if (missing !== null) context.event(pod, null, 'Warning', 'FailedNodeDeclaredFeaturesCheck', missing);
  noteUpdate(context, before, pod);
  if (!stillWaits(context, pod)) update(context, 'update', isMirrorPod(pod) ? pod : (pods.pods.get(uidOf(pod)) ?? pod));
}

/** Only its status changed, by this agent or by others. */
function reconcile(context: SyncLoopContext, given: Pod): void {
  const before = context.state.pods.pods.get(uidOf(given));
  const pod = putAllocated(context.state, given);
  if (isMirrorPod(pod)) return;
  noteStatus(context, before, pod);
  if (needsReadinessReconcile(pod)) update(context, 'sync', pod);
  if (pod.status?.phase === 'Failed' && pod.status.reason === evictedReason) removeDeadContainers(context, uidOf(pod));
}

function remove(context: SyncLoopContext, pod: Pod): void {
  removeFromIndex(context.state, pod);
  if (isMirrorPod(pod)) {
    update(context, 'update', pod);
    return;
  }
  forgetAdmission(context, uidOf(pod));
  if (!areAllSourcesReady(context.state.config)) {
    context.turn.log('info', "skipping delete because sources aren't ready yet", { podUID: uidOf(pod) });
    return;
  }
  dispatchUpdate(context, { type: 'kill', pod, mirrorPod: null, runningPod: null, killOptions: null, startTime: context.turn.now });
}

/** Gives a pod (or, for a mirror pod, the static pod behind it) to its worker. */
function update(context: SyncLoopContext, type: PodUpdateType, given: Pod): void {
  const { pod, mirror } = podAndMirror(context.state.pods, given);
  if (pod === null) return;
  dispatchUpdate(context, { type, pod, mirrorPod: mirror, runningPod: null, killOptions: null, startTime: context.turn.now });
}

/** What runs comes before what wants to: after a restart nothing that runs is refused for a newcomer. */
function inOrderOfAdmission({ state }: SyncLoopContext, pods: readonly Pod[]): Pod[] {
  const { pleg } = state;
  const runs = (pod: Pod): boolean => isAside(state, uidOf(pod)) || pleg.records.get(uidOf(pod))?.listed?.containers.some(({ state }) => state === 'running') === true;
  const [running, others]: [Pod[], Pod[]] = [[], []];
  for (const pod of pods) (runs(pod) ? running : others).push(pod);
  return [...running.sort(byCreation), ...others.sort(byCreation)];
}

function byCreation(a: Pod, b: Pod): number {
  return byCodeUnits(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') || byCodeUnits(uidOf(a), uidOf(b));
}
