// The kubelet's own metrics: what is counted from the start of the API on, and what the agent holds at each scrape.
import { type KubeletRoute, metricsRoute, plainText, type ServedRequest } from '../../../adapters/http-server/index.js';
import { readCgroupLayout } from '../../../adapters/linux/index.js';
import { type AgentGauges, metricsContentType } from '../../../adapters/metrics/index.js';
import type { AgentState } from '../../../domain/agent/agent-state.js';
import { longRunningLabel, methodLabel, pathLabel } from '../../../domain/authorization/request-metric-labels.js';
import { featureEnabled, knownFeatureGates } from '../../../domain/configuration/feature-gates.js';
import { isStaticPod } from '../../../domain/values/pod-kind.js';
import type { Resolver } from '../../bind-to.js';
import { reportedVersion } from '../../cli/version.js';
import { tokens } from '../../tokens.js';
import type { DaemonContext } from '../daemon-context.js';
import type { Teardown } from '../teardown.js';

export interface OwnMetrics {
  readonly routes: readonly KubeletRoute[];
  readonly onServed: (serverType: 'readonly' | 'readwrite') => (served: ServedRequest) => void;
}

export async function openOwnMetrics({ loaded }: DaemonContext, resolver: Resolver, teardown: Teardown, nodeName: string, startedMillis: number): Promise<OwnMetrics> {
  const { agent } = resolver.get(tokens.kernel).state;
  const { openKubeletMetrics } = await import('../../../adapters/metrics/kubelet-metrics.js');
  const metrics = openKubeletMetrics({
    nodeName,
    cgroupVersion: readCgroupLayout('/proc/self/mountinfo').version,
    build: buildLabels(),
    features: [...knownFeatureGates.values()].map(({ name, stage }) => ({ name, stage: stage === 'GA' ? '' : stage, enabled: featureEnabled(loaded.gates, name) })),
    gauges: () => gaugesOf(agent),
    startedMillis,
  });
  teardown.add('metrics', () => metrics.close());
  const observer = resolver.get(tokens.observer);
  observer.watch(metrics, agent);
  const queries = resolver.get(tokens.queries);
  const page = (pattern: string, text: () => Promise<string>, headers: Readonly<Record<string, string>> = {}) =>
    metricsRoute(pattern, { contentType: metricsContentType, headers, texts: async () => [await text()] });
  const slis = page('/metrics/slis', async () => {
    metrics.checked(queries.health());
    return metrics.slisText();
  });
  return {
    routes: [
      page('/metrics', metrics.text, { 'Process-Start-Time-Unix': String(Math.floor(startedMillis / 1000)) }),
      page('/metrics/probes', () => {
        observer.forgetGone();
        return metrics.probesText();
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
    onServed:
      (serverType) =>
      ({ method, path, startedMillis: begun, endedMillis }) =>
        metrics.served({ method: methodLabel(method), path: pathLabel(path), server_type: serverType, long_running: longRunningLabel(path) }, (endedMillis - begun) / 1000),
  };
}

function buildLabels(): Readonly<Record<string, string>> {
  const version = reportedVersion();
  const [major = '', minor = ''] = version.slice(1).split('.');
  return {
    ...{ major, minor, git_version: version, git_commit: '', git_tree_state: '', build_date: '' },
    ...{ go_version: '', compiler: `node ${process.version}`, platform: `${process.platform}/${process.arch}` },
  };
}

function gaugesOf({ cache, pods, pleg }: AgentState): AgentGauges {
  const runningContainers: Record<string, number> = {};
  let runningPods = 0;
  for (const { cached } of cache.entries.values()) {
    if (cached.kind !== 'status') continue;
    if (cached.status.sandboxes.some(({ state }) => state === 'ready')) runningPods++;
    for (const { state } of cached.status.containers) runningContainers[state] = (runningContainers[state] ?? 0) + 1;
  }
  const desired = [...pods.pods.values()];
  const desiredStaticPods = desired.filter(isStaticPod).length;
  return {
    ...{ runningPods, runningContainers, desiredStaticPods },
    desiredOtherPods: desired.length - desiredStaticPods,
    mirrorPods: pods.mirrors.size,
    plegLastSeenSeconds: Math.floor((pleg.lastRelist ?? 0) / 1e6),
  };
}
