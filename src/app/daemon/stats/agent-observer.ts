// Watches what goes into the agent and comes out of it, for metrics: how long operations, looks at the runtime and probes take. It decides nothing.
// Invariant: it costs nothing before somebody wants the metrics, and remembers only what is in flight and which pods have been seen to run.
import type { CriCallObservation } from '../../../adapters/cri/index.js';
import type { KubeletMetrics, ProbeLabels } from '../../../adapters/metrics/index.js';
import type { AgentState } from '../../../domain/agent/agent-state.js';
import type { KubeletOperations } from '../../../domain/agent/kubelet.js';
import type { Output } from '../../../domain/kernel/kernel.js';
import type { Command, Reply } from '../../../domain/kernel/machine.js';
import { probeOutcomeOf } from '../../../domain/probes/ask-probe.js';
import type { RegisteredWorker } from '../../../domain/probes/probe-registry.js';
import type { Micros } from '../../../ports/micros.js';
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';

interface InFlight {
  readonly at: Micros;
  readonly command: Command<KubeletOperations>;
}

const probeTypes = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;
const probeResults: Readonly<Record<string, string>> = { success: 'successful', warning: 'successful', failure: 'failed' };
const cgroupOperations: Readonly<Record<string, string>> = { 'podCgroups.create': 'create', 'podCgroups.update': 'update', 'podCgroups.destroy': 'destroy' };

export class AgentObserver {
  private watched: { readonly metrics: KubeletMetrics; readonly state: AgentState } | null = null;
  private readonly inFlight = new Map<number, InFlight>();
  /** When a pod's run began, and for what; by uid. */
  private readonly runs = new Map<string, { readonly at: Micros; readonly operation: string }>();
  private readonly seenRunning = new Set<string>();
  /** Pods that have begun and were not seen to run yet: when they were first seen. */
  private readonly starting = new Map<string, Micros>();
  /** Since when a probe is being asked, by its address: it may take several attempts. */
  private readonly probing = new Map<string, Micros>();
  private readonly probes = new Map<string, { readonly uid: string; readonly labels: ProbeLabels }>();
  private relistedAt: Micros | null = null;

  /** From now on. */
  watch(metrics: KubeletMetrics, state: AgentState): void {
    this.watched = { metrics, state };
    for (const uid of state.workers.records.keys()) this.seenRunning.add(uid);
  }

  criCall({ operationType, durationMicros, failed }: CriCallObservation): void {
    this.watched?.metrics.runtimeOperation(operationType, durationMicros / 1e6, failed);
  }

  /** A step of the agent, after it was made. @param input null: a wake-up */
  step(now: Micros, input: unknown, output: Output<KubeletOperations>): void {
    if (this.watched === null) return;
    for (const command of output.commands) this.begun(now, command);
    const reply = input as Reply<KubeletOperations> | null;
    if (reply?.type === 'reply') this.answered(now, reply);
    for (const id of output.cancelled) this.inFlight.delete(id);
    this.lookForEnds(now);
  }

  private begun(now: Micros, command: Command<KubeletOperations>): void {
    const { address, answered, id, op } = command;
    if (answered) this.inFlight.set(id, { at: now, command });
    const { metrics, state } = this.watched!;
    if (address.machine === 'pod' && !this.runs.has(address.key)) {
      this.runs.set(address.key, { at: now, operation: operationOf(state, address.key) });
      const record = state.workers.records.get(address.key);
      if (record !== undefined && !this.seenRunning.has(address.key)) this.starting.set(address.key, record.syncedAt);
    }
    if (address.machine === 'probe' && !this.probing.has(address.key)) this.probing.set(address.key, now);
    if (address.machine === 'relist' && op === 'runtime.listPods') {
      if (this.relistedAt !== null) metrics.relistedAfter((now - this.relistedAt) / 1e6);
      this.relistedAt = now;
      this.forgetGone();
    }
  }

  private answered(now: Micros, reply: Reply<KubeletOperations>): void {
    const { metrics } = this.watched!;
    const begun = this.inFlight.get(reply.id);
    this.inFlight.delete(reply.id);
    const { machine, key } = reply.address;
    if (begun !== undefined) {
      const took = (now - begun.at) / 1e6;
      const failed = !reply.outcome.ok;
      const cgroup = cgroupOperations[reply.op];
      if (cgroup !== undefined) metrics.cgroupOperation(cgroup, took);
      if (reply.op === 'sandboxes.run') {
        metrics.sandboxStarted(failed);
        metrics.sandboxRun((begun.command.request as { readonly runtimeHandler: string }).runtimeHandler, took, failed);
      }
      if (machine === 'relist' && reply.op === 'runtime.listPods') metrics.relisted(took);
    }
    if (machine === 'probe') this.probeAnswered(now, key, reply as Reply<AgentOperations>);
  }

  /** Operations of pods end with any step, and so may a pod begin to run; few are under way at a time. */
  private lookForEnds(now: Micros): void {
    const { metrics, state } = this.watched!;
    for (const [uid, { at, operation }] of this.runs) {
      if (state.runs.has(uid)) continue;
      this.runs.delete(uid);
      metrics.podWorker(operation, (now - at) / 1e6);
    }
    for (const [uid, since] of this.starting) {
      if (state.statuses.get(uid)?.status.phase !== 'Running') continue;
      this.starting.delete(uid);
      this.seenRunning.add(uid);
      metrics.podRuns((now - since) / 1e6);
    }
  }

  private probeAnswered(now: Micros, key: string, reply: Reply<AgentOperations>): void {
    const { metrics, state } = this.watched!;
    const found = workerOf(state, key);
    if (found === null || found.registered.worker.state === 'probing') return;
    const at = this.probing.get(key);
    this.probing.delete(key);
    const { kind, container, pod } = found.registered.worker;
    const labels = { probe_type: probeTypes[kind], container: container.name, pod: pod.metadata.name, namespace: pod.metadata.namespace ?? '' };
    this.probes.set(key, { uid: found.uid, labels });
    const { result } = probeOutcomeOf(found.registered.worker, reply);
    metrics.probed(labels, found.uid, probeResults[result] ?? 'unknown', at === undefined ? 0 : (now - at) / 1e6);
  }

  /** Series of probes that are over, and what was remembered of pods that are gone. Called by each look at the runtime and before a scrape. */
  forgetGone(): void {
    if (this.watched === null) return;
    const { metrics, state } = this.watched;
    for (const uid of this.seenRunning) if (!state.workers.records.has(uid)) this.seenRunning.delete(uid);
    for (const [key, { uid, labels }] of this.probes) {
      if (workerOf(state, key) !== null) continue;
      metrics.forgetProbe(labels, uid);
      this.probes.delete(key);
      this.probing.delete(key);
    }
    for (const uid of this.starting.keys()) if (!state.workers.records.has(uid)) this.starting.delete(uid);
  }
}

function operationOf(state: AgentState, uid: string): string {
  const run = state.workers.records.get(uid)?.run ?? null;
  if (run === null) return 'sync';
  return run.state === 'terminated' ? 'terminated' : run.state === 'terminating' ? 'kill' : run.update.type;
}

function workerOf(state: AgentState, key: string): { readonly uid: string; readonly registered: RegisteredWorker } | null {
  const [kind = '', container = '', ...rest] = key.split('/');
  const uid = rest.join('/');
  const registered = state.probes.pods.get(uid)?.workers.get(`${kind}/${container}`);
  return registered === undefined ? null : { uid, registered };
}
