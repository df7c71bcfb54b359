// Pods that are alive for the resource managers: admitted or in admission, and not finished.
// Invariant: no pod counts as removed before all pod sources have reported.
import type { Pod } from '../../ports/model/pod.js';

export interface ActivePods {
  /** Whether every pod source has delivered its first complete list. */
  readonly sourcesReady: boolean;
  hasPod(podUid: string): boolean;
  hasContainer(podUid: string, containerName: string): boolean;
}

/** `find` answers by uid. The pod under admission is among them. */
export function activePodsBy(find: (podUid: string) => Pod | undefined, sourcesReady: boolean): ActivePods {
  return {
    sourcesReady,
    hasPod: (podUid) => find(podUid) !== undefined,
    hasContainer: (podUid, containerName) => {
      const spec = find(podUid)?.spec;
      const named = ({ name }: { readonly name: string }): boolean => name === containerName;
      return spec !== undefined && ((spec.initContainers ?? []).some(named) || spec.containers.some(named));
    },
  };
}
