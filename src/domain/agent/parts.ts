// The parts of an agent, in their order: at its start they begin in this order, and at the end of each step they settle in this order.
//
// Why it is this order:
//   nodeFacts, setAside          before all others: what they know decides what the others may do
//   runtimeState, pleg           before all that waits for the runtime
//   syncLoop, podWorkers         resume and forget pods before others look at which there are
//   volumeManager, podAdmission  end or start pods whose condition is fulfilled in this step
//   housekeeping ... nodeShutdownManager   look at the pods that are left
//   cgroups, statusManager       write what the step has led to
//   cpuManager ... observedTimes files after them: they hold the state after the step
//   nodeStatus                   last: its reports are never older than the agent's state

import type { AgentPart } from './part.js';
import { objectManager, podCertificateManager, reflectors, tokenManager } from './parts/api-parts.js';
import { eventRecorder, nodeLease, nodeStatus } from './parts/cluster-parts.js';
import { evictionManager, nodeFacts, nodeShutdownManager } from './parts/node-parts.js';
import { housekeeping, mirrorClient, podAdmission, podWorkers, probeManager, statusManager, syncLoop } from './parts/pod-parts.js';
import { allocationManager, cgroups, cpuManager, draManager, managerStateFiles } from './parts/resource-parts.js';
import { containerGC, containerLogManager, imageGC, imageManager, pleg, runtimeState } from './parts/runtime-parts.js';
import { fileSource, observedTimes, podConfig, setAside, setAsideFile, urlSource } from './parts/source-parts.js';
import { pluginManager, volumeManager } from './parts/storage-parts.js';

export const agentParts: readonly AgentPart[] = [
  nodeFacts,
  setAside,
  podConfig,
  runtimeState,
  pleg,
  syncLoop,
  podWorkers,
  probeManager,
  imageManager,
  volumeManager,
  reflectors,
  objectManager,
  tokenManager,
  podCertificateManager,
  mirrorClient,
  pluginManager,
  podAdmission,
  housekeeping,
  containerGC,
  imageGC,
  evictionManager,
  nodeShutdownManager,
  containerLogManager,
  cgroups,
  statusManager,
  cpuManager,
  managerStateFiles,
  draManager,
  allocationManager,
  setAsideFile,
  observedTimes,
  eventRecorder,
  nodeStatus,
  nodeLease,
  fileSource,
  urlSource,
];
