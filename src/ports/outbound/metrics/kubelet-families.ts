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
  kubelet_active_pods: gauge('Pods that the kubelet considers active at admission, by whether they are static.', ['static']),
  kubelet_admission_rejections_total: counter('Pods that admission rejected, by reason.', ['reason']),
  kubelet_cgroup_manager_duration_seconds: histogram('Duration of operations on the cgroups of pods, by operation.', seconds, ['operation_type']),
  kubelet_cgroup_version: gauge('Version of cgroups on the host.'),
  kubelet_container_aligned_compute_resources_count: counter('Containers or pods that got resources with the alignment that the policy guarantees.', alignmentLabels),
  kubelet_container_aligned_compute_resources_failure_count: counter(
    'Containers or pods that could not get resources with the alignment that the policy guarantees.',
    alignmentLabels,
  ),
  kubelet_container_log_filesystem_used_bytes: gauge('Bytes used by the logs of a container on disk.', ['container', 'namespace', 'pod', 'uid']),
  kubelet_container_requested_resizes_total: counter('Changes of the resources of running containers that the API requested.', ['operation', 'requirement', 'resource']),
  kubelet_containers_per_pod_count: histogram('Containers of each pod that was added.', [1, 2, 4, 8, 16]),
  kubelet_cpu_manager_allocation_per_numa: gauge('CPUs allocated exclusively to containers, by NUMA node.', ['numa_node']),
  kubelet_cpu_manager_exclusive_cpu_allocation_count: gauge('CPUs allocated exclusively to containers.'),
  kubelet_cpu_manager_pinning_errors_total: counter('Exclusive CPU allocations of containers that failed.'),
  kubelet_cpu_manager_pinning_requests_total: counter('Exclusive CPU allocations that containers required.'),
  kubelet_cpu_manager_shared_pool_size_millicores: gauge('Size of the CPU pool that containers share, in thousandths of a CPU.'),
  kubelet_credential_provider_plugin_duration: histogram('Duration of runs of credential provider plugins, in seconds.', seconds, ['plugin_name']),
  kubelet_credential_provider_plugin_errors_total: counter('Runs of credential provider plugins that failed.', ['plugin_name']),
  kubelet_cri_losing_support: gauge('The container runtime lacks a feature that a later version of the kubelet requires; the label has that version.', ['version']),
  kubelet_desired_pods: gauge('Pods that the kubelet is to run, by whether they are static.', ['static']),
  kubelet_first_network_pod_start_sli_duration_seconds: gauge('Start duration of the first pod with its own network, without image pulls.', [], 'INTERNAL'),
  kubelet_graceful_shutdown_start_time_seconds: gauge('Start time of the last graceful node shutdown, in seconds since the epoch; 0: none.'),
  kubelet_graceful_shutdown_end_time_seconds: gauge('End time of the last graceful node shutdown, in seconds since the epoch; 0: none, or not complete.'),
  kubelet_http_inflight_requests: gauge('Requests to the kubelet in progress.', httpLabels),
  kubelet_http_requests_duration_seconds: histogram('Duration of requests to the kubelet.', seconds, httpLabels),
  kubelet_http_requests_total: counter('Requests to the kubelet.', httpLabels),
  kubelet_image_garbage_collected_total: counter('Unused images that were removed, by reason: age or disk space.', ['reason']),
  kubelet_image_manager_ensure_image_requests_total: counter('Requests for images of containers.', ['present_locally', 'pull_policy', 'pull_required']),
  kubelet_image_pull_duration_seconds: histogram('Duration of image pulls, by size of the image.', pullSeconds, ['image_size_in_bytes']),
  kubelet_image_volume_mounted_errors_total: counter('Image volumes of containers that could not be created.', [], 'BETA'),
  kubelet_image_volume_mounted_succeed_total: counter('Image volumes of containers that were created.', [], 'BETA'),
  kubelet_eviction_stats_age_seconds: histogram('Age of the statistics on which an eviction was based, by signal.', seconds, ['eviction_signal']),
  kubelet_evictions: counter('Pods that were evicted, by signal.', ['eviction_signal']),
  kubelet_image_volume_requested_total: counter('Requests for image volumes.', [], 'BETA'),
  kubelet_imagemanager_image_mustpull_checks_total: counter('Checks whether a pod may use an image that is present, by result.', ['result']),
  kubelet_imagemanager_inmemory_pulledrecords_usage_percent: gauge('Usage of the in-memory cache of image pull records, in percent.'),
  kubelet_imagemanager_ondisk_pulledrecords: gauge('Image pull records on disk.'),
  kubelet_imagemanager_ondisk_pullintents: gauge('Image pull intents on disk.'),
  kubelet_lifecycle_handler_http_fallbacks_total: counter('Lifecycle hooks over HTTPS that fell back to HTTP.'),
  kubelet_managed_ephemeral_containers: gauge('Ephemeral containers in the pods of this node.'),
  kubelet_memory_manager_pinning_errors_total: counter('Memory allocations from NUMA nodes that failed.'),
  kubelet_memory_manager_pinning_requests_total: counter('Memory allocations from NUMA nodes that containers required.'),
  kubelet_metrics_provider: gauge('Provider of the container metrics.', ['provider']),
  kubelet_mirror_pods: gauge('Mirror pods that the kubelet tracks.'),
  kubelet_node_name: gauge('The name of the node.', ['node']),
  kubelet_node_startup_duration_seconds: gauge('Duration from the start of the host until the node is ready.'),
  kubelet_node_startup_post_registration_duration_seconds: gauge('Duration from the registration of the node until it is ready.'),
  kubelet_node_startup_pre_kubelet_duration_seconds: gauge('Duration from the start of the host until the start of the kubelet.'),
  kubelet_node_startup_pre_registration_duration_seconds: gauge('Duration from the start of the kubelet until the registration of the node begins.'),
  kubelet_node_startup_registration_duration_seconds: gauge('Duration of the registration of the node.'),
  kubelet_orphan_pod_cleaned_volumes: gauge('Orphaned pods whose volumes and directories the last pass over orphaned pods was to remove.'),
  kubelet_orphan_pod_cleaned_volumes_errors: gauge('Orphaned pods whose volumes or directories could not be removed, and that are tried again.'),
  kubelet_orphaned_runtime_pods_total: counter('Pods found in the runtime without a known pod object.'),
  kubelet_pleg_discard_events: counter('Pod lifecycle events discarded because the queue was full.'),
  kubelet_pleg_last_seen_seconds: gauge('Time of the last complete relist, in seconds since the epoch.'),
  kubelet_pleg_pod_relist_duration_seconds: histogram('Duration of the inspection of a single pod in the runtime.', seconds),
  kubelet_pleg_relist_duration_seconds: histogram('Duration of relists of the runtime.', seconds),
  kubelet_pleg_relist_interval_seconds: histogram('Interval between relists of the runtime.', seconds),
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
  kubelet_pod_start_duration_seconds: histogram('Duration from the first sight of a pod until it runs.', startSeconds),
  kubelet_pod_start_sli_duration_seconds: histogram('Duration from the creation of a pod until it is observed running, without image pulls.', startSeconds),
  kubelet_pod_start_total_duration_seconds: histogram('Duration from the creation of a pod until it is observed running.', startSeconds),
  kubelet_pod_status_sync_duration_seconds: histogram("Duration from a change of a pod's status until the API has it.", statusSeconds),
  kubelet_pod_worker_duration_seconds: histogram("Duration of a pod worker's sync of a pod, by operation.", seconds, ['operation_type']),
  kubelet_pod_worker_start_duration_seconds: histogram('Duration from the first sight of a pod until its worker starts.', seconds),
  kubelet_preemptions: counter('Pods preempted for critical pods, by the resource that was insufficient.', ['preemption_signal']),
  kubelet_restarted_pods_total: counter('Pods restarted under the UID of a pod that had been deleted.', ['static']),
  kubelet_run_podsandbox_duration_seconds: histogram('Duration of creating pod sandboxes, by runtime handler.', seconds, ['runtime_handler']),
  kubelet_run_podsandbox_errors_total: counter('Pod sandboxes that could not be created, by runtime handler.', ['runtime_handler']),
  kubelet_running_containers: gauge('Containers, by state.', ['container_state']),
  kubelet_running_pods: gauge('Pods with a sandbox that is ready.'),
  kubelet_runtime_operations_duration_seconds: histogram('Duration of calls to the runtime.', runtimeSeconds, ['operation_type']),
  kubelet_runtime_operations_errors_total: counter('Runtime operations that failed, by operation.', ['operation_type']),
  kubelet_runtime_operations_total: counter('Runtime operations, by operation.', ['operation_type']),
  kubelet_sleep_action_terminated_early_total: counter('Sleep hooks that ended before their time, with their container or its grace period.'),
  kubelet_started_containers_errors_total: counter('Containers that could not be started, by error code.', ['code', 'container_type']),
  kubelet_started_containers_total: counter('Container starts.', ['container_type']),
  kubelet_started_pods_errors_total: counter('Pod starts that failed.'),
  kubelet_started_pods_total: counter('Pod starts.'),
  kubelet_started_user_namespaced_pods_errors_total: counter('Starts of pods with user namespaces that failed.'),
  kubelet_started_user_namespaced_pods_total: counter('Starts of pods with user namespaces.'),
  kubelet_terminated_containers_total: counter('Containers that terminated, by exit code and reason.', ['container_type', 'exit_code', 'reason']),
  kubelet_topology_manager_admission_errors_total: counter('Pod admissions that failed because resources could not be aligned.'),
  kubelet_topology_manager_admission_requests_total: counter('Pod admissions with an alignment of resources.'),
  kubelet_volume_metric_collection_duration_seconds: histogram('Duration of measuring the disk usage of a volume, by source.', seconds, ['metric_source']),
  kubelet_volume_stats_available_bytes: gauge("Available bytes of a claim's volume.", claimLabels),
  kubelet_volume_stats_capacity_bytes: gauge("Capacity of a claim's volume, in bytes.", claimLabels),
  kubelet_volume_stats_health_status_abnormal: gauge("1: the CSI driver reports the claim's volume as abnormal, 0: it does not.", claimLabels),
  kubelet_volume_stats_inodes: gauge("Inodes of a claim's volume.", claimLabels),
  kubelet_volume_stats_inodes_free: gauge("Free inodes of a claim's volume.", claimLabels),
  kubelet_volume_stats_inodes_used: gauge("Used inodes of a claim's volume.", claimLabels),
  kubelet_volume_stats_used_bytes: gauge("Used bytes of a claim's volume.", claimLabels),
  kubelet_websocket_streaming_requests_total: counter('Streaming requests over WebSocket, by subresource.', ['subresource']),
  kubelet_podcertificate_states: gauge('Pod certificates of this node, by state.', ['signer_name', 'state']),
  kubelet_working_pods: gauge('Pods with a pod worker, by lifecycle.', ['config', 'lifecycle', 'static']),
  kubernetes_build_info: gauge('Build information of this program.', buildLabels, 'BETA'),
  kubernetes_feature_enabled: gauge('Feature gates and whether they are on.', ['name', 'stage'], 'BETA'),
  registered_metrics_total: counter('Registered metric families, by stability level.', ['deprecated_version', 'stability_level'], 'BETA'),
  plugin_manager_total_plugins: gauge('Sockets of plugins, registered and to be registered.', ['socket_path', 'state']),
  csi_operations_seconds: histogram('Duration of calls to CSI drivers.', storageSeconds, ['driver_name', 'grpc_status_code', 'method_name', 'migrated']),
  dra_grpc_operations_duration_seconds: histogram('Duration of calls to DRA drivers.', draSeconds, ['driver_name', 'grpc_status_code', 'method_name']),
  dra_operations_duration_seconds: histogram('Duration of preparing and unpreparing the claims of a pod.', draSeconds, ['is_error', 'operation_name']),
  dra_resource_claims_in_use: gauge('Prepared resource claims, by driver.', ['driver_name']),
  reconstruct_volume_operations_errors_total: counter('Volumes of an earlier kubelet that could not be reconstructed.'),
  reconstruct_volume_operations_total: counter('Volumes of an earlier kubelet that were reconstructed, or failed to be.'),
  storage_operation_duration_seconds: histogram('Duration of operations on volumes.', storageSeconds, ['migrated', 'operation_name', 'status', 'volume_plugin']),
  volume_manager_selinux_container_errors_total: gauge('Containers whose SELinux options give no label and may not start.', ['access_mode']),
  volume_manager_selinux_container_warnings_total: gauge('Containers whose SELinux options give no label and may start.', ['access_mode']),
  volume_manager_selinux_pod_context_mismatch_errors_total: gauge('Pods whose containers label a volume differently and may not start.', ['access_mode']),
  volume_manager_selinux_pod_context_mismatch_warnings_total: gauge('Pods whose containers label a volume differently and may start.', ['access_mode']),
  volume_manager_selinux_volume_context_mismatch_errors_total: gauge('Pods that need another SELinux label on a volume than other pods and may not start.', labelled),
  volume_manager_selinux_volume_context_mismatch_warnings_total: gauge('Pods that need another SELinux label on a volume than other pods and may start.', labelled),
  volume_manager_selinux_volumes_admitted_total: gauge('Volumes admitted with an SELinux label.', labelled),
  volume_manager_total_volumes: gauge('Volumes of this node in the actual and in the desired state.', ['plugin_name', 'state']),
  volume_operation_total_seconds: histogram('Duration of setting up or tearing down a volume, with all attempts.', storageSeconds, ['operation_name', 'plugin_name']),
  process_network_receive_bytes_total: counter('Bytes that the network namespace of this process received.'),
  process_network_transmit_bytes_total: counter('Bytes that the network namespace of this process sent.'),
  process_virtual_memory_max_bytes: gauge('Limit of the virtual memory of this process, in bytes; -1: none.'),
  kubelet_ts_events_dropped_total: counter('Kubernetes events that were never written.'),
  kubelet_ts_lost_notices_total: counter('Times that change notifications of a source were lost and everything was read again.', ['source']),
  kubelet_ts_native_addon: gauge('1: the native addon is in use, 0: the fallback in JavaScript.'),
  kubelet_ts_pods_set_aside: gauge('Pods that are set aside because their input ended the kubelet more than once.'),
  kubelet_ts_state_file_unwritten_seconds: gauge('Seconds for which a state file on disk has been out of date; 0: it is current.', ['file']),
  kubelet_ts_trace_spans_dropped_total: counter('Trace spans that were dropped.'),
} as const;

export const probeFamilies = {
  prober_probe_duration_seconds: histogram('Duration of probes.', seconds, ['container', 'namespace', 'pod', 'probe_type']),
  prober_probe_total: counter('Probes, by result.', ['container', 'namespace', 'pod', 'pod_uid', 'probe_type', 'result'], 'BETA'),
  process_start_time_seconds: gauge('Start time of this process, in seconds since the epoch.'),
} as const;

export const healthFamilies = {
  kubernetes_healthcheck: gauge('Result of a health check.', ['name', 'type'], 'STABLE'),
  kubernetes_healthchecks_total: counter('Results of health checks.', ['name', 'status', 'type'], 'STABLE'),
  process_start_time_seconds: gauge('Start time of this process, in seconds since the epoch.'),
} as const;

export type KubeletFamilies = typeof kubeletFamilies;
export type ProbeFamilies = typeof probeFamilies;
