// The face of the node statistics: what is measured of the node and its pods, and the answers made from it.
export { AgentNodeStats } from './agent-node-stats.js';
export { type CadvisorAnswersOptions, cadvisorTexts } from './cadvisor-answers.js';
export { cadvisorMachine, deviceNames, rootFilesystems } from './cadvisor-host.js';
export { driverUsage } from './driver-usage.js';
export { processCounts, quotaUsage, spareDescriptors } from './host-numbers.js';
export { NodeSampler, type SampledCgroup } from './node-sampler.js';
export { filesystemNumbers, NodeStats } from './node-stats.js';
export { PodDiskUsage } from './pod-disk-usage.js';
export { ownCgroup } from './process-cgroup.js';
export { nodeStatsReading, resourcesOf, type SummaryAnswersOptions, type SummaryRules, summaryOf } from './summary-answers.js';
