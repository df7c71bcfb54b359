// Namespaces: restrictions of their content, and the initial ones.
import { forbidden, notFound } from '../api-status.js';
import { type ObjectStore, objectKey } from '../object-store.js';
import { type ResourceType, resourceTypeOf } from '../resource-types.js';
import type { KindRules } from './kind-rules.js';

export const firstNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const;
const undeletable: readonly string[] = ['default', 'kube-system', 'kube-public'];
const namespaceNameLabel = 'kubernetes.io/metadata.name';

export const namespaceRules: KindRules = {
  begin(draft) {
    draft.metadata.labels = { ...draft.metadata.labels, [namespaceNameLabel]: draft.metadata.name };
    draft.spec = { finalizers: ['kubernetes'] };
    draft.status = { phase: 'Active' };
  },
  complete(draft) {
    draft.metadata.labels = { ...draft.metadata.labels, [namespaceNameLabel]: draft.metadata.name };
  },
  beginDeletion(object, { type }) {
    const { name } = object.metadata;
    if (undeletable.includes(name)) throw forbidden(type, name, 'this namespace may not be deleted');
    return { ...object, status: { phase: 'Terminating' } };
  },
};

/** Throws when nothing may be created there. */
export function checkNamespace(store: ObjectStore, type: ResourceType, namespace: string, name: string): void {
  const found = store.get('namespaces', objectKey(null, namespace));
  if (found === null) throw notFound(resourceTypeOf('namespaces'), namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  throw forbidden(type, name, `unable to create new content in namespace ${namespace} because it is being terminated`);
}
