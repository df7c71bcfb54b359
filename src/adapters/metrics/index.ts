// The face of the metrics adapter.
export { type CadvisorContainer, CadvisorFamilies, type CadvisorFilesystem, type CadvisorMachine } from './cadvisor-families.js';
export type { HealthCheckOutcome, KubeletMetrics } from './kubelet-metrics.js';
export { familyTexts, type MetricFamily, metricNumber, metricsContentType } from './metrics-text.js';
export { resourceFamilies } from './resource-families.js';
