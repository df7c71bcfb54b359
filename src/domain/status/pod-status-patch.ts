// The patch of a pod's status subresource: only the changes, for exactly this pod.
// Invariant: it always has the UID, so that the server rejects it for a new pod of the same name.
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import { type MergeKeys, strategicMergePatch } from '../api-cache/strategic-merge-patch.js';
import { derived } from '../values/derived.js';

/** As the API declares them; lists of container statuses are replaced as a whole. */
const mergeKeys: MergeKeys = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip', resourceClaimStatuses: 'name' };

/** Members that the API's types hold by value: empty and absent are equal, and servers keep an empty one or not. */
const heldByValue: ReadonlySet<string> = new Set(['state', 'lastState', 'allocatedResources', 'limits', 'requests']);

type Members = Readonly<Record<string, unknown>>;

const sentStatus = derived((status: PodStatus): Members => {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses, resources, ...rest } = status;
  const lists = { containerStatuses, initContainerStatuses, ephemeralContainerStatuses };
  const sent: Record<string, unknown> = withoutEmpty(rest);
  for (const [name, list] of Object.entries(lists)) if (list !== undefined) sent[name] = list.map(sentContainer);
  if (resources !== undefined) sent.resources = withoutEmpty(resources);
  return sent;
});

const sentContainer = derived((status: ContainerStatus): Members => {
  const { resources, ...rest } = status;
  return { ...withoutEmpty(rest), ...(resources === undefined ? {} : { resources: withoutEmpty(resources) }) };
});

function withoutEmpty(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => value !== undefined && !(heldByValue.has(name) && isEmpty(value))));
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

export interface PodStatusPatch {
  readonly metadata: { readonly uid: string };
  readonly status: Readonly<Record<string, unknown>>;
}

/** null: nothing differs. @param base the pod as the API has it */
export function podStatusPatch(base: Pod, status: PodStatus): PodStatusPatch | null {
  const patch = strategicMergePatch(sentStatus(base.status ?? {}), sentStatus(status), mergeKeys);
  return Object.keys(patch).length === 0 ? null : { metadata: { uid: base.metadata.uid ?? '' }, status: patch };
}
