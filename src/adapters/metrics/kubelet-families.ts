// The families of /metrics, /metrics/probes and /metrics/slis as data. Names, types, labels and buckets are upstream's, an interface; those that
// begin with `kubelet_ts_` are our own. What upstream has and this list has not is in docs/metrics.md with the reason.
// Invariant: labels take few values, but for those of pods, which go with their pod.
import { clientFamilies } from './client-families.js';
import { counter, gauge, histogram } from './family-kinds.js';

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const runtimeSeconds = Array.from({ length: 14 }, (_, n) => Number((0.005 * 2.5 ** n).toPrecision(17)));
const startSeconds = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];
const pullSeconds = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];
const statusSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];
const storageSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

const resizeMillis = [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000];

/** As Go computes them, to the last digit. */
const draSeconds = [
  ...[0.1, 0.1534127404634391, 0.23535468936502524, 0.36106407876409946, 0.5539182980610752, 0.849781240983936, 1.303672689737678, 1.9999999999999993],
  ...[3.0682548092687805, 4.7070937873005025, 7.221281575281985, 11.078365961221499, 16.995624819678714, 26.07345379475354, 39.99999999999997],
];

const httpLabels = ['long_running', 'method', 'path', 'server_type'] as const;
const labelled = ['access_mode', 'volume_plugin'] as const;
const alignmentLabels = ['boundary', 'scope'] as const;
const apiVersion = ['server_api_version'] as const;
const claimLabels = ['namespace', 'persistentvolumeclaim'] as const;
const buildLabels = ['major', 'minor', 'git_version', 'git_commit', 'git_tree_state', 'build_date', 'go_version', 'compiler', 'platform'] as const;

export const kubeletFamilies = {
  ...clientFamilies,
  kubelet_active_pods: gauge('Pods that are considered at admission, by whether they are static.', ['static']),
  kubelet_admission_rejections_total: counter('Pods that were refused, by reason.', ['reason']),
  kubelet_cgroup_manager_duration_seconds: histogram('Duration of operations on cgroups of pods, by operation.', seconds, ['operation_type']),
  kubelet_cgroup_version: gauge('Version of the cgroups of the host.'),
  kubelet_container_aligned_compute_resources_count: counter('Containers or pods that got resources with the alignment that the policy guarantees.', alignmentLabels),
  kubelet_container_aligned_compute_resources_failure_count: counter(
    'Containers or pods that could not get resources with the alignment that the policy guarantees.',
    alignmentLabels,
  ),
  kubelet_container_log_filesystem_used_bytes: gauge('Bytes that logs of a container take on disk.', ['container', 'namespace', 'pod', 'uid']),
  kubelet_container_requested_resizes_total: counter('Changes of the resources of running containers that the API requested.', ['operation', 'requirement', 'resource']),
  kubelet_containers_per_pod_count: histogram('Containers of each pod that was added.', [1, 2, 4, 8, 16]),
  kubelet_cpu_manager_allocation_per_numa: gauge('CPUs that containers have for themselves, by NUMA node.', ['numa_node']),
  kubelet_cpu_manager_exclusive_cpu_allocation_count: gauge('CPUs that containers have for themselves.'),
  kubelet_cpu_manager_pinning_errors_total: counter('Containers that were to have CPUs for themselves and could not.'),
  kubelet_cpu_manager_pinning_requests_total: counter('Containers that were to have CPUs for themselves.'),
  kubelet_cpu_manager_shared_pool_size_millicores: gauge('CPUs that containers share.'),
  kubelet_credential_provider_plugin_duration: histogram('Duration of runs of credential provider plugins, in seconds.', seconds, ['plugin_name']),
  kubelet_credential_provider_plugin_errors_total: counter('Runs of credential provider plugins that failed.', ['plugin_name']),
  kubelet_cri_losing_support: gauge('The runtime lacks what a later version will need.', ['version']),
  kubelet_desired_pods: gauge('Pods that the kubelet is told to run, by whether they are static.', ['static']),
  kubelet_first_network_pod_start_sli_duration_seconds: gauge('Start of the first pod with a network of its own, without image pulls.', [], 'INTERNAL'),
  kubelet_graceful_shutdown_start_time_seconds: gauge('When the last shutdown of the node began; 0: none is known of.'),
  kubelet_graceful_shutdown_end_time_seconds: gauge('When the pods had ended at the last shutdown of the node; 0: none is known of, or it goes on.'),
  kubelet_http_inflight_requests: gauge('Requests that are being answered.', httpLabels),
  kubelet_http_requests_duration_seconds: histogram('Duration of answered requests.', seconds, httpLabels),
  kubelet_http_requests_total: counter('Requests that were answered.', httpLabels),
  kubelet_image_garbage_collected_total: counter('Images that were removed as nothing used them, by reason: their age, or the space of the disk.', ['reason']),
  kubelet_image_manager_ensure_image_requests_total: counter('Images that containers needed.', ['present_locally', 'pull_policy', 'pull_required']),
  kubelet_image_pull_duration_seconds: histogram('Duration of image pulls, by size of the image.', pullSeconds, ['image_size_in_bytes']),
  kubelet_image_volume_mounted_errors_total: counter('Images that were to be volumes of containers that could not be made.', [], 'BETA'),
  kubelet_image_volume_mounted_succeed_total: counter('Images that are volumes of containers that were made.', [], 'BETA'),
  kubelet_eviction_stats_age_seconds: histogram('Age of the figures that pods were evicted by, by signal.', seconds, ['eviction_signal']),
  kubelet_evictions: counter('Pods that were evicted, by signal.', ['eviction_signal']),
  kubelet_image_volume_requested_total: counter('Images that pods needed as volumes.', [], 'BETA'),
  kubelet_imagemanager_image_mustpull_checks_total: counter('Checks whether a pod may use an image that is present, by result.', ['result']),
  kubelet_imagemanager_inmemory_pulledrecords_usage_percent: gauge('How full the memory for records of pulls is.'),
  kubelet_imagemanager_ondisk_pulledrecords: gauge('Records of pulls that are known of.'),
  kubelet_imagemanager_ondisk_pullintents: gauge('Pulls that are noted as begun.'),
  kubelet_lifecycle_handler_http_fallbacks_total: counter('Hooks over HTTPS that were answered over HTTP.'),
  kubelet_managed_ephemeral_containers: gauge('Ephemeral containers of pods of this node.'),
  kubelet_memory_manager_pinning_errors_total: counter('Containers that were to have memory of NUMA nodes and could not.'),
  kubelet_memory_manager_pinning_requests_total: counter('Containers that were to have memory of NUMA nodes.'),
  kubelet_metrics_provider: gauge('Where metrics of containers come from.', ['provider']),
  kubelet_mirror_pods: gauge('Mirror pods that are known.'),
  kubelet_node_name: gauge('The name of the node.', ['node']),
  kubelet_node_startup_duration_seconds: gauge('From the start of the host to the node being ready.'),
  kubelet_node_startup_post_registration_duration_seconds: gauge('From the registration of the node to its being ready.'),
  kubelet_node_startup_pre_kubelet_duration_seconds: gauge('From the start of the host to that of the kubelet.'),
  kubelet_node_startup_pre_registration_duration_seconds: gauge('From the start of the kubelet to the registration of the node.'),
  kubelet_node_startup_registration_duration_seconds: gauge('Duration of the registration of the node.'),
  kubelet_orphan_pod_cleaned_volumes: gauge('Orphaned pods whose volumes and directories the last pass over orphaned pods was to remove.'),
  kubelet_orphan_pod_cleaned_volumes_errors: gauge('Orphaned pods whose volumes or directories could not be removed, and that are tried again.'),
  kubelet_orphaned_runtime_pods_total: counter('Pods that only the runtime knew.'),
  kubelet_pleg_discard_events: counter('Events of containers that were dropped as nobody took them.'),
  kubelet_pleg_last_seen_seconds: gauge('When the runtime was last looked at as a whole.'),
  kubelet_pleg_pod_relist_duration_seconds: histogram('Duration of looks at single pods in the runtime.', seconds),
  kubelet_pleg_relist_duration_seconds: histogram('Duration of looks at all pods in the runtime.', seconds),
  kubelet_pleg_relist_interval_seconds: histogram('Time between two looks at all pods in the runtime.', seconds),
  kubelet_pod_deferred_accepted_resizes_total: counter('Resizes that were deferred and then accepted, by what made the kubelet try them again.', ['retry_trigger']),
  kubelet_pod_in_progress_resizes: gauge('Pods with a resize that is accepted and not complete.'),
  kubelet_pod_infeasible_resizes_total: counter('Attempts of resizes that this node can never do, by the reason.', ['reason_detail']),
  kubelet_pod_pending_resizes: gauge('Pods with a resize that is not accepted, by the reason.', ['reason']),
  kubelet_pod_resize_duration_milliseconds: histogram('Duration of the actuation of resizes, by success.', resizeMillis, ['success']),
  kubelet_pod_resources_endpoint_errors_get: counter('Calls of Get of the pod resources API that failed.', apiVersion),
  kubelet_pod_resources_endpoint_errors_get_allocatable: counter('Calls of GetAllocatableResources of the pod resources API that failed.', apiVersion),
  kubelet_pod_resources_endpoint_errors_list: counter('Calls of List of the pod resources API that failed.', apiVersion),
  kubelet_pod_resources_endpoint_requests_get: counter('Calls of Get of the pod resources API.', apiVersion),
  kubelet_pod_resources_endpoint_requests_get_allocatable: counter('Calls of GetAllocatableResources of the pod resources API.', apiVersion),
  kubelet_pod_resources_endpoint_requests_list: counter('Calls of List of the pod resources API.', apiVersion),
  kubelet_pod_resources_endpoint_requests_total: counter('Calls of the pod resources API.', apiVersion),
  kubelet_pod_start_duration_seconds: histogram('From the first sight of a pod to its running.', startSeconds),
  kubelet_pod_start_sli_duration_seconds: histogram('From the making of a pod to its running being seen, without image pulls.', startSeconds),
  kubelet_pod_start_total_duration_seconds: histogram('From the making of a pod to its running being seen.', startSeconds),
  kubelet_pod_status_sync_duration_seconds: histogram('From a change of a status to its being in the API.', statusSeconds),
  kubelet_pod_worker_duration_seconds: histogram('Duration of the work on a pod, by what it was for.', seconds, ['operation_type']),
  kubelet_pod_worker_start_duration_seconds: histogram('From the first sight of a pod to the first work on it.', seconds),
  kubelet_preemptions: counter('Pods that made room for critical ones, by what was lacking.', ['preemption_signal']),
  kubelet_restarted_pods_total: counter('Pods that came back under the uid of one that had ended.', ['static']),
  kubelet_run_podsandbox_duration_seconds: histogram('Duration of making sandboxes, by handler.', seconds, ['runtime_handler']),
  kubelet_run_podsandbox_errors_total: counter('Sandboxes that could not be made, by handler.', ['runtime_handler']),
  kubelet_running_containers: gauge('Containers, by state.', ['container_state']),
  kubelet_running_pods: gauge('Pods with a sandbox that is ready.'),
  kubelet_runtime_operations_duration_seconds: histogram('Duration of calls to the runtime.', runtimeSeconds, ['operation_type']),
  kubelet_runtime_operations_errors_total: counter('Calls to the runtime that failed.', ['operation_type']),
  kubelet_runtime_operations_total: counter('Calls to the runtime.', ['operation_type']),
  kubelet_sleep_action_terminated_early_total: counter('Sleep hooks that ended before their time, with their container or its grace period.'),
  kubelet_started_containers_errors_total: counter('Containers that could not be started, by why.', ['code', 'container_type']),
  kubelet_started_containers_total: counter('Containers whose start was tried.', ['container_type']),
  kubelet_started_pods_errors_total: counter('Pods whose sandbox could not be made.'),
  kubelet_started_pods_total: counter('Pods whose sandbox was tried to be made.'),
  kubelet_started_user_namespaced_pods_errors_total: counter('Pods with user namespaces whose sandbox could not be made.'),
  kubelet_started_user_namespaced_pods_total: counter('Pods with user namespaces whose sandbox was tried to be made.'),
  kubelet_terminated_containers_total: counter('Containers that ended, by how.', ['container_type', 'exit_code', 'reason']),
  kubelet_topology_manager_admission_errors_total: counter('Pods whose resources could not be given as asked for.'),
  kubelet_topology_manager_admission_requests_total: counter('Pods that were asked about as to which resources they are given.'),
  kubelet_volume_metric_collection_duration_seconds: histogram('Duration of looks at what a volume takes on disk.', seconds, ['metric_source']),
  kubelet_volume_stats_available_bytes: gauge('Bytes that are left of a claim.', claimLabels),
  kubelet_volume_stats_capacity_bytes: gauge('Bytes of a claim.', claimLabels),
  kubelet_volume_stats_health_status_abnormal: gauge('Whether the driver of a claim says that it is not well.', claimLabels),
  kubelet_volume_stats_inodes: gauge('Inodes of a claim.', claimLabels),
  kubelet_volume_stats_inodes_free: gauge('Inodes that are left of a claim.', claimLabels),
  kubelet_volume_stats_inodes_used: gauge('Inodes that are used of a claim.', claimLabels),
  kubelet_volume_stats_used_bytes: gauge('Bytes that are used of a claim.', claimLabels),
  kubelet_websocket_streaming_requests_total: counter('Streams by WebSocket, by what is streamed.', ['subresource']),
  kubelet_podcertificate_states: gauge('Certificates that pods of this node are given, by how they are.', ['signer_name', 'state']),
  kubelet_working_pods: gauge('Pods that are being worked on, by how far they are.', ['config', 'lifecycle', 'static']),
  kubernetes_build_info: gauge('What this program is.', buildLabels, 'BETA'),
  kubernetes_feature_enabled: gauge('Feature gates and whether they are on.', ['name', 'stage'], 'BETA'),
  registered_metrics_total: counter('Families that are registered, by stability.', ['deprecated_version', 'stability_level'], 'BETA'),
  plugin_manager_total_plugins: gauge('Sockets of plugins, registered and to be registered.', ['socket_path', 'state']),
  csi_operations_seconds: histogram('Duration of calls of CSI drivers.', storageSeconds, ['driver_name', 'grpc_status_code', 'method_name', 'migrated']),
  dra_grpc_operations_duration_seconds: histogram('Duration of calls of DRA drivers.', draSeconds, ['driver_name', 'grpc_status_code', 'method_name']),
  dra_operations_duration_seconds: histogram('Duration of preparing and unpreparing the claims of a pod.', draSeconds, ['is_error', 'operation_name']),
  dra_resource_claims_in_use: gauge('Claims for devices that are prepared, by driver.', ['driver_name']),
  reconstruct_volume_operations_errors_total: counter('Volumes that an earlier agent left, and that are not known again.'),
  reconstruct_volume_operations_total: counter('Volumes that an earlier agent left.'),
  storage_operation_duration_seconds: histogram('Duration of operations on volumes.', storageSeconds, ['migrated', 'operation_name', 'status', 'volume_plugin']),
  volume_manager_selinux_container_errors_total: gauge('Containers whose SELinux options make no label, and which may not start for it.', ['access_mode']),
  volume_manager_selinux_container_warnings_total: gauge('Containers whose SELinux options make no label, and which may start.', ['access_mode']),
  volume_manager_selinux_pod_context_mismatch_errors_total: gauge('Pods whose containers label one volume differently, and which may not start for it.', ['access_mode']),
  volume_manager_selinux_pod_context_mismatch_warnings_total: gauge('Pods whose containers label one volume differently, and which may start.', ['access_mode']),
  volume_manager_selinux_volume_context_mismatch_errors_total: gauge('Pods that want a volume with another SELinux label than others, and may not start for it.', labelled),
  volume_manager_selinux_volume_context_mismatch_warnings_total: gauge('Pods that want a volume with another SELinux label than others, and may start.', labelled),
  volume_manager_selinux_volumes_admitted_total: gauge('Volumes with an SELinux label that pods were given.', labelled),
  volume_manager_total_volumes: gauge('Volumes of this node, as they are and as they are to be.', ['plugin_name', 'state']),
  volume_operation_total_seconds: histogram('Duration of getting a volume ready or taking it down, with all tries.', storageSeconds, ['operation_name', 'plugin_name']),
  process_network_receive_bytes_total: counter('Bytes that the network namespace of this process received.'),
  process_network_transmit_bytes_total: counter('Bytes that the network namespace of this process sent.'),
  process_virtual_memory_max_bytes: gauge('How much virtual memory this process may have; -1: any.'),
  kubelet_ts_events_dropped_total: counter('Kubernetes events that were never written.'),
  kubelet_ts_lost_notices_total: counter('Times that notices of a source were lost, so that all was looked at anew.', ['source']),
  kubelet_ts_native_addon: gauge('1: the native addon is in use, 0: the fallback in JavaScript.'),
  kubelet_ts_pods_set_aside: gauge('Pods that the kubelet leaves alone because their input has ended it more than once.'),
  kubelet_ts_trace_spans_dropped_total: counter('Spans that never reached the collector of traces.'),
} as const;

export const probeFamilies = {
  prober_probe_duration_seconds: histogram('Duration of probes.', seconds, ['container', 'namespace', 'pod', 'probe_type']),
  prober_probe_total: counter('Probes, by result.', ['container', 'namespace', 'pod', 'pod_uid', 'probe_type', 'result'], 'BETA'),
  process_start_time_seconds: gauge('When this process began.'),
} as const;

export const healthFamilies = {
  kubernetes_healthcheck: gauge('Result of a health check.', ['name', 'type'], 'STABLE'),
  kubernetes_healthchecks_total: counter('Results of health checks.', ['name', 'status', 'type'], 'STABLE'),
  process_start_time_seconds: gauge('When this process began.'),
} as const;

export type KubeletFamilies = typeof kubeletFamilies;
export type ProbeFamilies = typeof probeFamilies;
