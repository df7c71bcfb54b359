// The families of /metrics/resource: CPU, memory and swap of the node, its pods and their containers, with the times at which they were read.
// Invariant: an unknown value has no series; the scrape error series always exists.
import type { NodeResources, ResourceNumbers } from '../../ports/model/node-measurements.js';
import { labelText, MetricFamily } from './metrics-text.js';

export function resourceFamilies({ node, pods, failed }: NodeResources): readonly MetricFamily[] {
  const swapNote = 'Reported only on non-windows systems';
  const nodeFamilies: Families = {
    cpu: new MetricFamily('node_cpu_usage_seconds_total', 'counter', '[STABLE] Cumulative cpu time consumed by the node in core-seconds'),
    memory: new MetricFamily('node_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the node in bytes'),
    swap: new MetricFamily('node_swap_usage_bytes', 'gauge', `[ALPHA] Current swap usage of the node in bytes. ${swapNote}`),
  };
  const podFamilies: Families = {
    cpu: new MetricFamily('pod_cpu_usage_seconds_total', 'counter', '[STABLE] Cumulative cpu time consumed by the pod in core-seconds'),
    memory: new MetricFamily('pod_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the pod in bytes'),
    swap: new MetricFamily('pod_swap_usage_bytes', 'gauge', `[ALPHA] Current amount of the pod swap usage in bytes. ${swapNote}`),
  };
  const containerFamilies: Families = {
    cpu: new MetricFamily('container_cpu_usage_seconds_total', 'counter', '[STABLE] Cumulative cpu time consumed by the container in core-seconds'),
    memory: new MetricFamily('container_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the container in bytes'),
    swap: new MetricFamily('container_swap_usage_bytes', 'gauge', `[ALPHA] Current amount of the container swap usage in bytes. ${swapNote}`),
  };
  const started = new MetricFamily('container_start_time_seconds', 'gauge', '[STABLE] Start time of the container since unix epoch in seconds');
  const swapLimit = new MetricFamily('container_swap_limit_bytes', 'gauge', `[ALPHA] Current amount of the container swap limit in bytes. ${swapNote}`);
  const scrapeError = new MetricFamily('resource_scrape_error', 'gauge', '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise');
  if (node !== null) addNumbers(nodeFamilies, '', node);
  for (const pod of pods) {
    const podLabels = [['namespace', pod.namespace] as const, ['pod', pod.name] as const];
    addNumbers(podFamilies, labelText(podLabels), pod);
    for (const container of pod.containers) {
      const labels = labelText([['container', container.name], ...podLabels]);
      addNumbers(containerFamilies, labels, container);
      if (container.startedAtSeconds > 0) started.add(labels, container.startedAtSeconds, null);
      const { swap } = container;
      if (swap !== null && swap.availableBytes !== null) swapLimit.add(labels, swap.availableBytes + swap.usageBytes, swap.atMillis);
    }
  }
  scrapeError.add('', failed ? 1 : 0, null);
  return [...Object.values(nodeFamilies), ...Object.values(podFamilies), ...Object.values(containerFamilies), started, swapLimit, scrapeError];
}

interface Families {
  readonly cpu: MetricFamily;
  readonly memory: MetricFamily;
  readonly swap: MetricFamily;
}

function addNumbers(families: Families, labels: string, { cpu, memory, swap }: ResourceNumbers): void {
  if (cpu !== null) families.cpu.add(labels, cpu.usageCoreNanoSeconds / 1e9, cpu.atMillis);
  if (memory !== null) families.memory.add(labels, memory.workingSetBytes, memory.atMillis);
  if (swap !== null) families.swap.add(labels, swap.usageBytes, swap.atMillis);
}
