// What happens to pods when their configuration, the runtime or a clock says something. Everything passes one gate: while the runtime
// can't be worked with, nothing is dispatched; what came meanwhile is kept in order and dispatched when it can.
import type { Pod } from '../../ports/model/pod.js';
import { plegProblem } from '../pleg/pleg.js';
import { areAllSourcesReady, markHandled, type PodDelivery } from '../pod-sources/pod-config.js';
import type { PodUpdateType } from '../pod-workers/pod-worker-record.js';
import { isPodTerminationRequested } from '../pod-workers/queries.js';
import { isTerminalPhase } from '../status/phase.js';
import { isMirrorPod } from '../values/pod-kind.js';
import { byCodeUnits } from '../values/text-order.js';
import type { AgentContext } from './agent-context.js';
import { admitPod } from './pod-admission.js';
import { podAndMirror, putPod, removePod, uidOf } from './pod-index.js';
import { runtimeProblems } from './runtime-readiness.js';
import { dispatchUpdate } from './worker-effects.js';

/** Why nothing is dispatched; null: the loop runs. */
export function loopProblem(context: AgentContext): string | null {
  const { readiness, pleg } = context.state;
  return runtimeProblems(readiness, plegProblem(pleg, context.turn.now), context.turn.now);
}

export function deliver(context: AgentContext, deliveries: readonly PodDelivery[]): void {
  context.state.backlog.deliveries.push(...deliveries);
  drain(context);
}

/** Syncs pods that something happened to. Unknown UIDs are nobody's: housekeeping deals with them. */
export function syncPods(context: AgentContext, uids: Iterable<string>): void {
  for (const uid of uids) context.state.backlog.syncs.add(uid);
  drain(context);
}

/** Dispatches what waits, if the gate is open. */
export function drain(context: AgentContext): void {
  const { backlog } = context.state;
  if (backlog.deliveries.length === 0 && backlog.syncs.size === 0) return;
  const problem = loopProblem(context);
  if (problem !== null) {
    context.turn.log('info', 'Skipping pod synchronization', { err: problem });
    return;
  }
  context.state.loopEnteredAt = context.turn.now;
  for (const delivery of backlog.deliveries.splice(0)) {
    handle(context, delivery);
    // Only now: before its pods are known to the workers, a source that counts as seen would let housekeeping kill them.
    markHandled(context.state.config, delivery.source);
    context.state.housekeeping.dirty = true;
  }
  const syncs = [...backlog.syncs];
  backlog.syncs.clear();
  for (const uid of syncs) {
    const pod = context.state.pods.pods.get(uid);
    if (pod !== undefined) update(context, 'sync', pod);
  }
}

function handle(context: AgentContext, delivery: PodDelivery): void {
  switch (delivery.op) {
    case 'ADD':
      for (const pod of [...delivery.pods].sort(byCreation)) add(context, pod);
      return;
    case 'UPDATE':
    case 'DELETE':
      for (const pod of delivery.pods) change(context, pod);
      return;
    case 'REMOVE':
      for (const pod of delivery.pods) remove(context, pod);
      return;
    case 'RECONCILE':
      for (const pod of delivery.pods) putPod(context.state.pods, pod);
      return;
  }
}

function add(context: AgentContext, pod: Pod): void {
  putPod(context.state.pods, pod);
  if (isMirrorPod(pod)) update(context, 'update', pod);
  else if (admitPod(context, pod)) update(context, 'create', pod);
}

function change(context: AgentContext, pod: Pod): void {
  putPod(context.state.pods, pod);
  update(context, 'update', pod);
}

function remove(context: AgentContext, pod: Pod): void {
  removePod(context.state.pods, pod);
  if (isMirrorPod(pod)) {
    update(context, 'update', pod);
    return;
  }
  if (!areAllSourcesReady(context.state.config)) {
    context.turn.log('info', "skipping delete because sources aren't ready yet", { podUID: uidOf(pod) });
    return;
  }
  dispatchUpdate(context, { type: 'kill', pod, mirrorPod: null, runningPod: null, killOptions: null, startTime: context.turn.now });
}

/** Gives a pod (or, for a mirror pod, the static pod behind it) to its worker. */
function update(context: AgentContext, type: PodUpdateType, given: Pod): void {
  const { pod, mirror } = podAndMirror(context.state.pods, given);
  if (pod === null) return;
  dispatchUpdate(context, { type, pod, mirrorPod: mirror, runningPod: null, killOptions: null, startTime: context.turn.now });
}

/** Pods that count for admission and are started again after a restart: not ended, not ending by a terminal phase. */
export function activePods(context: AgentContext): Pod[] {
  const { pods, workers, statuses } = context.state;
  return [...pods.pods.values()].filter((pod) => {
    const uid = uidOf(pod);
    if (workers.records.get(uid)?.terminatedAt != null) return false;
    const ended = isTerminalPhase(pod.status?.phase) || isTerminalPhase(statuses.get(uid)?.status.phase);
    return !ended || isPodTerminationRequested(workers, uid);
  });
}

function byCreation(a: Pod, b: Pod): number {
  return byCodeUnits(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') || byCodeUnits(uidOf(a), uidOf(b));
}
