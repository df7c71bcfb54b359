// oom_score_adj of a container: which process the kernel kills first when memory runs out. A Burstable container scores
// lower the larger the share of the machine that it requests.
// Invariant: -997 for node-critical containers, 1000 for BestEffort, from 3 up and never 1000 for Burstable, so that the
// kubelet and the runtime (-999) always outlive containers.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { isNodeCriticalPod } from '../values/pod-kind.js';
import { mustParseQuantity, quantityValue } from '../values/quantity.js';
import { podRequests } from './pod-resources.js';
import { podQosClass } from './qos-class.js';

const guaranteedScore = -997;
const bestEffortScore = 1000;
/** One above the lowest score that systemd units of the node use (2). */
const lowestBurstableScore = 3;

/** @param machineMemoryBytes memory of the machine, above 0 */
export function oomScoreAdjust(pod: Pod, container: Container, machineMemoryBytes: bigint): number {
  if (isNodeCriticalPod(pod)) return guaranteedScore;
  const qosClass = podQosClass(pod);
  if (qosClass === 'Guaranteed') return guaranteedScore;
  if (qosClass === 'BestEffort') return bestEffortScore;

  const share = unclaimedShare(pod);
  const scoreOf = (request: bigint): bigint => 1000n - (1000n * (request + share)) / machineMemoryBytes;
  let score = scoreOf(memoryRequest(container));
  if (isSidecar(pod, container)) {
    // A sidecar must not die before the containers that it serves.
    const smallest = pod.spec.containers.map((regular) => memoryRequest(regular)).reduce((a, b) => (b < a ? b : a));
    const highest = scoreOf(smallest);
    if (highest < score) score = highest;
  }
  if (score < BigInt(lowestBurstableScore)) return lowestBurstableScore;
  // More than 1000 takes containers that claim more than their pod does, which the API's validation refuses.
  return score === BigInt(bestEffortScore) ? bestEffortScore - 1 : Number(score);
}

/** Each container's share of the pod-level memory request beyond the containers' requests; negative if these exceed it. */
function unclaimedShare(pod: Pod): bigint {
  const podMemory = memoryRequest(pod.spec);
  if (podMemory === 0n) return 0n;
  const claimed = podRequests(pod, { excludeOverhead: true, skipPodLevel: true }).get('memory');
  const containers = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  return (podMemory - (claimed === undefined ? 0n : quantityValue(claimed))) / BigInt(containers);
}

function memoryRequest(unit: Pick<Container, 'resources'>): bigint {
  const text = unit.resources?.requests?.memory;
  return text === undefined ? 0n : quantityValue(mustParseQuantity(text));
}

function isSidecar(pod: Pod, container: Container): boolean {
  return isRestartableInit(container) && (pod.spec.initContainers ?? []).some((init) => init.name === container.name);
}
