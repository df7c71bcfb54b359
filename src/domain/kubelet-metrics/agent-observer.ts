// Derives the kubelet's metrics from the agent's inputs, commands and state. It decides nothing, and no part of the agent depends on it.
// Invariant: no cost before the metrics are enabled; keeps only what is in flight or exists.

import type { Micros } from '../../ports/micros.js';
import type { CriCallObservation, MetricsRecorder, PodResourcesCall } from '../../ports/outbound/metrics/kubelet-metrics.js';
import type { KubeletEvent, KubeletOperations, KubeletState } from '../agent/kubelet.js';
import { relistAddress } from '../agent/pleg/looks.js';
import type { Input, Output } from '../kernel/kernel.js';
import type { Reply } from '../kernel/machine.js';
import type { Clocks } from '../values/instant.js';
import { ObservedClaims } from './observed-claims.js';
import { ObservedImages } from './observed-images.js';
import { ObservedNode } from './observed-node.js';
import { ObservedOperations } from './observed-operations.js';
import type { Begun, ObservedPart, Watched } from './observed-part.js';
import { ObservedPods } from './observed-pods.js';
import { ObservedProbes } from './observed-probes.js';
import { ObservedResizes } from './observed-resizes.js';
import { ObservedVolumes } from './observed-volumes.js';

interface Watching extends Watched {
  readonly pods: ObservedPods;
  readonly node: ObservedNode;
  readonly parts: readonly ObservedPart[];
}

export class AgentObserver {
  private watching: Watching | null = null;
  private readonly inFlight = new Map<number, Begun>();
  /** The runtime doesn't report its configuration, which a later version of Kubernetes requires. */
  isRuntimeOld = false;

  /** Starts observing. */
  watch(metrics: MetricsRecorder, state: KubeletState): void {
    const watched = { metrics, state };
    const pods = new ObservedPods(watched);
    const node = new ObservedNode(watched);
    const parts = [
      new ObservedOperations(watched),
      pods,
      new ObservedImages(watched),
      new ObservedResizes(watched),
      new ObservedProbes(watched),
      new ObservedVolumes(watched),
      new ObservedClaims(watched),
      node,
    ];
    this.watching = { metrics, state, pods, node, parts };
  }

  get pods(): ObservedPods | null {
    return this.watching?.pods ?? null;
  }

  get node(): ObservedNode | null {
    return this.watching?.node ?? null;
  }

  criCall({ operationType, durationMicros, failed, isUnimplemented }: CriCallObservation): void {
    // Other failures don't show the runtime's support.
    if (operationType === 'runtime_config' && (!failed || isUnimplemented)) this.isRuntimeOld = isUnimplemented;
    if (this.watching === null) return;
    const { metrics } = this.watching;
    const labels = { operation_type: operationType };
    metrics.count('kubelet_runtime_operations_total', labels);
    metrics.observe('kubelet_runtime_operations_duration_seconds', labels, durationMicros / 1e6);
    if (failed) metrics.count('kubelet_runtime_operations_errors_total', labels);
  }

  volumeMeasured(took: Micros, source: string): void {
    this.watching?.metrics.observe('kubelet_volume_metric_collection_duration_seconds', { metric_source: source }, took / 1e6);
  }

  podResourcesCall({ method, version, failed }: PodResourcesCall): void {
    if (this.watching === null) return;
    const { metrics } = this.watching;
    const labels = { server_api_version: version };
    metrics.count('kubelet_pod_resources_endpoint_requests_total', labels);
    // The Go kubelet has no counters for the methods of the older version.
    if (version !== 'v1') return;
    metrics.count(`kubelet_pod_resources_endpoint_requests_${method}`, labels);
    if (failed) metrics.count(`kubelet_pod_resources_endpoint_errors_${method}`, labels);
  }

  /** A step of the agent, after it was made. @param input null: a wake-up */
  step({ now, wall }: Clocks, input: Input<KubeletEvent, KubeletOperations> | null, output: Output<KubeletOperations>): void {
    if (this.watching === null) return;
    const { parts } = this.watching;
    for (const command of output.commands) {
      if (command.answered) this.inFlight.set(command.id, { at: now, command });
      for (const part of parts) part.begun?.(now, command, wall);
    }
    if (input?.type === 'reply') this.answered(now, input, parts);
    else if (input !== null) this.countLost(input);
    for (const id of output.cancelled) this.inFlight.delete(id);
    for (const part of parts) part.stepped?.(now, wall);
  }

  /** Called at each relist and before a scrape. */
  forgetGone(): void {
    for (const part of this.watching?.parts ?? []) part.forgetGone?.();
  }

  private answered(now: Micros, reply: Reply<KubeletOperations>, parts: readonly ObservedPart[]): void {
    const begun = this.inFlight.get(reply.id) ?? null;
    this.inFlight.delete(reply.id);
    for (const part of parts) part.answered?.(now, begun, reply);
    if (reply.address.machine === relistAddress.machine && reply.op === 'runtime.listPods') this.forgetGone();
  }

  private countLost(input: Input<KubeletEvent, KubeletOperations>): void {
    const lost = (source: string) => this.watching?.metrics.count('kubelet_ts_lost_notices_total', { source });
    // Without runtime events the same event triggers a plain relist.
    if (input.type === 'runtimeChangesLost' && this.watching?.state.agent.settings.runtimeSendsEvents === true) lost('runtime');
    if (input.type === 'manifests-changed' && (input as { readonly events: readonly { readonly kind: string }[] }).events.some(({ kind }) => kind === 'lost')) lost('manifests');
  }
}
