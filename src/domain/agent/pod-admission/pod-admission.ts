// Admission of new pods. Decided once, before a pod has a worker; a refused pod never gets one for running.
//
//   new -> admitted: it gets its worker
//       -> refused: an event and a Failed status, nothing else
//       -> pending: others are preempted for it, or the node is read again -> decided again
//       -> it ran before this agent started: it was admitted before, and continues
//
// Invariants: a running pod isn't admitted again, even after changes of the node; a refused pod doesn't count from then on; a pending
// one has no worker, but counts, so that no other pod takes the resources being freed for it; mirror pods, and terminated or terminating
// pods, skip admission.

import type { Node } from '../../../ports/model/node.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { PodStatus } from '../../../ports/model/pod-status.js';
import { type Admission, admitted, type Rejection, rejected, rejectionMetricLabel, rejectionStatusMessage } from '../../admission/admission-result.js';
import { admitAppArmor, admitDeclaredFeatures, admitPodLevelResources } from '../../admission/node-support.js';
import { admitByPredicates, type PredicateResult } from '../../admission/predicates.js';
import { admitUnderPressure } from '../../admission/pressure-gate.js';
import { admitSysctls, parseSysctlAllowlist, type SysctlAllowlist } from '../../admission/sysctl-gate.js';
import { answeredObject } from '../../api-data/typed-object.js';
import { assert } from '../../kernel/assert.js';
import { admitDuringShutdown } from '../../node-shutdown/shutdown-groups.js';
import { preemptedConditionMessage, preemptingMessage, preemptingReason } from '../../preemption/preemption.js';
import { podQosClass } from '../../qos/qos-class.js';
import { derived } from '../../values/derived.js';
import type { AgentContext } from '../agent-context.js';
import { noteNodeCgroups } from '../cgroups/node-cgroups.js';
import { forgetEvicted } from '../eviction-manager/requests.js';
import type { AnswerOf } from '../part.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { activePods } from '../pod-workers/active-pods.js';
import { expectEnd } from '../pod-workers/overdue-kills.js';
import { dispatchUpdate } from '../pod-workers/worker-effects.js';
import { ownNode } from '../reflectors/api-state.js';
import { alignPod } from '../resource-managers/alignment.js';
import { noteAlignmentChange } from '../resource-managers/cpu-reconcile.js';
import { forgetPodHints } from '../resource-managers/requests.js';
import { asideUids } from '../set-aside/aside-pods.js';
import type { AgentSettings } from '../settings.js';
import { setStatus } from '../status-manager/pod-statuses.js';
import { asPodAdmission, type PodAdmissionContext } from './slice.js';

export const admissionMachine = 'admission';

/** Admits the pod, rejects it, or has it wait. False: it gets no worker now. */
export function admitPod(caller: AgentContext, pod: Pod): boolean {
  const context = asPodAdmission(caller);
  const { state } = context;
  const uid = uidOf(pod);
  const pending = state.admission.pending.get(uid);
  state.admission.pending.delete(uid);
  if (state.inherited.has(uid)) return continues(context, pod);
  const room = admitUnderPressure(pod, state.eviction.loop.pressure.conditions);
  if (room.kind === 'rejected') return reject(context, pod, room);
  const sysctls = admitSysctls(pod, allowlistOf(state.settings));
  if (sysctls.kind === 'rejected') return reject(context, pod, sysctls);
  // Before the node's resources, as in the Go kubelet: a pod that is refused later loses its allocation once it no longer counts. Done once.
  const aligned = pending === undefined ? alignPod(state, pod) : admitted;
  if (aligned.kind === 'rejected') return reject(context, pod, aligned);
  const otherPods = activePods(state, uid);
  // Without an API there is no newer node.
  const freshNode = state.api === null ? null : pending?.freshNode;
  const result = admitByPredicates({ pod, otherPods, spared: new Set(asideUids(state)), node: admissionNode(context), ...(freshNode === undefined ? {} : { freshNode }) });
  switch (result.kind) {
    case 'rejected':
      return reject(context, pod, result);
    case 'read-node':
      readNode(context, uid);
      return false;
    case 'admitted':
      if (result.preempted.length === 0) return admitNodeSupport(context, pod);
      preempt(context, pod, result.preempted, result.lacking);
      return false;
  }
}

/** A pod that ran before this agent started. It keeps its exclusive resources; without any it runs in the shared pool. */
function continues(context: PodAdmissionContext, pod: Pod): boolean {
  const shutdown = admitDuringShutdown(context.state.shutdown.manager.shuttingDown);
  if (shutdown.kind === 'rejected') return reject(context, pod, shutdown);
  const aligned = alignPod(context.state, pod);
  if (aligned.kind === 'rejected') {
    context.turn.log('warn', 'A running pod gets no exclusive resources and runs without them', { podUID: uidOf(pod), reason: aligned.reason, err: aligned.message });
  }
  return true;
}

/** A pod that restarts under its UID has released its exclusive resources; one that continues still has them. */
export function reallocateRestartedPod(caller: AgentContext, pod: Pod): boolean {
  const context = asPodAdmission(caller);
  const aligned = alignPod(context.state, pod);
  return aligned.kind === 'admitted' || reject(context, pod, aligned);
}

/** The node's features, independent of its free resources. */
function admitNodeSupport(context: PodAdmissionContext, pod: Pod): boolean {
  const refused = nodeSupport(context, pod).find((result) => result.kind === 'rejected');
  return refused === undefined || reject(context, pod, refused);
}

function nodeSupport({ state }: PodAdmissionContext, pod: Pod): readonly Admission[] {
  const { appArmorProblem, podLevelResources, declaredFeatures } = state.settings;
  return [
    admitAppArmor(pod, appArmorProblem),
    admitPodLevelResources(pod, podLevelResources),
    admitDeclaredFeatures(pod, declaredFeatures),
    admitDuringShutdown(state.shutdown.manager.shuttingDown),
  ];
}

/** Admission of a pod's resize. It kills no pod and refuses none. */
export function admitResize(caller: AgentContext, pod: Pod): Exclude<PredicateResult, { readonly kind: 'read-node' }> {
  const context = asPodAdmission(caller);
  const { state } = context;
  const refused = [admitUnderPressure(pod, state.eviction.loop.pressure.conditions), admitSysctls(pod, allowlistOf(state.settings)), ...nodeSupport(context, pod)];
  for (const answer of refused) if (answer.kind === 'rejected') return answer;
  const result = admitByPredicates({ pod, otherPods: activePods(state, uidOf(pod)), spared: new Set(asideUids(state)), node: admissionNode(context), freshNode: null });
  assert(result.kind !== 'read-node', 'a node is to be read that was given');
  return result;
}

/** A pod changed or went that may wait for its admission. Returns whether it still waits. */
export function stillWaits(caller: AgentContext, pod: Pod): boolean {
  const { admission } = asPodAdmission(caller).state;
  const uid = uidOf(pod);
  if (pod.metadata.deletionTimestamp !== undefined) admission.pending.delete(uid);
  return admission.pending.has(uid);
}

export function forgetAdmission(caller: AgentContext, uid: string): void {
  const { state } = asPodAdmission(caller);
  const { admission } = state;
  forgetPodHints(state, uid);
  forgetEvicted(state, uid);
  admission.pending.delete(uid);
  admission.rejected.delete(uid);
  admission.preempted.delete(uid);
}

/** The node read for a pod. Returns the pod to admit again; null: none waits for it. */
export function admissionReplied(context: AgentContext, uid: string, { outcome }: AnswerOf<'apiReader.get'>): Pod | null {
  const { state } = asPodAdmission(context);
  const pending = state.admission.pending.get(uid);
  if (pending === undefined) return null;
  pending.freshNode = answeredObject('nodes', outcome);
  return state.pods.pods.get(uid) ?? null;
}

/** Pods whose victims have all ended since the last call. */
export function takePodsWhosePreemptionIsDone({ state: { admission, pods } }: PodAdmissionContext): Pod[] {
  const ready: Pod[] = [];
  for (const completion of admission.completed.splice(0)) {
    if (!completion.startsWith(`${admissionMachine}/`)) continue;
    const uid = completion.slice(admissionMachine.length + 1);
    const pending = admission.pending.get(uid);
    if (pending === undefined || --pending.victims > 0) continue;
    const pod = pods.pods.get(uid);
    if (pod !== undefined) ready.push(pod);
  }
  return ready;
}

function reject(context: PodAdmissionContext, pod: Pod, rejection: Rejection): false {
  const { reason, message } = rejection;
  noteAlignmentChange(context.state);
  context.state.admission.rejected.add(uidOf(pod));
  noteNodeCgroups(context.state, uidOf(pod));
  context.turn.log('info', 'Pod rejected', { podUID: uidOf(pod), reason: rejectionMetricLabel(reason), message });
  context.event(pod, null, 'Warning', reason, message);
  setStatus(context, pod, { phase: 'Failed', reason, message: rejectionStatusMessage(rejection), qosClass: podQosClass(pod), ...containersOf(pod) });
  return false;
}

/** The next agent may refuse a pod that an earlier one ran: its known container statuses are kept. */
function containersOf({ status = {} }: Pod): Pick<PodStatus, 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses'> {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  return {
    ...(containerStatuses === undefined ? {} : { containerStatuses }),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses }),
    ...(ephemeralContainerStatuses === undefined ? {} : { ephemeralContainerStatuses }),
  };
}

/** Pods that were admitted, and can't run here after all. */
export function endRefused(context: PodAdmissionContext): void {
  const { refusals, turn } = context;
  for (const [uid, { pod, reason, message }] of refusals) {
    refusals.delete(uid);
    context.state.admission.rejected.add(uid);
    turn.log('info', 'Pod rejected', { podUID: uid, reason: rejectionMetricLabel(reason), message });
    context.event(pod, null, 'Warning', reason, message);
    const statusChange = { reason, message: rejectionStatusMessage(rejected(reason, message)), disruptionReason: null, disruptionMessage: null, keepsSuccess: false };
    const killOptions = { evict: true, gracePeriodOverride: null, statusChange, completion: null };
    dispatchUpdate(context, { type: 'kill', pod, mirrorPod: null, runningPod: null, killOptions, startTime: turn.now });
  }
}

function readNode({ state, turn }: PodAdmissionContext, uid: string): void {
  state.admission.pending.set(uid, { victims: 0, freshNode: undefined });
  const address = { machine: admissionMachine, key: uid };
  if (turn.inFlight(address, 'node')) return;
  const request = { resource: { group: '', version: 'v1', plural: 'nodes' }, namespace: null, name: state.settings.nodeName, client: 'main', resourceVersion: null } as const;
  turn.ask('apiReader.get', address, 'node', request, 10_000_000);
}

function preempt(context: PodAdmissionContext, pod: Pod, victims: readonly Pod[], lacking: string | null): void {
  const uid = uidOf(pod);
  context.state.admission.pending.set(uid, { victims: victims.length, freshNode: undefined });
  preemptPods(context, victims, lacking, `${admissionMachine}/${uid}`);
}

/** @param completion reported once all victims have ended; null: none */
export function preemptPods(caller: AgentContext, victims: readonly Pod[], lacking: string | null, completion: string | null): void {
  const context = asPodAdmission(caller);
  const { state, turn } = context;
  const statusChange = {
    reason: preemptingReason,
    message: preemptingMessage,
    disruptionReason: 'TerminationByKubelet',
    disruptionMessage: preemptedConditionMessage,
    keepsSuccess: false,
  };
  for (const victim of victims) {
    state.admission.pending.delete(uidOf(victim));
    state.admission.preempted.set(uidOf(victim), lacking ?? '');
    context.event(victim, null, 'Warning', preemptingReason, preemptingMessage);
    const killOptions = { evict: true, gracePeriodOverride: null, statusChange, completion };
    dispatchUpdate(context, { type: 'kill', pod: victim, mirrorPod: null, runningPod: null, killOptions, startTime: turn.now });
    expectEnd(context, victim, null);
  }
}

/** What isn't measured on this node is not held against a pod. */
const unmeasured = String(2 ** 53 - 1);

/** The node's own object, otherwise the one to register; this agent's own allocatable resources take precedence. */
function admissionNode({ state }: PodAdmissionContext): Node {
  const { nodeFacts, settings, readiness } = state;
  const own = ownNode(state.api);
  const allocatable = { cpu: unmeasured, memory: unmeasured, pods: unmeasured, 'ephemeral-storage': unmeasured, ...own?.status?.allocatable, ...nodeFacts.allocatable };
  if (own !== null) return { ...own, status: { ...own.status, allocatable } };
  const labels = { 'kubernetes.io/hostname': settings.nodeName, 'kubernetes.io/os': 'linux' };
  const features = { supplementalGroupsPolicy: readiness.supplementalGroupsPolicy === true };
  return { metadata: { name: settings.nodeName, labels }, status: { allocatable, features } };
}

const allowlistOf = derived(({ allowedSysctls }: AgentSettings): SysctlAllowlist => {
  const parsed = parseSysctlAllowlist(allowedSysctls);
  return parsed.ok ? parsed.value : { exact: new Map(), prefixes: new Map() };
});
