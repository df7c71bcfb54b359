// The name of a pod's log directory below the logs root, as log collectors parse it.
import type { Pod } from '../../ports/model/pod.js';

/** `<namespace>_<name>_<uid>` */
export function podLogDirectoryName(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}_${pod.metadata.name}_${pod.metadata.uid ?? ''}`;
}
