// The effective termination grace period of a pod: fixed when termination is requested, and never longer afterwards.
import type { Pod } from '../../ports/model/pod.js';

/**
 * Seconds, at least 1. `recorded` is the earlier decision (0: none). The API's deletion grace and the override each count only if they are shorter; the pod's
 * own grace period counts if neither is set.
 */
export function effectiveGracePeriod(recorded: number, pod: Pod, override: number | null): { readonly seconds: number; readonly shortened: boolean } {
  let seconds = recorded;
  let decided = false;
  for (const candidate of [pod.metadata.deletionGracePeriodSeconds ?? null, override]) {
    if (candidate === null || (seconds !== 0 && candidate >= seconds)) continue;
    seconds = candidate;
    decided = true;
  }
  if (!decided && seconds === 0) seconds = pod.spec.terminationGracePeriodSeconds ?? 0;
  seconds = Math.max(seconds, 1);
  return { seconds, shortened: recorded !== 0 && recorded !== seconds };
}
