// The mirror pod of a static pod in the API: its construction, and the check of an existing one.
// Invariants: a mirror has the node as its only owner, and carries the hash of its static pod; nothing is ever started from it.
import type { Node } from '../../ports/model/node.js';
import type { Pod } from '../../ports/model/pod.js';
import { configMirrorAnnotation } from '../values/pod-kind.js';
import { configHashAnnotation } from './static-pod-defaults.js';

export type MirrorPlan = 'keep' | 'delete' | 'create' | 'wait';

/**
 * The action for the mirror of a static pod.
 * @param mirror the pod in the API; null: none
 * @param node the Node object, the owner of the mirror; null: it can't be read
 */
export function mirrorPlan(pod: Pod, mirror: Pod | null, node: Node | null): MirrorPlan {
  if (mirror !== null) return isRight(pod, mirror) ? 'keep' : 'delete';
  return node === null || node.metadata.deletionTimestamp !== undefined || (node.metadata.uid ?? '') === '' ? 'wait' : 'create';
}

function isRight(pod: Pod, { metadata }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined || metadata.name !== pod.metadata.name || metadata.namespace !== pod.metadata.namespace) return false;
  const hash = metadata.annotations?.[configMirrorAnnotation];
  return hash !== undefined && hash === pod.metadata.annotations?.[configHashAnnotation];
}

export function mirrorPod(pod: Pod, node: Node): Pod {
  const { uid: _uid, annotations, ownerReferences: _owners, resourceVersion: _version, ...metadata } = pod.metadata;
  const owner = { apiVersion: 'v1', kind: 'Node', name: node.metadata.name, uid: node.metadata.uid ?? '', controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, annotations: { ...annotations, [configMirrorAnnotation]: annotations?.[configHashAnnotation] ?? '' }, ownerReferences: [owner] },
    spec: pod.spec,
  };
}
