// Objects whose owners are all gone go too, as a mirror pod does with its node.

import type { OwnerReference } from '../../../ports/model/object-meta.js';
import { deleteObject } from '../object-deleter.js';
import { type ObjectStore, objectKey } from '../object-store.js';
import { resourceKey, resourceTypes } from '../resource-types.js';
import type { ControlContext } from './control-context.js';
import { controllerUser } from './controller-user.js';

export function collectGarbage({ store, settings, now }: ControlContext): void {
  for (const type of resourceTypes) {
    for (const object of [...store.all(resourceKey(type))]) {
      const { ownerReferences, deletionTimestamp, namespace, uid } = object.metadata;
      if (ownerReferences === undefined || ownerReferences.length === 0 || deletionTimestamp !== undefined) continue;
      if (ownerReferences.some((owner) => isThere(owner, namespace ?? null, store))) continue;
      const context = { now, user: controllerUser, type, subresource: null, store, settings };
      deleteObject(object, { gracePeriodSeconds: null, uid: uid ?? null, resourceVersion: null, dryRun: false }, context);
    }
  }
}

/** An owner of a kind that this server doesn't keep counts as there. */
function isThere({ kind, apiVersion, name, uid }: OwnerReference, namespace: string | null, store: ObjectStore): boolean {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const type = resourceTypes.find((candidate) => candidate.kind === kind && candidate.group === group);
  if (type === undefined) return true;
  return store.get(resourceKey(type), objectKey(type.namespaced ? namespace : null, name))?.metadata.uid === uid;
}
