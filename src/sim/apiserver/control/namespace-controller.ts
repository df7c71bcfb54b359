// Terminating namespaces: deletes their content first, then themselves.
import { deleteObject } from '../object-deleter.js';
import { objectKey } from '../object-store.js';
import { resourceKey, resourceTypes } from '../resource-types.js';
import type { ControlContext } from './control-context.js';
import { controllerUser } from './controller-user.js';

/** Whether one is still waited for. */
export function finishNamespaces({ store, settings, now }: ControlContext): void {
  for (const namespace of [...store.all('namespaces')]) {
    if (namespace.metadata.deletionTimestamp === undefined) continue;
    const { name } = namespace.metadata;
    let left = 0;
    for (const type of resourceTypes) {
      if (!type.namespaced) continue;
      const context = { now, user: controllerUser, type, subresource: null, store, settings };
      for (const object of [...store.all(resourceKey(type))]) {
        if (object.metadata.namespace !== name) continue;
        const isMarked = object.metadata.deletionTimestamp !== undefined;
        const gone = !isMarked && deleteObject(object, { gracePeriodSeconds: null, uid: null, resourceVersion: null, dryRun: false }, context).gone;
        if (!gone) left++;
      }
    }
    if (left === 0 && (namespace.metadata.finalizers ?? []).length === 0) store.remove('namespaces', objectKey(null, name), namespace);
  }
}
