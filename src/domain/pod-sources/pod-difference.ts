// Compares two versions of a pod in the fields that the kubelet acts on, and updates a stored pod from a newer one.
// Compares spec, labels, deletion fields and annotations except the kubelet's own; status separately. Ignores all else (resourceVersion, owners, finalizers).
import type { Pod } from '../../ports/model/pod.js';
import { configMirrorAnnotation, configSourceAnnotation } from '../values/pod-kind.js';

/** When the kubelet first saw the pod. */
export const configSeenAnnotation = 'kubernetes.io/config.seen';

/** Written by the kubelet itself: no change when they differ, and a stored value outlives a new version of the pod. */
const localAnnotations: readonly string[] = [configSourceAnnotation, configMirrorAnnotation, configSeenAnnotation];

export type PodDifference = 'none' | 'status' | 'semantic';

export function differenceOf(stored: Pod, incoming: Pod): PodDifference {
  const a = stored.metadata;
  const b = incoming.metadata;
  const isSame =
    a.deletionTimestamp === b.deletionTimestamp &&
    a.deletionGracePeriodSeconds === b.deletionGracePeriodSeconds &&
    isEqualJson(a.labels, b.labels) &&
    hasEqualAnnotations(a.annotations ?? {}, b.annotations ?? {}) &&
    isEqualJson(stored.spec, incoming.spec);
  if (!isSame) return 'semantic';
  return isEqualJson(stored.status, incoming.status) ? 'none' : 'status';
}

/** The stored pod with only its status replaced; everything else stays the same objects. */
export function withStatusOf(stored: Pod, incoming: Pod): Pod {
  const { status: _old, ...rest } = stored;
  return incoming.status === undefined ? rest : { ...rest, status: incoming.status };
}

/** The stored pod with everything that counts taken from the incoming one, removal included. */
export function withContentOf(stored: Pod, incoming: Pod): Pod {
  const { labels: _l, deletionTimestamp: _t, deletionGracePeriodSeconds: _s, generation: _g, annotations: _a, ...kept } = stored.metadata;
  const { labels, deletionTimestamp, deletionGracePeriodSeconds, generation } = incoming.metadata;
  const metadata = {
    ...kept,
    ...(labels === undefined ? {} : { labels }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    ...(generation === undefined ? {} : { generation }),
    annotations: mergedAnnotations(stored, incoming),
  };
  return { ...withStatusOf(stored, incoming), metadata, spec: incoming.spec };
}

function mergedAnnotations(stored: Pod, incoming: Pod): Record<string, string> {
  const annotations: Record<string, string> = { ...incoming.metadata.annotations };
  for (const key of localAnnotations) {
    const own = stored.metadata.annotations?.[key];
    if (own !== undefined) annotations[key] = own;
  }
  return annotations;
}

export function withAnnotations(pod: Pod, annotations: Readonly<Record<string, string>>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } } };
}

function hasEqualAnnotations(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const isContained = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean =>
    Object.keys(one).every((key) => localAnnotations.includes(key) || one[key] === other[key]);
  return isContained(a, b) && isContained(b, a);
}

/** Deep equality of plain JSON. Absent, null, `[]` and `{}` are equal. Ignores the key order. */
export function isEqualJson(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (isNothing(a, depth) || isNothing(b, depth)) return isNothing(a, depth) && isNothing(b, depth);
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqualJson(item, b[i], depth + 1));
  }
  const [one, other] = [a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>];
  for (const key of Object.keys(one)) if (!isEqualJson(one[key], other[key], depth + 1)) return false;
  for (const key of Object.keys(other)) if (!(key in one) && !isNothing(other[key], depth + 1)) return false;
  return true;
}

/** Below the top level an empty object has a meaning (`emptyDir: {}`); an empty list never has. */
function isNothing(value: unknown, depth: number): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  return Array.isArray(value) ? value.length === 0 : depth === 0 && Object.keys(value).length === 0;
}
