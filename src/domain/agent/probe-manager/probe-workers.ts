// The life cycle of a pod's probe workers: added before its containers start, driven by its status, removed when it ends.
// Invariant: a waiting worker costs only its wake-up; a pod without probes costs one check of its spec.
import type { Pod } from '../../../ports/model/pod.js';
import type { PodStatus } from '../../../ports/model/pod-status.js';
import type { Address } from '../../kernel/machine.js';
import type { ProbeKind } from '../../probes/probe-outcome.js';
import { hasProbes, isSameProbe, type PodProbes, probedContainers, probeKinds, probeName, type RegisteredWorker } from '../../probes/probe-registry.js';
import { newProbeWorker, type ProbeWorker, probeOf, probeWakeAt, type StartOf, skipMissedTicks, stopProbeWorker, triggerProbe } from '../../probes/probe-worker.js';
import { derived } from '../../values/derived.js';
import { momentOf } from '../../values/instant.js';
import { runtimeContainerId } from '../../values/pod-references.js';
import { parseRfc3339 } from '../../values/time.js';
import type { AgentContext } from '../agent-context.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { asProbeManager, type ProbeManagerContext } from './slice.js';

export const probeMachine = 'probe';

/** The key is `<kind>/<container>/<uid>`. */
export function probeAddress(uid: string, name: string): Address {
  return { machine: probeMachine, key: `${name}/${uid}` };
}

const isProbed = derived(hasProbes);

/** Makes missing workers for a pod's spec. A changed probe gets another worker. */
export function addProbes(caller: AgentContext, pod: Pod): void {
  const context = asProbeManager(caller);
  const { probes, startedAt } = context.state;
  const uid = uidOf(pod);
  const known = probes.pods.get(uid);
  if (known === undefined ? !isProbed(pod) : known.pod === pod) return;
  const ofPod: PodProbes = known ?? { pod, workers: new Map(), version: ++probes.count };
  ofPod.pod = pod;
  probes.pods.set(uid, ofPod);
  const wanted = new Set<string>();
  for (const container of probedContainers(pod)) {
    for (const kind of probeKinds) {
      if (probeOf(container, kind) === null) continue;
      const name = probeName(kind, container.name);
      wanted.add(name);
      const present = ofPod.workers.get(name);
      if (present !== undefined && isSameProbe(present.worker, container, kind)) continue;
      if (present !== undefined) endWorker(context, uid, name, present);
      const random = context.turn.random('probe', probeAddress(uid, name).key);
      const worker = newProbeWorker(pod, container, kind, startedAt, random, context.turn.now);
      ofPod.workers.set(name, { worker, slot: `probe/${++probes.count}` });
    }
  }
  for (const [name, registered] of ofPod.workers) if (!wanted.has(name)) forgetWorker(context, uid, name, registered);
  probesChanged(context, uid);
  planProbes(context, uid);
}

/** The pod terminates: probes that could restart its containers end first; readiness continues, so that endpoints drain, and so do sidecars' probes. */
export function stopRestartingProbes(caller: AgentContext, pod: Pod): void {
  const context = asProbeManager(caller);
  const uid = uidOf(pod);
  const ofPod = context.state.probes.pods.get(uid);
  if (ofPod === undefined) return;
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  for (const [name, registered] of ofPod.workers) {
    const { kind, container } = registered.worker;
    if (kind !== 'readiness' && regular.has(container.name)) forgetWorker(context, uid, name, registered);
  }
}

export function removeProbes(caller: AgentContext, uid: string): void {
  const context = asProbeManager(caller);
  const ofPod = context.state.probes.pods.get(uid);
  if (ofPod === undefined) return;
  for (const [name, registered] of ofPod.workers) forgetWorker(context, uid, name, registered);
  context.state.probes.pods.delete(uid);
}

/** Ends the worker and drops its result. */
export function forgetWorker(context: ProbeManagerContext, uid: string, name: string, registered: RegisteredWorker): void {
  endWorker(context, uid, name, registered);
  context.state.probes.pods.get(uid)?.workers.delete(name);
  probesChanged(context, uid);
}

function endWorker(context: ProbeManagerContext, uid: string, name: string, { worker, slot }: RegisteredWorker): void {
  const { probes } = context.state;
  stopProbeWorker(worker);
  if (worker.containerId !== null) probes.results[worker.kind].delete(worker.containerId);
  context.turn.cancel(probeAddress(uid, name), slot);
  context.turn.end(probeAddress(uid, name));
}

/** The inputs of the pod's status have changed. */
export function probesChanged({ state: { probes } }: ProbeManagerContext, uid: string): void {
  const ofPod = probes.pods.get(uid);
  if (ofPod !== undefined) ofPod.version = ++probes.count;
}

/** The pod's status changed: workers may have something to do sooner than they thought, or nothing any more. */
export function planProbes(caller: AgentContext, uid: string): void {
  const context = asProbeManager(caller);
  const ofPod = context.state.probes.pods.get(uid);
  if (ofPod === undefined) return;
  const status = probedStatus(context, uid);
  for (const [name, { worker }] of ofPod.workers) {
    if (status !== null && isAwaitedReadiness(worker, status)) triggerProbe(worker, context.turn.now);
    else skipMissedTicks(worker, context.turn.now);
    planProbe(context, uid, name, worker);
  }
}

export function planProbe(context: ProbeManagerContext, uid: string, name: string, worker: ProbeWorker): void {
  context.turn.wakeAt(probeAddress(uid, name), probeWakeAt(worker, probedStatus(context, uid), context.turn.now, startOf(context, uid)));
}

/** The start time from the runtime's status of the container; if it is no longer known there, from the pod's status. */
export function startOf({ state, turn }: ProbeManagerContext, uid: string): StartOf {
  return (container) => {
    const known = state.cache.moments.get(uid)?.get(runtimeContainerId(container.containerID));
    if (known !== undefined) return known.startedAt;
    const stamp = parseRfc3339(container.state?.running?.startedAt ?? '');
    return stamp === null ? null : momentOf(stamp, turn, state.cache.observedBefore);
  };
}

export function probedStatus({ state }: ProbeManagerContext, uid: string): PodStatus | null {
  return state.statuses.get(uid)?.status ?? null;
}

/** A container that has started and isn't ready is probed at once, so that it serves as soon as it can. */
function isAwaitedReadiness({ kind, state, container, result }: ProbeWorker, status: PodStatus): boolean {
  if (kind !== ('readiness' satisfies ProbeKind) || state === 'ended' || result === 'success') return false;
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const found = all.find(({ name }) => name === container.name);
  return found?.started === true && found.state?.running !== undefined;
}
