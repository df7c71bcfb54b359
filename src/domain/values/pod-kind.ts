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

/** Values of the two built-in priority classes, which every cluster has and none can change. */
const builtInPriorities: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', systemCriticalPriority],
  ['system-node-critical', systemCriticalPriority + 1000],
]);

/**
 * A pod's priority; undefined: it isn't known. The apiserver resolves class names when it admits a pod. Static pods don't pass it: of the built-in classes
 * the value is known all the same (the reference takes it for 0, docs/differences.md).
 */
export function knownPriority({ spec }: Pod): number | undefined {
  return spec.priority ?? builtInPriorities.get(spec.priorityClassName ?? '');
}
