// What the resource managers may take for alive: pods that are admitted, or just being so, and not yet over.
// Invariant: before all pod sources have reported nothing counts as gone.
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
