// The effective termination grace period of a pod: it is decided once termination is asked and never grows afterwards.
import type { Pod } from '../../ports/model/pod.js';

/**
 * Seconds, at least 1. `recorded` is what was decided before (0: nothing yet); the API's deletion grace and the killer's override
 * each count only where they are shorter; the pod's own grace period counts when neither says anything.
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
