// Deletion of objects: preconditions, grace, finalizers.
//
// | object                              | a deletion                                                     |
// |-------------------------------------|----------------------------------------------------------------|
// | with grace (a pod that has a node)  | is marked; the kubelet that stops it deletes it with grace 0   |
// | marked, less grace is requested     | the time shrinks; it never grows                               |
// | without grace, with finalizers      | is marked, and removed with the last finalizer                 |
// | a namespace                         | is marked, and removed when it is empty                        |
// | a pod, with grace 0 or no node      | is marked and removed at once: watchers see both               |
// | else                                | removed at once                                                |
import { epochMicros, instantOf } from '../../domain/values/instant.js';
import { formatRfc3339, microsPerSecond, parseRfc3339 } from '../../domain/values/time.js';
import { conflict } from './api-status.js';
import { rulesOf } from './kinds/all-kinds.js';
import type { WriteContext } from './kinds/kind-rules.js';
import { objectKey, type StoredObject } from './object-store.js';
import { resourceKey } from './resource-types.js';

export interface DeletionOptions {
  readonly gracePeriodSeconds: number | null;
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  readonly dryRun: boolean;
}

export interface Deletion {
  readonly object: StoredObject;
  /** False: it is marked and waits. */
  readonly gone: boolean;
}

export function deleteObject(object: StoredObject, options: DeletionOptions, context: WriteContext): Deletion {
  const { type, store, now } = context;
  const resource = resourceKey(type);
  checkPreconditions(object, options, context);
  const { metadata } = object;
  const key = objectKey(metadata.namespace, metadata.name);
  const { deletionGrace, beginDeletion } = rulesOf(resource);
  const grace = deletionGrace?.(object, options.gracePeriodSeconds) ?? 0;
  const waits = (metadata.finalizers ?? []).length > 0 || beginDeletion !== undefined;
  if (grace === 0 && !waits) {
    if (options.dryRun) return { object, gone: true };
    // The real server writes the mark of a deletion without grace down, and then deletes: watchers see both.
    const last = deletionGrace === undefined ? object : store.put(resource, key, mark(object, 0, 0, now));
    return { object: store.remove(resource, key, last), gone: true };
  }
  const changed = metadata.deletionTimestamp === undefined ? beginDeletion?.(object, context) : undefined;
  const marked = mark(changed ?? object, grace, options.gracePeriodSeconds, now);
  if (marked === object || options.dryRun) return { object: marked, gone: false };
  return { object: store.put(resource, key, marked), gone: false };
}

export function checkPreconditions({ metadata }: StoredObject, { uid, resourceVersion }: DeletionOptions, { type }: WriteContext): void {
  if (uid !== null && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict({ ...type, plural: type.kind }, metadata.name, why);
  }
  if (resourceVersion !== null && resourceVersion !== metadata.resourceVersion) {
    const versions = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion})`;
    throw conflict({ ...type, plural: type.kind }, metadata.name, `${versions}. The object might have been modified`);
  }
}

function mark(object: StoredObject, grace: number, asked: number | null, now: number): StoredObject {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined) {
    const generation = metadata.generation === undefined ? {} : { generation: metadata.generation + 1 };
    const deletionTimestamp = formatRfc3339(instantOf(now + grace * microsPerSecond));
    return { ...object, metadata: { ...metadata, ...generation, deletionTimestamp, deletionGracePeriodSeconds: grace } };
  }
  const current = metadata.deletionGracePeriodSeconds ?? 0;
  // Without a requested time the current one stays.
  if ((asked === null && grace > 0) || grace >= current) return object;
  const begun = epochMicros(parseRfc3339(metadata.deletionTimestamp) ?? instantOf(now)) - current * microsPerSecond;
  return { ...object, metadata: { ...metadata, deletionTimestamp: formatRfc3339(instantOf(begun + grace * microsPerSecond)), deletionGracePeriodSeconds: grace } };
}
