// The duration of single operations: cgroups, sandboxes, relists, status writes; and the number of events by reason.

import type { Micros } from '../../ports/micros.js';
import type { SandboxConfig } from '../../ports/model/sandbox-config.js';
import type { EventRecord } from '../../ports/outbound/event-sink.js';
import { rejectionMetricLabel } from '../admission/admission-result.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import { relistAddress } from '../agent/pleg/looks.js';
import { statusWriteMachine } from '../agent/status-manager/status-writes.js';
import { evictedReason } from '../eviction/eviction.js';
import type { Command, Reply } from '../kernel/machine.js';
import { httpFallbackReason } from '../pod-sync/lifecycle-hook.js';
import { podMachine } from '../pod-sync/sync-context.js';
import { killOf } from '../pod-sync/sync-run.js';
import { preemptingReason } from '../preemption/preemption.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

const cgroupOperations: Readonly<Record<string, string>> = { 'podCgroups.ensure': 'create', 'podCgroups.set': 'update', 'podCgroups.destroy': 'destroy' };

export class ObservedOperations implements ObservedPart {
  private relistedAt: Micros | null = null;
  /** Since when a status is to be written, by uid. */
  private readonly unsent = new Map<string, Micros>();
  private readonly refused = new Set<string>();

  constructor(private readonly watched: Watched) {}

  begun(now: Micros, { op, address, request }: Command<KubeletOperations>): void {
    if (op === 'events.record') this.said(request as EventRecord);
    if (op === 'containers.stop' && address.machine === podMachine) this.stopping(address.key, (request as { readonly containerId: string }).containerId, now);
    if (address.machine !== relistAddress.machine || op !== 'runtime.listPods') return;
    if (this.relistedAt !== null) this.watched.metrics.observe('kubelet_pleg_relist_interval_seconds', {}, secondsBetween(this.relistedAt, now));
    this.relistedAt = now;
  }

  answered(now: Micros, begun: Begun | null, { op, address, outcome }: Reply<KubeletOperations>): void {
    const { metrics } = this.watched;
    if (begun === null) return;
    const took = secondsBetween(begun.at, now);
    const cgroup = cgroupOperations[op];
    if (cgroup !== undefined) metrics.observe('kubelet_cgroup_manager_duration_seconds', { operation_type: cgroup }, took);
    if (op === 'sandboxes.run') this.sandboxRun(begun.command.request as { readonly config: SandboxConfig; readonly runtimeHandler: string }, took, !outcome.ok);
    if (address.machine === relistAddress.machine)
      metrics.observe(op === 'runtime.listPods' ? 'kubelet_pleg_relist_duration_seconds' : 'kubelet_pleg_pod_relist_duration_seconds', {}, took);
    const since = this.unsent.get(address.key);
    if (address.machine === statusWriteMachine && op === 'apiWriter.patch' && outcome.ok && since !== undefined) {
      metrics.observe('kubelet_pod_status_sync_duration_seconds', {}, secondsBetween(since, now));
      this.unsent.delete(address.key);
    }
  }

  stepped(now: Micros): void {
    for (const uid of this.watched.state.agent.api?.statusWrites.queue ?? []) if (!this.unsent.has(uid)) this.unsent.set(uid, now);
  }

  forgetGone(): void {
    const { statuses, admission } = this.watched.state.agent;
    for (const uid of this.unsent.keys()) if (!statuses.has(uid)) this.unsent.delete(uid);
    for (const uid of this.refused) if (!admission.rejected.has(uid)) this.refused.delete(uid);
  }

  private sandboxRun({ config, runtimeHandler }: { readonly config: SandboxConfig; readonly runtimeHandler: string }, took: number, failed: boolean): void {
    const { metrics } = this.watched;
    const handler = { runtime_handler: runtimeHandler };
    const ofUsers = config.linux?.securityContext?.namespaceOptions?.usernsOptions?.mode === 'POD';
    metrics.count('kubelet_started_pods_total', {});
    if (ofUsers) metrics.count('kubelet_started_user_namespaced_pods_total', {});
    metrics.observe('kubelet_run_podsandbox_duration_seconds', handler, took);
    if (!failed) return;
    metrics.count('kubelet_started_pods_errors_total', {});
    if (ofUsers) metrics.count('kubelet_started_user_namespaced_pods_errors_total', {});
    metrics.count('kubelet_run_podsandbox_errors_total', handler);
  }

  /** The grace period ends a sleep of a preStop hook. */
  private stopping(uid: string, id: string, now: Micros): void {
    const { metrics, state } = this.watched;
    const item = killOf(state.agent.runs.get(uid)?.steps[0])?.items.find(({ containerId }) => containerId === id);
    if (item?.hook?.sleepsUntil != null && item.hook.sleepsUntil > now) metrics.count('kubelet_sleep_action_terminated_early_total', {});
  }

  private said({ involvedObject, type, reason }: EventRecord): void {
    const { metrics, state } = this.watched;
    const uid = involvedObject.uid ?? '';
    if (reason === httpFallbackReason) metrics.count('kubelet_lifecycle_handler_http_fallbacks_total', {});
    if (reason === preemptingReason) metrics.count('kubelet_preemptions', { preemption_signal: state.agent.admission.preempted.get(uid) ?? '' });
    const signal = reason === evictedReason ? state.agent.eviction.evicted.get(uid) : undefined;
    if (signal !== undefined) {
      metrics.count('kubelet_evictions', { eviction_signal: signal });
      for (const { signal, age } of state.agent.eviction.statsAges) metrics.observe('kubelet_eviction_stats_age_seconds', { eviction_signal: signal }, age / 1e6);
    }
    if (type !== 'Warning' || !state.agent.admission.rejected.has(uid) || this.refused.has(uid)) return;
    this.refused.add(uid);
    metrics.count('kubelet_admission_rejections_total', { reason: rejectionMetricLabel(reason) });
  }
}
