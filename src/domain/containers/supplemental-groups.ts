// The supplemental groups of a pod's processes.
// Invariant: each source is passed to the runtime once, in the kubelet's fixed order; the runtime removes duplicates.
import type { PodSecurityContext } from '../../ports/model/pod.js';
import type { Resolved } from './namespaces.js';

export type GroupsPolicy = 'Merge' | 'Strict';

/** `Merge` adds the image's own groups, `Strict` doesn't (KEP-3619); null: not set. */
export function supplementalGroupsPolicy(context: PodSecurityContext | undefined): Resolved<GroupsPolicy | null> {
  const policy = context?.supplementalGroupsPolicy;
  if (policy === undefined) return { ok: true, value: null };
  if (policy === 'Merge' || policy === 'Strict') return { ok: true, value: policy };
  return { ok: false, message: `unsupported supplementalGroupsPolicy: ${policy}` };
}

/** @param volumeGroups groups that own the pod's volumes */
export function sandboxGroups(context: PodSecurityContext, volumeGroups: readonly number[]): readonly number[] {
  return [...fsGroup(context), ...volumeGroups, ...(context.supplementalGroups ?? [])];
}

export function containerGroups(context: PodSecurityContext | undefined, volumeGroups: readonly number[]): readonly number[] {
  return [...(context === undefined ? [] : fsGroup(context)), ...(context?.supplementalGroups ?? []), ...volumeGroups];
}

function fsGroup(context: PodSecurityContext): readonly number[] {
  return context.fsGroup === undefined ? [] : [context.fsGroup];
}
