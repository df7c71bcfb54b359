// The grace period of a container's stop, in seconds.
// Invariant: the runtime gets at least two seconds to stop a container, even if less was requested.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';

/** Why a container is killed, where that matters to its grace period; the other reasons only explain. */
export type KillReason = 'LivenessProbe' | 'StartupProbe' | 'Unknown' | 'FailedPostStartHook' | 'RestartAllContainers' | '';

/** Even a forced kill leaves a process this long to close its files. */
export const minStopTimeoutSeconds = 2;

/**
 * The grace period of one container. An override (eviction, shutdown) replaces all others; then comes the API server's grace period at deletion. A probe's own
 * value counts only together with the pod's.
 */
export function containerGracePeriodSeconds(pod: Pod, container: Container, reason: KillReason, overrideSeconds: number | null): number {
  if (overrideSeconds !== null) return overrideSeconds;
  if (pod.metadata.deletionGracePeriodSeconds !== undefined) return pod.metadata.deletionGracePeriodSeconds;
  const podSeconds = pod.spec.terminationGracePeriodSeconds;
  if (podSeconds === undefined) return minStopTimeoutSeconds;
  const probe = reason === 'LivenessProbe' ? container.livenessProbe : reason === 'StartupProbe' ? container.startupProbe : undefined;
  return probe?.terminationGracePeriodSeconds ?? podSeconds;
}
