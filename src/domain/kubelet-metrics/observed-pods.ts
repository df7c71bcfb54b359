// Pods: the duration of pod work and of pod starts, and the number of containers started and ended.
//
// Invariant: a container counts as ended only if it was seen before its end, so that an earlier agent's containers don't count.

import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import type { Command, Reply } from '../kernel/machine.js';
import { podMachine } from '../pod-sync/sync-context.js';
import type { SyncRun } from '../pod-sync/sync-run.js';
import { type Clocks, microsBetween } from '../values/instant.js';
import { isStaticPod } from '../values/pod-kind.js';
import { parseRfc3339 } from '../values/time.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

interface ObservedRun {
  readonly at: Micros;
  readonly operation: string;
  readonly run: SyncRun | null;
}

/** A started pod that has not been seen running yet. */
interface StartingPod {
  readonly firstSeenAt: Micros;
  pullingSince: Micros | null;
  pulledMicros: Micros;
}

export class ObservedPods implements ObservedPart {
  private readonly runs = new Map<string, ObservedRun>();
  private readonly seenRunning = new Set<string>();
  private readonly starting = new Map<string, StartingPod>();
  /** Pods that will restart under their uid. */
  private readonly restarting = new Set<string>();
  /** Containers that have not ended, by pod. */
  private readonly living = new Map<string, ReadonlySet<string>>();
  private firstNetworkPod: number | null = null;

  constructor(private readonly watched: Watched) {
    for (const uid of watched.state.agent.workers.records.keys()) this.seenRunning.add(uid);
    // The series exist before the first such pod.
    for (const isStatic of ['true', '']) watched.metrics.count('kubelet_restarted_pods_total', { static: isStatic }, 0);
  }

  get firstNetworkPodSeconds(): number {
    return this.firstNetworkPod ?? 0;
  }

  begun(now: Micros, { address, op }: Command<KubeletOperations>): void {
    const { agent } = this.watched.state;
    if (op === 'images.pull') this.pulling(address.key, now);
    if (address.machine !== podMachine || this.runs.has(address.key)) return;
    const uid = address.key;
    const record = agent.workers.records.get(uid);
    const operation = record === undefined ? 'sync' : operationOf(record.run);
    this.runs.set(uid, { at: now, operation, run: agent.runs.get(uid) ?? null });
    if (record?.active?.runningPod != null && operation === 'kill') this.watched.metrics.count('kubelet_orphaned_runtime_pods_total', {});
    if (record === undefined || this.seenRunning.has(uid) || this.starting.has(uid)) return;
    this.starting.set(uid, { firstSeenAt: record.syncedAt, pullingSince: null, pulledMicros: 0 });
    this.added(uid, record.syncedAt, now);
  }

  answered(now: Micros, begun: Begun | null, reply: Reply<KubeletOperations>): void {
    const { address } = reply;
    if (reply.op === 'images.pull' && begun !== null) this.pulled(address.key, now);
    if (reply.op === 'containers.create' && reply.outcome.ok && address.machine === podMachine) this.created(address.key, reply.outcome.value.containerId);
    if (reply.op === 'runtime.inspectPod' && reply.outcome.ok && begun?.command.op === 'runtime.inspectPod') this.looked(begun.command.request.uid, reply.outcome.value);
  }

  stepped(now: Micros, wall: Instant): void {
    const { metrics, state } = this.watched;
    for (const [uid, { at, operation, run }] of this.runs) {
      if (state.agent.runs.has(uid)) continue;
      this.runs.delete(uid);
      metrics.observe('kubelet_pod_worker_duration_seconds', { operation_type: operation }, secondsBetween(at, now));
      if (run !== null) this.ended(run);
      if (state.agent.workers.records.get(uid)?.restartRequested === true) this.restarting.add(uid);
    }
    for (const [uid, starting] of this.starting) {
      if (state.agent.statuses.get(uid)?.status.phase === 'Running') this.runsNow(uid, starting, { now, wall });
    }
  }

  forgetGone(): void {
    const { records } = this.watched.state.agent.workers;
    for (const kept of [this.seenRunning, this.starting, this.living, this.restarting]) for (const uid of kept.keys()) if (!records.has(uid)) kept.delete(uid);
  }

  private added(uid: string, firstSeenAt: Micros, now: Micros): void {
    const { metrics, state } = this.watched;
    const pod = state.agent.pods.pods.get(uid);
    metrics.observe('kubelet_pod_worker_start_duration_seconds', {}, secondsBetween(firstSeenAt, now));
    if (pod === undefined) return;
    metrics.observe('kubelet_containers_per_pod_count', {}, pod.spec.containers.length);
    if (this.restarting.delete(uid)) metrics.count('kubelet_restarted_pods_total', { static: staticLabel(pod) });
  }

  private runsNow(uid: string, { firstSeenAt, pulledMicros, pullingSince }: StartingPod, { now, wall }: Clocks): void {
    const { metrics, state } = this.watched;
    this.starting.delete(uid);
    this.seenRunning.add(uid);
    metrics.observe('kubelet_pod_start_duration_seconds', {}, secondsBetween(firstSeenAt, now));
    const pod = state.agent.pods.pods.get(uid);
    // A static pod has no meaningful creation time, and a restarted pod waits for its own.
    if (pod === undefined || isStaticPod(pod)) return;
    const created = parseRfc3339(pod.metadata.creationTimestamp ?? '');
    if (created === null) return;
    const pulled = pulledMicros + (pullingSince === null ? 0 : now - pullingSince);
    const total = Math.max(0, microsBetween(created, wall)) / 1e6;
    const withoutPulls = Math.max(0, total - pulled / 1e6);
    metrics.observe('kubelet_pod_start_total_duration_seconds', {}, total);
    metrics.observe('kubelet_pod_start_sli_duration_seconds', {}, withoutPulls);
    if (this.firstNetworkPod === null && pod.spec.hostNetwork !== true) this.firstNetworkPod = withoutPulls;
  }

  private startingPodOfImage(key: string): StartingPod | undefined {
    return this.starting.get(this.watched.state.agent.images.runs.get(Number(key))?.request.pod.metadata.uid ?? '');
  }

  private pulling(key: string, now: Micros): void {
    const starting = this.startingPodOfImage(key);
    if (starting !== undefined) starting.pullingSince ??= now;
  }

  private pulled(key: string, now: Micros): void {
    const starting = this.startingPodOfImage(key);
    if (starting === undefined || starting.pullingSince === null) return;
    starting.pulledMicros += now - starting.pullingSince;
    starting.pullingSince = null;
  }

  private ended({ pod, results }: SyncRun): void {
    const { metrics } = this.watched;
    for (const { action, target, error } of results) {
      // A container that only waits for its back-off was not started.
      if (action !== 'StartContainer' || error?.reason === 'CrashLoopBackOff') continue;
      const type = containerType(pod, target);
      metrics.count('kubelet_started_containers_total', { container_type: type });
      if (error !== null) metrics.count('kubelet_started_containers_errors_total', { container_type: type, code: error.reason });
    }
  }

  private created(uid: string, containerId: string): void {
    this.living.set(uid, new Set([...(this.living.get(uid) ?? []), containerId]));
  }

  private looked(uid: string, status: PodRuntimeStatus | null): void {
    const { metrics, state } = this.watched;
    const before = this.living.get(uid);
    const containers = status?.containers ?? [];
    const pod = state.agent.pods.pods.get(uid);
    for (const { id, name, state: now, exitCode, reason } of containers) {
      if (now !== 'exited' || before?.has(id) !== true) continue;
      metrics.count('kubelet_terminated_containers_total', { container_type: pod === undefined ? 'container' : containerType(pod, name), exit_code: String(exitCode), reason });
    }
    const living = containers.flatMap((container) => (container.state === 'exited' ? [] : [container.id]));
    if (living.length === 0) this.living.delete(uid);
    else this.living.set(uid, new Set(living));
  }
}

export function staticLabel(pod: Pod): string {
  return isStaticPod(pod) ? 'true' : '';
}

function containerType({ spec }: Pod, name: string): string {
  if (spec.initContainers?.some((container) => container.name === name) === true) return 'init_container';
  return spec.ephemeralContainers?.some((container) => container.name === name) === true ? 'ephemeral_container' : 'container';
}

function operationOf(run: { readonly state: string; readonly update: { readonly type: string } } | null): string {
  if (run === null) return 'sync';
  return run.state === 'terminated' ? 'terminated' : run.state === 'terminating' ? 'kill' : run.update.type;
}
