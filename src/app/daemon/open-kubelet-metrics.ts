// The kubelet's own metrics: counters from the start of the API on, and the agent's state at each scrape.

import { type AnsweredReview, type BegunRequest, type KubeletRoute, metricsRoute, plainText, type ServedRequest } from '../../adapters/http-server/index.js';
import { parseBootTime, processReadings, readCgroupLayout, textOrEmpty } from '../../adapters/linux/index.js';
import { metricsContentType } from '../../adapters/metrics/index.js';
import type { PodDiskUsage } from '../../adapters/node-stats/pod-disk-usage.js';
import { longRunningLabel, methodLabel, pathLabel, webSocketLabel } from '../../domain/authorization/request-metric-labels.js';
import { featureEnabled, knownFeatureGates } from '../../domain/configuration/feature-gates.js';
import { agentReadings } from '../../domain/kubelet-metrics/kubelet-readings.js';
import { instantOf } from '../../domain/values/instant.js';
import type { LabelsOf } from '../../ports/outbound/metrics/family-kinds.js';
import type { KubeletFamilies } from '../../ports/outbound/metrics/kubelet-families.js';
import type { KubeletReading } from '../../ports/outbound/metrics/kubelet-metrics.js';
import type { Resolver } from '../bind-to.js';
import { reportedVersion } from '../cli/version.js';
import { tokens } from '../tokens.js';
import type { DaemonContext } from './daemon-context.js';
import type { Teardown } from './teardown.js';
import type { DaemonTracing } from './tracing/daemon-tracing.js';

type ServedLabels = LabelsOf<KubeletFamilies, 'kubelet_http_requests_total'>;
type ServerType = 'readonly' | 'readwrite';

export interface OwnMetrics {
  readonly routes: readonly KubeletRoute[];
  /** Counts how long a client's certificate is valid for yet. */
  readonly certificateShown: (remainingMillis: number) => void;
  /** Counts a review of a client by the apiserver. */
  readonly reviewed: (review: AnsweredReview) => void;
  readonly watching: (serverType: ServerType) => { readonly onBegun: (begun: BegunRequest) => void; readonly onServed: (served: ServedRequest) => void };
}

export interface OwnMetricsOptions {
  readonly nodeName: string;
  readonly startedMillis: number;
  readonly diskUsage: PodDiskUsage;
}

export async function openOwnMetrics(context: DaemonContext, resolver: Resolver, teardown: Teardown, options: OwnMetricsOptions): Promise<OwnMetrics> {
  const { startedMillis, diskUsage } = options;
  const { state } = resolver.get(tokens.kernel);
  const { KubeletMetrics } = await import('../../adapters/metrics/kubelet-metrics.js');
  const observer = resolver.get(tokens.observer);
  const { measuring } = resolver.get(tokens.apiAccess);
  const { tracing } = resolver.get(tokens.tracing);
  const inFlight = new InFlightRequests();
  const bootedAt = instantOf((parseBootTime(await textOrEmpty('/proc/stat')) ?? 0) * 1_000_000);
  const { clock } = context;
  const reading = { state, observer, diskUsage, bootedAt, startedAt: instantOf(startedMillis * 1_000), clocks: () => ({ now: clock.now(), wall: clock.wall() }) };
  const metrics = new KubeletMetrics({
    steady: steadyReadings(context, options.nodeName),
    readings: async () => {
      await diskUsage.refresh([...state.agent.pods.pods.values()]);
      return [...agentReadings(reading), ...processReadings(), ...inFlight.readings(), ...measuring.readings(), ...traceReadings(tracing)];
    },
    startedMillis,
  });
  teardown.add('metrics', () => metrics.close());
  observer.watch(metrics, state);
  measuring.watch(metrics);
  const queries = resolver.get(tokens.queries);
  const page = (pattern: string, texts: () => AsyncIterable<string>, headers: Readonly<Record<string, string>> = {}) =>
    metricsRoute(pattern, { contentType: metricsContentType, headers, texts });
  const slis = page('/metrics/slis', () => {
    metrics.checked(queries.health());
    return metrics.slisTexts();
  });
  return {
    routes: [
      page('/metrics', () => metrics.texts(), { 'Process-Start-Time-Unix': String(Math.floor(startedMillis / 1000)) }),
      page('/metrics/probes', () => {
        observer.forgetGone();
        return metrics.probesTexts();
      }),
      {
        ...slis,
        answer: (question) => {
          if (question.method !== 'DELETE') return slis.answer(question);
          metrics.resetHealth();
          return plainText(200, 'metrics reset\n');
        },
      },
    ],
    certificateShown: (remainingMillis) => metrics.observe('apiserver_client_certificate_expiration_seconds', {}, remainingMillis / 1000),
    reviewed: ({ of, worked, tookMillis }) => {
      const code = { code: worked ? '201' : '<error>' };
      metrics.count(`apiserver_delegated_${of}_request_total`, code);
      metrics.observe(`apiserver_delegated_${of}_request_duration_seconds`, code, tookMillis / 1000);
    },
    watching: (serverType) => ({
      onBegun: (begun) => inFlight.change(labelsOf(begun, serverType), 1),
      onServed: (served) => {
        const labels = labelsOf(served, serverType);
        inFlight.change(labels, -1);
        metrics.count('kubelet_http_requests_total', labels);
        metrics.observe('kubelet_http_requests_duration_seconds', labels, (served.endedMillis - served.startedMillis) / 1000);
        const subresource = webSocketLabel(served.path, served.upgrade, served.status);
        if (subresource !== null) metrics.count('kubelet_websocket_streaming_requests_total', { subresource });
      },
    }),
  };
}

function labelsOf({ method, path }: BegunRequest, serverType: ServerType): ServedLabels {
  return { method: methodLabel(method), path: pathLabel(path), server_type: serverType, long_running: longRunningLabel(path) };
}

/** By labels, which take few values; a series stays, as 0. */
class InFlightRequests {
  private readonly counts = new Map<string, { readonly labels: ServedLabels; count: number }>();

  change(labels: ServedLabels, by: number): void {
    const key = `${labels.method} ${labels.path} ${labels.server_type}`;
    const known = this.counts.get(key) ?? { labels, count: 0 };
    known.count += by;
    this.counts.set(key, known);
  }

  readings(): readonly KubeletReading[] {
    return [...this.counts.values()].map(({ labels, count }) => ['kubelet_http_inflight_requests', labels, count]);
  }
}

function traceReadings(tracing: DaemonTracing | null): readonly KubeletReading[] {
  return tracing === null ? [] : [['kubelet_ts_trace_spans_dropped_total', {}, tracing.dropped]];
}

function steadyReadings({ loaded, native }: DaemonContext, nodeName: string): readonly KubeletReading[] {
  return [
    ['kubelet_node_name', { node: nodeName }, 1],
    ['kubelet_cgroup_version', {}, readCgroupLayout('/proc/self/mountinfo').version],
    ['kubelet_metrics_provider', { provider: 'cadvisor' }, 1],
    ['kubelet_ts_native_addon', {}, native.kind === 'addon' ? 1 : 0],
    buildReading(),
    ...[...knownFeatureGates.values()].map(
      ({ name, stage }): KubeletReading => ['kubernetes_feature_enabled', { name, stage: stage === 'GA' ? '' : stage }, featureEnabled(loaded.gates, name) ? 1 : 0],
    ),
  ];
}

function buildReading(): KubeletReading {
  const version = reportedVersion();
  const [major = '', minor = ''] = version.slice(1).split('.');
  const labels = {
    ...{ major, minor, git_version: version, git_commit: '', git_tree_state: '', build_date: '' },
    ...{ go_version: '', compiler: `node ${process.version}`, platform: `${process.platform}/${process.arch}` },
  };
  return ['kubernetes_build_info', labels, 1];
}
