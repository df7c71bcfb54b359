// The kind of a pod, from its annotations and priority: static, mirror, critical.
import type { Pod } from '../../ports/model/pod.js';

/** The pod's source: `file`, `http` or `api`. Local to the kubelet. */
export const configSourceAnnotation = 'kubernetes.io/config.source';
/** On a mirror pod, the hash of the static pod that it shows in the API. */
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** Priority of system-cluster-critical; at or above it a pod is critical. */
export const systemCriticalPriority = 2_000_000_000;

/** Came from a manifest, not from the API server. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}

export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[configMirrorAnnotation] !== undefined;
}

/** May preempt others at admission and is spared by eviction. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= systemCriticalPriority;
}

/** Critical to the node itself: the last to be killed for memory. */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === 'system-node-critical';
}
