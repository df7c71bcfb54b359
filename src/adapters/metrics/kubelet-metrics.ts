// The kubelet's own metrics, for /metrics, /metrics/probes and /metrics/slis.
// Not exported by this folder's index, and loaded with `import()`: an agent without an API never loads prom-client.

import { collectDefaultMetrics } from 'prom-client';
import type { CounterName, HistogramName, LabelsOf } from '../../ports/outbound/metrics/family-kinds.js';
import { healthFamilies, type KubeletFamilies, kubeletFamilies, probeFamilies } from '../../ports/outbound/metrics/kubelet-families.js';
import type { KubeletReading, MetricsRecorder, ProbeLabels, ProbeResult } from '../../ports/outbound/metrics/kubelet-metrics.js';
import { FamilyRegistry } from './family-registry.js';

export interface KubeletMetricsOptions {
  /** What never changes. */
  readonly steady: readonly KubeletReading[];
  /** The agent's state at a scrape. */
  readonly readings: () => Promise<readonly KubeletReading[]>;
  readonly startedMillis: number;
}

export interface HealthCheckOutcome {
  readonly name: string;
  readonly failure: string | null;
}

/** Gauges named like counters, which sum up the series beside them. */
const sums = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];
const probeResults: readonly ProbeResult[] = ['successful', 'failed', 'unknown'];

export class KubeletMetrics implements MetricsRecorder {
  private readonly own = new FamilyRegistry(kubeletFamilies);
  private readonly probes = new FamilyRegistry(probeFamilies);
  private readonly health = new FamilyRegistry(healthFamilies);

  constructor(private readonly options: KubeletMetricsOptions) {
    collectDefaultMetrics({ register: this.own.registry });
    for (const name of sums) this.own.registry.removeSingleMetric(name);
    this.own.read([...options.steady, ...registered()]);
    this.probes.read([['process_start_time_seconds', {}, options.startedMillis / 1000]]);
    this.setStart();
  }

  count<Name extends CounterName<KubeletFamilies>>(name: Name, labels: LabelsOf<KubeletFamilies, Name>, by = 1): void {
    this.own.count(name, labels, by);
  }

  observe<Name extends HistogramName<KubeletFamilies>>(name: Name, labels: LabelsOf<KubeletFamilies, Name>, value: number): void {
    this.own.observe(name, labels, value);
  }

  probed(of: ProbeLabels, podUid: string, result: ProbeResult, tookSeconds: number): void {
    this.probes.count('prober_probe_total', { ...of, result, pod_uid: podUid });
    this.probes.observe('prober_probe_duration_seconds', of, tookSeconds);
  }

  /** Drops the series of a container's removed probe. */
  forgetProbe(of: ProbeLabels, podUid: string): void {
    for (const result of probeResults) this.probes.forget('prober_probe_total', { ...of, result, pod_uid: podUid });
    this.probes.forget('prober_probe_duration_seconds', of);
  }

  checked(checks: readonly HealthCheckOutcome[]): void {
    this.health.read(checks.map(({ name, failure }) => ['kubernetes_healthcheck', { name, type: 'healthz' }, failure === null ? 1 : 0]));
    for (const { name, failure } of checks) this.health.count('kubernetes_healthchecks_total', { name, type: 'healthz', status: failure === null ? 'success' : 'error' });
  }

  resetHealth(): void {
    this.health.reset();
    this.setStart();
  }

  /** By families. */
  async *texts(): AsyncGenerator<string> {
    this.own.replace(await this.options.readings());
    yield* this.own.texts();
  }

  probesTexts(): AsyncGenerator<string> {
    return this.probes.texts();
  }

  slisTexts(): AsyncGenerator<string> {
    return this.health.texts();
  }

  close(): void {
    this.own.registry.clear();
  }

  private setStart(): void {
    this.health.read([['process_start_time_seconds', {}, this.options.startedMillis / 1000]]);
  }
}

/** The number of families by stability level. */
function registered(): readonly KubeletReading[] {
  const counts = new Map<string, number>();
  for (const { stability } of [kubeletFamilies, probeFamilies, healthFamilies].flatMap((families) => Object.values(families)))
    counts.set(stability, (counts.get(stability) ?? 0) + 1);
  return [...counts].map(([level, count]) => ['registered_metrics_total', { deprecated_version: '', stability_level: level }, count]);
}
