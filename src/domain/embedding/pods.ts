// Properties of a pod on a node, for embedders: its resources, its QoS class, its OOM score.
import type { Container, ResourceList } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { oomScoreAdjust } from '../qos/oom-score.js';
import type { PodResourcesOptions } from '../qos/pod-resources.js';
import * as podResources from '../qos/pod-resources.js';
import type { QosClass } from '../qos/qos-class.js';
import * as qosClass from '../qos/qos-class.js';
import * as podKind from '../values/pod-kind.js';
import { containerShape, podShape } from './api-object-shapes.js';
import { checkArgument, expected, flag, recordOf, type Shape } from './shape.js';

const optionsShape = recordOf({}, { excludeOverhead: flag, skipPodLevel: flag, useStatus: flag });

const memoryShape: Shape = (value, path) => (typeof value === 'bigint' && value > 0n ? null : expected(path, 'a bigint above 0', value));

/**
 * The requests of the whole pod: containers and sidecars together or the maximum during its start, pod-level resources (KEP-2837),
 * overhead (KEP-688). The scheduler's and the kubelet's count.
 * @returns quantities as texts, names in order
 * @throws AssertionFailed where an argument has another type
 */
export function podRequests(pod: Pod, options: PodResourcesOptions = {}): ResourceList {
  checkArgument('pod', pod, podShape);
  checkArgument('options', options, optionsShape);
  return podResources.resourceListOf(podResources.podRequests(pod, options));
}

/**
 * The limits of the whole pod; a resource without an entry is unlimited. Counted like its requests.
 * @returns quantities as texts, names in order
 * @throws AssertionFailed where an argument has another type
 */
export function podLimits(pod: Pod, options: PodResourcesOptions = {}): ResourceList {
  checkArgument('pod', pod, podShape);
  checkArgument('options', options, optionsShape);
  return podResources.resourceListOf(podResources.podLimits(pod, options));
}

/**
 * The pod's quality-of-service class. Its status takes precedence over its spec.
 * @throws AssertionFailed where `pod` is none
 */
export function podQosClass(pod: Pod): QosClass {
  checkArgument('pod', pod, podShape);
  return qosClass.podQosClass(pod);
}

/**
 * `oom_score_adj` (proc(5)) of a container, -997 to 1000: the kernel kills the highest first.
 * @param container one of the pod's
 * @param machineMemoryBytes memory of the machine, above 0
 * @throws AssertionFailed where an argument has another type
 */
export function oomScoreAdj(pod: Pod, container: Container, machineMemoryBytes: bigint): number {
  checkArgument('pod', pod, podShape);
  checkArgument('container', container, containerShape);
  checkArgument('machineMemoryBytes', machineMemoryBytes, memoryShape);
  return oomScoreAdjust(pod, container, machineMemoryBytes);
}

/**
 * Whether the pod may preempt others on its node and is spared by eviction: static and mirror pods, and those of priority 2000000000
 * (system-cluster-critical) up.
 * @throws AssertionFailed where `pod` is none
 */
export function isCriticalPod(pod: Pod): boolean {
  checkArgument('pod', pod, podShape);
  return podKind.isCriticalPod(pod);
}
