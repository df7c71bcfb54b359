// What is sent to the status subresource of a pod: only what changed, for exactly this pod.
// Invariant: the uid is always in it, so that a pod of the same name that came meanwhile is refused, not written to.
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import { type MergeKeys, strategicMergePatch } from '../api-cache/strategic-merge-patch.js';

/** As the API declares them; lists of container statuses are replaced whole. */
const mergeKeys: MergeKeys = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip', resourceClaimStatuses: 'name' };

export interface PodStatusPatch {
  readonly metadata: { readonly uid: string };
  readonly status: Readonly<Record<string, unknown>>;
}

/** null: nothing differs. @param base the pod as the API has it */
export function podStatusPatch(base: Pod, status: PodStatus): PodStatusPatch | null {
  const patch = strategicMergePatch((base.status ?? {}) as Readonly<Record<string, unknown>>, status as Readonly<Record<string, unknown>>, mergeKeys);
  return Object.keys(patch).length === 0 ? null : { metadata: { uid: base.metadata.uid ?? '' }, status: patch };
}
