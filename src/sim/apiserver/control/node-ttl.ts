// How long kubelets may keep secrets and config maps that they have read, said on each node: the more nodes there are, the longer.
import { type ObjectStore, objectKey, type StoredObject } from '../object-store.js';
import type { ControlContext } from './control-context.js';

const annotation = 'node.alpha.kubernetes.io/ttl';
/** Up to so many nodes, so many seconds. */
const steps: readonly (readonly [nodes: number, seconds: number])[] = [
  [100, 0],
  [500, 15],
  [1000, 30],
  [2000, 60],
  [Number.POSITIVE_INFINITY, 300],
];

function wantedTtl(store: ObjectStore): string {
  const count = store.count('nodes');
  return String(steps.find(([nodes]) => count <= nodes)?.[1]);
}

export function hasTtl({ metadata }: StoredObject, store: ObjectStore): boolean {
  return metadata.annotations?.[annotation] === wantedTtl(store);
}

/** Other nodes follow when they change. */
export function annotateTtl({ store, state }: ControlContext): void {
  const names = [...state.nodesWithoutTtl];
  state.nodesWithoutTtl.clear();
  const ttl = wantedTtl(store);
  for (const name of names) {
    const key = objectKey(null, name);
    const node = store.get('nodes', key);
    if (node === null || node.metadata.annotations?.[annotation] === ttl) continue;
    store.put('nodes', key, { ...node, metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, [annotation]: ttl } } });
  }
}
