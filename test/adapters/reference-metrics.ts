// The families of two recorded kubelets of v1.36 (test/reference/metrics.tsv, test/reference/port.json), and the differences of this kubelet.
// Invariant: each difference has its reason, which docs/metrics.md gives under the same name; one that matches nothing fails the test.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface RecordedFamily {
  readonly endpoint: string;
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly stability: string;
}

const textOf = (name: string): string => readFileSync(fileURLToPath(new URL(`../../../test/reference/${name}`, import.meta.url)), 'utf8');

/** Of the node that was recorded without an apiserver, and of one in a cluster with pods of many kinds. */
export function recordedFamilies(): readonly RecordedFamily[] {
  const all = new Map<string, RecordedFamily>();
  for (const family of [...aloneFamilies(), ...clusterFamilies()]) {
    const key = `${family.endpoint} ${family.name}`;
    const known = all.get(key);
    all.set(key, known === undefined ? family : { ...known, labels: [...new Set([...known.labels, ...family.labels])].sort() });
  }
  return [...all.values()];
}

function aloneFamilies(): readonly RecordedFamily[] {
  return textOf('metrics.tsv')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [endpoint = '', name = '', type = '', labels = '', stability = ''] = line.split('\t');
      return { endpoint, name, type, labels: namesIn(labels), stability };
    });
}

function clusterFamilies(): readonly RecordedFamily[] {
  const { metrics } = JSON.parse(textOf('port.json')) as { readonly metrics: Readonly<Record<string, Readonly<Record<string, string>>>> };
  return Object.entries(metrics).flatMap(([endpoint, families]) =>
    Object.entries(families).map(([name, declared]) => {
      const [type = '', labels = '', stability = ''] = declared.split(' ');
      return { endpoint, name, type, labels: namesIn(labels), stability };
    }),
  );
}

function namesIn(labels: string): readonly string[] {
  return labels === '' ? [] : labels.split(',');
}

/** A name, or with `*` at its end all names that begin so. */
export type Difference = readonly [name: string, reason: string];

export function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

const goRuntime = 'there is no Go runtime here: nodejs_* covers the event loop, the garbage collector and the heap';
const apiMachinery = 'belongs to a library that every Kubernetes server includes; no code of a kubelet changes its value';
const transports = 'connections are kept by identity, not in a cache; the log reports credential programs';
const constantZero = 'always 0 in the Go kubelet, which plans to remove it';

/** Recorded, and not here. */
export const leftOut: readonly Difference[] = [
  ['go_*', goRuntime],
  ['aggregator_discovery_*', apiMachinery],
  ['apiserver_audit_*', apiMachinery],
  ['apiserver_envelope_*', apiMachinery],
  ['apiserver_storage_*', apiMachinery],
  ['apiserver_validation_*', apiMachinery],
  ['apiserver_webhooks_*', apiMachinery],
  ['rest_client_exec_plugin_*', transports],
  ['rest_client_transport_*', transports],
  ['cardinality_enforcement_unexpected_categorizations_total', apiMachinery],
  ['disabled_metrics_total', 'no family can be switched off'],
  ['hidden_metrics_total', 'no family is hidden'],
  ['workqueue_*', 'no library queues the work: one machine decides, and ARCHITECTURE.md lists the limits of its queues'],
  ['force_cleaned_failed_volume_*', 'volumes that a killed kubelet left are torn down by the same operations as others, and counted there'],
  ['kubelet_topology_manager_admission_duration_ms', 'the machine has no clock that runs during a decision'],
  ['kubelet_evented_pleg_connection_*', 'the event stream is counted with the calls to the runtime (get_container_events)'],
  ['kubelet_imagemanager_inmemory_pullintents_usage_percent', 'pull intents have no separate bounded memory'],
  ['kubelet_pod_watch_events_dropped_total', 'this kubelet offers no watch of its pods'],
  ['scrape_error', 'deprecated, and hidden unless asked for: `resource_scrape_error` says the same'],
  ['container_cpu_load_*', constantZero],
  ['container_tasks_state', constantZero],
  ['container_health_state', constantZero],
  ['machine_cpu_books', 'of mainframes'],
  ['machine_cpu_drawers', 'of mainframes'],
  ['machine_nvm_*', 'a constant 0 without persistent memory'],
];

/** Upstream's, but not in that recording, as nothing in it made them show. */
export const notRecorded: readonly string[] = [
  'apiserver_delegated_authn_request_duration_seconds',
  'apiserver_delegated_authn_request_total',
  'kubelet_container_aligned_compute_resources_count',
  'kubelet_container_aligned_compute_resources_failure_count',
  'kubelet_pod_deferred_accepted_resizes_total',
  'kubelet_pod_infeasible_resizes_total',
  'kubelet_pod_resources_endpoint_errors_get',
  'kubelet_pod_resources_endpoint_errors_get_allocatable',
  'kubelet_pod_resources_endpoint_errors_list',
  'kubelet_pod_resources_endpoint_requests_get',
  'kubelet_pod_resources_endpoint_requests_get_allocatable',
  'plugin_manager_total_plugins',
  'volume_manager_selinux_container_errors_total',
  'volume_manager_selinux_container_warnings_total',
  'volume_manager_selinux_pod_context_mismatch_errors_total',
  'volume_manager_selinux_pod_context_mismatch_warnings_total',
  'volume_manager_selinux_volume_context_mismatch_errors_total',
  'volume_manager_selinux_volume_context_mismatch_warnings_total',
  'volume_manager_selinux_volumes_admitted_total',
  'kubelet_eviction_stats_age_seconds',
  'kubelet_podcertificate_states',
  'kubelet_volume_stats_health_status_abnormal',
  'kubelet_certificate_manager_client_expiration_renew_errors',
  'kubelet_certificate_manager_client_ttl_seconds',
  'kubelet_certificate_manager_server_rotation_seconds',
  'kubelet_certificate_manager_server_ttl_seconds',
  'kubelet_server_expiration_renew_errors',
  'rest_client_request_retries_total',
  'kubelet_credential_provider_plugin_duration',
  'kubelet_credential_provider_plugin_errors_total',
  'kubelet_image_garbage_collected_total',
  'kubelet_image_pull_duration_seconds',
  'kubelet_preemptions',
  'kubelet_run_podsandbox_errors_total',
  'container_fs_reads_bytes_total',
  'container_fs_writes_bytes_total',
  'container_pressure_cpu_stalled_seconds_total',
  'container_pressure_cpu_waiting_seconds_total',
  'container_pressure_io_stalled_seconds_total',
  'container_pressure_io_waiting_seconds_total',
  'container_pressure_memory_stalled_seconds_total',
  'container_pressure_memory_waiting_seconds_total',
];

/** Only this agent's. */
export const ours: readonly Difference[] = [
  ['kubelet_cpu_manager_allocation_per_numa', 'the reference has it as soon as a container has CPUs of its own; the recorded node had none'],
  ['dra_grpc_operations_duration_seconds', 'the reference has it as soon as a DRA driver is called; the recorded node had none'],
  ['csi_operations_seconds', 'the reference has it as soon as a CSI driver is called; the recorded node had none'],
  ['kubelet_ts_*', 'what only this agent has: its addon, notices that were lost, events that were dropped, state files that cannot be written'],
  ['nodejs_*', goRuntime],
  ['process_cpu_user_seconds_total', 'prom-client splits the CPU time'],
  ['process_cpu_system_seconds_total', 'prom-client splits the CPU time'],
  ['process_heap_bytes', 'prom-client reports the data segment'],
];
