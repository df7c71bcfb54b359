// The face of the metrics adapter.
export { type CadvisorContainer, CadvisorFamilies, type CadvisorFilesystem, type CadvisorMachine } from './cadvisor-families.js';
export type { HealthCheckOutcome, KubeletMetrics, KubeletReading, ProbeLabels, ServedLabels } from './kubelet-metrics.js';
export { familyTexts, type MetricFamily, metricNumber, metricsContentType } from './metrics-text.js';
export { type NodeResources, type ResourceContainer, type ResourceNumbers, type ResourcePod, resourceFamilies } from './resource-families.js';
