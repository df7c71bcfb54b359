// The kubelet's own families for /metrics, /metrics/probes and /metrics/slis: names, types, help and labels are upstream's, an interface.
// Not in the face of this folder, and loaded with `import()`: an agent without an API never pays for prom-client.
//
// Invariant: labels take few values, but for those of probes, which go with their pod.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const runtimeBuckets = Array.from({ length: 14 }, (_, n) => Number((0.005 * 2.5 ** n).toPrecision(17)));
const startBuckets = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

export interface ServedLabels {
  readonly method: string;
  readonly path: string;
  readonly server_type: 'readonly' | 'readwrite';
  readonly long_running: 'true' | 'false';
}

export interface ProbeLabels {
  readonly probe_type: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
}

/** What the agent holds at the moment of a scrape. */
export interface AgentGauges {
  readonly runningPods: number;
  readonly runningContainers: Readonly<Record<string, number>>;
  readonly desiredStaticPods: number;
  readonly desiredOtherPods: number;
  readonly mirrorPods: number;
  readonly plegLastSeenSeconds: number;
}

export interface KubeletMetricsOptions {
  readonly nodeName: string;
  readonly cgroupVersion: number;
  readonly build: Readonly<Record<string, string>>;
  readonly features: readonly { readonly name: string; readonly stage: string; readonly enabled: boolean }[];
  readonly gauges: () => AgentGauges;
  readonly startedMillis: number;
}

export type KubeletMetrics = ReturnType<typeof openKubeletMetrics>;

export function openKubeletMetrics(options: KubeletMetricsOptions) {
  const registry = new Registry();
  const probes = new Registry();
  const slis = new Registry();
  collectDefaultMetrics({ register: registry });
  const make = families(registry);
  const operations = runtimeFamilies(make);
  const http = httpFamilies(make);
  const pods = podFamilies(make);
  agentFamilies(make, options);
  steadyFamilies(make, options);
  const prober = proberFamilies(families(probes));
  const health = healthFamilies(families(slis));
  for (const other of [probes, slis]) {
    const started = new Gauge({ name: 'process_start_time_seconds', help: '[ALPHA] Start time of the process since unix epoch in seconds.', registers: [other] });
    started.set(options.startedMillis / 1000);
  }
  return {
    ...operations,
    ...http,
    ...pods,
    ...prober,
    ...health,
    text: () => registry.metrics(),
    probesText: () => probes.metrics(),
    slisText: () => slis.metrics(),
    close: () => registry.clear(),
  };
}

interface Families {
  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label>;
  gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[], collect?: (gauge: Gauge<Label>) => void): Gauge<Label>;
  histogram<Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: readonly number[]): Histogram<Label>;
}

function families(registry: Registry): Families {
  const registers = [registry];
  return {
    counter: (name, help, labelNames) => new Counter({ name, help, labelNames: [...labelNames], registers }),
    gauge: (name, help, labelNames, collect) =>
      new Gauge({
        ...{ name, help, labelNames: [...labelNames], registers },
        ...(collect === undefined
          ? {}
          : {
              collect() {
                collect(this as never);
              },
            }),
      }),
    histogram: (name, help, labelNames, buckets) => new Histogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers }),
  };
}

function runtimeFamilies({ counter, histogram }: Families) {
  const total = counter('kubelet_runtime_operations_total', '[ALPHA] Cumulative number of runtime operations by operation type.', ['operation_type']);
  const errors = counter('kubelet_runtime_operations_errors_total', '[ALPHA] Cumulative number of runtime operation errors by operation type.', ['operation_type']);
  const help = '[ALPHA] Duration in seconds of runtime operations. Broken down by operation type.';
  const duration = histogram('kubelet_runtime_operations_duration_seconds', help, ['operation_type'], runtimeBuckets);
  const runHelp = '[ALPHA] Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.';
  const runSandbox = histogram('kubelet_run_podsandbox_duration_seconds', runHelp, ['runtime_handler'], seconds);
  const runErrorsHelp = '[ALPHA] Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.';
  const runErrors = counter('kubelet_run_podsandbox_errors_total', runErrorsHelp, ['runtime_handler']);
  return {
    runtimeOperation(type: string, tookSeconds: number, failed: boolean): void {
      total.inc({ operation_type: type });
      duration.observe({ operation_type: type }, tookSeconds);
      if (failed) errors.inc({ operation_type: type });
    },
    sandboxRun(handler: string, tookSeconds: number, failed: boolean): void {
      runSandbox.observe({ runtime_handler: handler }, tookSeconds);
      if (failed) runErrors.inc({ runtime_handler: handler });
    },
  };
}

function httpFamilies({ counter, histogram }: Families) {
  const labels = ['method', 'path', 'server_type', 'long_running'] as const;
  const total = counter('kubelet_http_requests_total', '[ALPHA] Number of the http requests received since the server started', labels);
  const duration = histogram('kubelet_http_requests_duration_seconds', '[ALPHA] Duration in seconds to serve http requests', labels, seconds);
  return {
    served(of: ServedLabels, tookSeconds: number): void {
      total.inc({ ...of });
      duration.observe({ ...of }, tookSeconds);
    },
  };
}

function podFamilies({ counter, histogram }: Families) {
  const startedPods = counter('kubelet_started_pods_total', '[ALPHA] Cumulative number of pods started', []);
  const startedPodErrors = counter('kubelet_started_pods_errors_total', '[ALPHA] Cumulative number of errors when starting pods', []);
  const workerHelp = '[ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync';
  const worker = histogram('kubelet_pod_worker_duration_seconds', workerHelp, ['operation_type'], seconds);
  const startHelp = '[ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run';
  const start = histogram('kubelet_pod_start_duration_seconds', startHelp, [], startBuckets);
  const cgroupHelp = '[ALPHA] Duration in seconds for cgroup manager operations. Broken down by method.';
  const cgroup = histogram('kubelet_cgroup_manager_duration_seconds', cgroupHelp, ['operation_type'], seconds);
  const relist = histogram('kubelet_pleg_relist_duration_seconds', '[ALPHA] Duration in seconds for relisting pods in PLEG.', [], seconds);
  const interval = histogram('kubelet_pleg_relist_interval_seconds', '[ALPHA] Interval in seconds between relisting in PLEG.', [], seconds);
  return {
    sandboxStarted(failed: boolean): void {
      startedPods.inc();
      if (failed) startedPodErrors.inc();
    },
    podWorker: (operation: string, tookSeconds: number) => worker.observe({ operation_type: operation }, tookSeconds),
    podRuns: (tookSeconds: number) => start.observe(tookSeconds),
    cgroupOperation: (operation: string, tookSeconds: number) => cgroup.observe({ operation_type: operation }, tookSeconds),
    relisted: (tookSeconds: number) => relist.observe(tookSeconds),
    relistedAfter: (intervalSeconds: number) => interval.observe(intervalSeconds),
  };
}

function agentFamilies({ gauge }: Families, { gauges }: KubeletMetricsOptions): void {
  gauge('kubelet_running_pods', '[ALPHA] Number of pods that have a running pod sandbox', [], (one) => one.set(gauges().runningPods));
  gauge('kubelet_running_containers', '[ALPHA] Number of containers currently running', ['container_state'], (one) => {
    one.reset();
    for (const [state, count] of Object.entries(gauges().runningContainers)) one.set({ container_state: state }, count);
  });
  const desiredHelp = '[ALPHA] The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.';
  gauge('kubelet_desired_pods', desiredHelp, ['static'], (one) => {
    one.set({ static: 'true' }, gauges().desiredStaticPods);
    one.set({ static: '' }, gauges().desiredOtherPods);
  });
  const mirrorHelp = '[ALPHA] The number of mirror pods the kubelet will try to create (one per admitted static pod)';
  gauge('kubelet_mirror_pods', mirrorHelp, [], (one) => one.set(gauges().mirrorPods));
  gauge('kubelet_pleg_last_seen_seconds', '[ALPHA] Timestamp in seconds when PLEG was last seen active.', [], (one) => one.set(gauges().plegLastSeenSeconds));
}

function steadyFamilies({ gauge }: Families, { nodeName, cgroupVersion, build, features }: KubeletMetricsOptions): void {
  gauge('kubelet_node_name', "[ALPHA] The node's name. The count is always 1.", ['node']).set({ node: nodeName }, 1);
  gauge('kubelet_cgroup_version', '[ALPHA] cgroup version on the hosts.', []).set(cgroupVersion);
  const providerHelp = '[ALPHA] Identifies the metrics provider that the kubelet is using. The count is always 1.';
  gauge('kubelet_metrics_provider', providerHelp, ['provider']).set({ provider: 'cadvisor' }, 1);
  const buildHelp =
    "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, " +
    'and compiler from which Kubernetes was built, and platform on which it is running.';
  gauge('kubernetes_build_info', buildHelp, Object.keys(build)).set({ ...build }, 1);
  const enabled = gauge('kubernetes_feature_enabled', '[BETA] This metric records the data about the stage and enablement of a k8s feature.', ['name', 'stage']);
  for (const { name, stage, enabled: on } of features) enabled.set({ name, stage }, on ? 1 : 0);
}

function proberFamilies({ counter, histogram }: Families) {
  const help = '[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.';
  const total = counter('prober_probe_total', help, ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid']);
  const duration = histogram('prober_probe_duration_seconds', '[ALPHA] Duration in seconds for a probe response.', ['probe_type', 'container', 'pod', 'namespace'], seconds);
  return {
    probed(of: ProbeLabels, podUid: string, result: string, tookSeconds: number): void {
      total.inc({ ...of, result, pod_uid: podUid });
      duration.observe({ ...of }, tookSeconds);
    },
    /** The series of a container's probe that is over. */
    forgetProbe(of: ProbeLabels, podUid: string): void {
      for (const result of ['successful', 'failed', 'unknown']) total.remove({ ...of, result, pod_uid: podUid });
      duration.remove({ ...of });
    },
  };
}

function healthFamilies({ counter, gauge }: Families) {
  const state = gauge('kubernetes_healthcheck', '[STABLE] This metric records the result of a single healthcheck.', ['name', 'type']);
  const total = counter('kubernetes_healthchecks_total', '[STABLE] This metric records the results of all healthcheck.', ['name', 'type', 'status']);
  return {
    checked(checks: readonly { readonly name: string; readonly failure: string | null }[]): void {
      for (const { name, failure } of checks) {
        state.set({ name, type: 'healthz' }, failure === null ? 1 : 0);
        total.inc({ name, type: 'healthz', status: failure === null ? 'success' : 'error' });
      }
    },
    resetHealth(): void {
      state.reset();
      total.reset();
    },
  };
}
