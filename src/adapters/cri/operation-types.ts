// The kubelet's names of CRI calls, the label `operation_type` of its kubelet_runtime_operations metrics.

const names: Readonly<Record<string, string>> = {
  RunPodSandbox: 'run_podsandbox',
  StopPodSandbox: 'stop_podsandbox',
  RemovePodSandbox: 'remove_podsandbox',
  PodSandboxStatus: 'podsandbox_status',
  ListPodSandbox: 'list_podsandbox',
  PodSandboxStats: 'podsandbox_stats',
  ListPodSandboxStats: 'list_podsandbox_stats',
  ListPodSandboxMetrics: 'list_podsandbox_metrics',
  UpdatePodSandboxResources: 'update_podsandbox_resources',
  UpdateContainerResources: 'update_container',
};

/** From a gRPC path, `/runtime.v1.RuntimeService/StartContainer`: `start_container`. Words are split at capitals, except for the kubelet's special cases. */
export function operationTypeOf(path: string): string {
  const method = path.slice(path.lastIndexOf('/') + 1);
  return names[method] ?? method.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase();
}
