// Turns a decoded manifest into a static pod of this node: uid, name, namespace, node, hash annotation, toleration, phase.
// Invariant: a generated uid depends on only the defaulted object and its source, so that a restart finds the same pod again.
import { generatedUid } from '../values/generated-uid.js';
import type { PodDraft } from './draft.js';

/** The uid the kubelet gave the static pod; a mirror pod with another hash is outdated. */
export const configHashAnnotation = 'kubernetes.io/config.hash';

/** The source of a manifest. */
export type ManifestOrigin = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'http'; readonly url: string };

export function applyStaticPodDefaults(pod: PodDraft, origin: ManifestOrigin, nodeName: string): void {
  const uid = pod.metadata.uid ?? uidFromContent(pod, origin, nodeName);
  pod.metadata.uid = uid;
  pod.metadata.name = `${pod.metadata.name}-${nodeName.toLowerCase()}`;
  pod.metadata.namespace ??= 'default';
  pod.spec.nodeName = nodeName;
  pod.metadata.annotations = { ...pod.metadata.annotations, [configHashAnnotation]: uid };
  if (origin.kind === 'file') tolerateNoExecute(pod);
  pod.status = { ...pod.status, phase: 'Pending' };
}

/** The node's name takes part for files, which nodes often share; a URL is usually made for one node. */
function uidFromContent(pod: PodDraft, origin: ManifestOrigin, nodeName: string): string {
  const place = origin.kind === 'file' ? `host:${nodeName}file:${origin.path}` : `url:${origin.url}`;
  return generatedUid(canonicalJson(pod) + place);
}

/** JSON with sorted keys: the order in which a person wrote the fields doesn't matter. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}

/** Static pods stay on their node despite NoExecute taints. */
function tolerateNoExecute(pod: PodDraft): void {
  const toleration = { operator: 'Exists', effect: 'NoExecute' };
  const others = pod.spec.tolerations ?? [];
  const isSame = (other: (typeof others)[number]): boolean => (other.key ?? '') === '' && other.effect === 'NoExecute' && other.operator === 'Exists' && (other.value ?? '') === '';
  pod.spec.tolerations = others.some(isSame) ? others.map((other) => (isSame(other) ? { ...toleration } : other)) : [...others, toleration];
}
