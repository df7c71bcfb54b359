// Deletes objects whose owners are all gone, such as a mirror pod after its node.

import type { OwnerReference } from '../../../ports/model/object-meta.js';
import { deleteObject } from '../object-deleter.js';
import { type ObjectStore, objectKey, type StoredChange, type StoredObject } from '../object-store.js';
import { resourceKey, resourceTypeOf, resourceTypes } from '../resource-types.js';
import type { ControlContext } from './control-context.js';
import { controllerUser } from './controller-user.js';

/** Objects by owner, so that the deletion of one inspects only its own dependents. */
export class OwnerIndex {
  private readonly owned = new Map<string, Set<string>>();

  constructor(store: ObjectStore) {
    for (const type of resourceTypes)
      for (const object of store.all(resourceKey(type))) this.add(resourceKey(type), objectKey(object.metadata.namespace, object.metadata.name), object);
  }

  /** Answers the objects that may have lost an owner by this. */
  changed({ resource, key, before, after }: StoredChange): readonly string[] {
    for (const { uid } of before?.metadata.ownerReferences ?? []) {
      const owned = this.owned.get(uid);
      owned?.delete(`${resource} ${key}`);
      if (owned?.size === 0) this.owned.delete(uid);
    }
    if (after !== null) this.add(resource, key, after);
    if (after === null) return [...(this.owned.get(before?.metadata.uid ?? '') ?? [])];
    const isNew = before === null && (after.metadata.ownerReferences ?? []).length > 0;
    return isNew ? [`${resource} ${key}`] : [];
  }

  private add(resource: string, key: string, { metadata }: StoredObject): void {
    for (const { uid } of metadata.ownerReferences ?? []) {
      const owned = this.owned.get(uid);
      if (owned === undefined) this.owned.set(uid, new Set([`${resource} ${key}`]));
      else owned.add(`${resource} ${key}`);
    }
  }
}

export function collectGarbage({ store, settings, state, now }: ControlContext): void {
  const suspects = [...state.suspects];
  state.suspects.clear();
  for (const suspect of suspects) {
    const [resource = '', key = ''] = suspect.split(' ');
    const object = store.get(resource, key);
    const { ownerReferences = [], deletionTimestamp, namespace, uid } = object?.metadata ?? {};
    if (object === null || ownerReferences.length === 0 || deletionTimestamp !== undefined) continue;
    if (ownerReferences.some((owner) => isThere(owner, namespace ?? null, store))) continue;
    const context = { now, user: controllerUser, type: resourceTypeOf(resource), subresource: null, store, settings };
    deleteObject(object, { gracePeriodSeconds: null, uid: uid ?? null, resourceVersion: null, dryRun: false }, context);
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
