// The pods assigned to this node, by UID and by full name, with the mirror pods of static ones in the API.
// Invariant: look-ups by UID never return a mirror pod.
import type { Pod } from '../../../ports/model/pod.js';
import type { View } from '../../kernel/view.js';
import { isMirrorPod, isStaticPod } from '../../values/pod-kind.js';
import { podFullNameOf } from '../../values/pod-references.js';

export interface PodIndex {
  readonly pods: Map<string, Pod>;
  readonly podsByFullName: Map<string, Pod>;
  readonly mirrors: Map<string, Pod>;
  readonly mirrorsByFullName: Map<string, Pod>;
}

export function newPodIndex(): PodIndex {
  return { pods: new Map(), podsByFullName: new Map(), mirrors: new Map(), mirrorsByFullName: new Map() };
}

export function putPod(index: PodIndex, pod: Pod): void {
  const [byUid, byName] = isMirrorPod(pod) ? [index.mirrors, index.mirrorsByFullName] : [index.pods, index.podsByFullName];
  byUid.set(uidOf(pod), pod);
  byName.set(podFullNameOf(pod), pod);
}

export function removePod(index: PodIndex, pod: Pod): void {
  const [byUid, byName] = isMirrorPod(pod) ? [index.mirrors, index.mirrorsByFullName] : [index.pods, index.podsByFullName];
  byUid.delete(uidOf(pod));
  byName.delete(podFullNameOf(pod));
}

/** The pod and its mirror, given either of the two. */
export function podAndMirror(index: View<PodIndex>, given: Pod): { readonly pod: Pod | null; readonly mirror: Pod | null } {
  const fullName = podFullNameOf(given);
  if (isMirrorPod(given)) return { pod: index.podsByFullName.get(fullName) ?? null, mirror: given };
  return { pod: given, mirror: isStaticPod(given) ? (index.mirrorsByFullName.get(fullName) ?? null) : null };
}

/** Mirror pods without a static pod. */
export function orphanMirrors(index: View<PodIndex>): Pod[] {
  return [...index.mirrorsByFullName].flatMap(([fullName, mirror]) => (index.podsByFullName.has(fullName) ? [] : [mirror]));
}

export function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? '';
}
