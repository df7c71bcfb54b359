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
//   nodeStatus                   the last that settles: its reports are never older than the agent's state
//   fileSource, urlSource        start last: what they deliver finds all others started

import { allocationManager } from './allocation-manager/part.js';
import { cgroups } from './cgroups/part.js';
import { containerGC } from './container-gc/part.js';
import { containerLogManager } from './container-log-manager/part.js';
import { draManager } from './dra-manager/part.js';
import { eventRecorder } from './event-recorder/part.js';
import { evictionManager } from './eviction-manager/part.js';
import { fileSource } from './file-source/part.js';
import { housekeeping } from './housekeeping/part.js';
import { imageGC } from './image-gc/part.js';
import { imageManager } from './image-manager/part.js';
import { mirrorClient } from './mirror-client/part.js';
import { nodeFacts } from './node-facts/part.js';
import { nodeLease } from './node-lease/part.js';
import { nodeShutdownManager } from './node-shutdown-manager/part.js';
import { nodeStatus } from './node-status/part.js';
import { objectManager, tokenManager } from './object-manager/part.js';
import { observedTimes } from './observed-times/part.js';
import type { Owner } from './ownership.js';
import type { AgentPart } from './part.js';
import { pleg } from './pleg/part.js';
import { pluginManager } from './plugin-manager/part.js';
import { podAdmission } from './pod-admission/part.js';
import { podCertificateManager } from './pod-certificate-manager/part.js';
import { podConfig } from './pod-config/part.js';
import { podWorkers } from './pod-workers/part.js';
import { probeManager } from './probe-manager/part.js';
import { reflectors } from './reflectors/part.js';
import { cpuManager, managerStateFiles } from './resource-managers/part.js';
import { runtimeState } from './runtime-state/part.js';
import { setAside, setAsideFile } from './set-aside/part.js';
import { statusManager } from './status-manager/part.js';
import { syncLoop } from './sync-loop/part.js';
import { urlSource } from './url-source/part.js';
import { volumeManager } from './volume-manager/part.js';

export const agentParts: readonly AgentPart<Owner>[] = [
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
