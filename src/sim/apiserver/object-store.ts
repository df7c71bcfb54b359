// The objects and their history: one revision for every write, and a bounded history that serves watches and old lists.
//
// Invariants: an object is never changed, only replaced; the revision of a write is the resourceVersion of the object written, or deleted;
// a list at a revision in the history is exact.

import { byCodeUnits } from '../../domain/values/text-order.js';
import type { ObjectMeta } from '../../ports/model/object-meta.js';

export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface StoredChange {
  readonly revision: number;
  /** Of the collection, see `resourceKey`. */
  readonly resource: string;
  /** `namespace/name`; `/name` where there is no namespace. */
  readonly key: string;
  readonly before: StoredObject | null;
  /** null: deleted; `last` is the object in the deletion event. */
  readonly after: StoredObject | null;
  readonly last: StoredObject | null;
}

export interface ObjectStoreState {
  revision: number;
  /** Versions below this can't be watched or listed from. */
  compacted: number;
  readonly objects: Map<string, Map<string, StoredObject>>;
  /** Oldest first. */
  history: StoredChange[];
}

export function emptyStoreState(): ObjectStoreState {
  return { revision: 1, compacted: 1, objects: new Map(), history: [] };
}

export function objectKey(namespace: string | null | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

export class ObjectStore {
  /** @param historyLimit changes kept for watches and old lists; the older half is dropped at twice that number */
  constructor(
    readonly state: ObjectStoreState,
    private readonly historyLimit: number,
    private readonly committed: (change: StoredChange) => void,
  ) {}

  get revision(): number {
    return this.state.revision;
  }

  get(resource: string, key: string): StoredObject | null {
    return this.state.objects.get(resource)?.get(key) ?? null;
  }

  count(resource: string): number {
    return this.state.objects.get(resource)?.size ?? 0;
  }

  /** Unordered. */
  all(resource: string): Iterable<StoredObject> {
    return this.state.objects.get(resource)?.values() ?? [];
  }

  /**
   * Matching keys and objects in the order of their keys; at an earlier revision if one is given, null if the history no longer
   * has it. `within` holds all current matches if the caller knows them; otherwise every object is checked.
   */
  ordered(
    resource: string,
    revision: number = this.state.revision,
    wanted: (key: string, object: StoredObject) => boolean = () => true,
    within: ReadonlyMap<string, StoredObject> | null = null,
  ): [string, StoredObject][] | null {
    const objects = within !== null && revision >= this.state.revision ? within : this.at(resource, revision);
    if (objects === null) return null;
    const chosen: [string, StoredObject][] = [];
    for (const [key, object] of objects) if (wanted(key, object)) chosen.push([key, object]);
    return chosen.sort(([a], [b]) => byCodeUnits(a, b));
  }

  /** Stores a new object, or one in place of another; answers it with its resourceVersion. */
  put(resource: string, key: string, object: StoredObject): StoredObject {
    const revision = ++this.state.revision;
    const stored = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } });
    const collection = this.collection(resource);
    const before = collection.get(key) ?? null;
    collection.set(key, stored);
    this.record({ revision, resource, key, before, after: stored, last: null });
    return stored;
  }

  /** Returns the object of the deletion event: with the deletion's resourceVersion. */
  remove(resource: string, key: string, last: StoredObject): StoredObject {
    const collection = this.collection(resource);
    const before = collection.get(key) ?? null;
    const revision = ++this.state.revision;
    const gone = deepFreeze({ ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } });
    collection.delete(key);
    this.record({ revision, resource, key, before, after: null, last: gone });
    return gone;
  }

  /** Changes after a revision, oldest first; null: some of them are forgotten. */
  changesAfter(revision: number): readonly StoredChange[] | null {
    if (revision < this.state.compacted - 1) return null;
    const { history } = this.state;
    let low = 0;
    for (let high = history.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((history[middle] as StoredChange).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return history.slice(low);
  }

  /** Forgets what happened up to now: every older version is too old from here on. */
  compact(keep = 0): void {
    const { history } = this.state;
    const gone = history.length - keep;
    if (gone <= 0) {
      if (keep === 0) this.state.compacted = this.state.revision + 1;
      return;
    }
    this.state.compacted = (history[gone - 1] as StoredChange).revision + 1;
    this.state.history = history.slice(gone);
  }

  private at(resource: string, revision: number): ReadonlyMap<string, StoredObject> | null {
    const now = this.collection(resource);
    if (revision >= this.state.revision) return now;
    const changes = this.changesAfter(revision);
    if (changes === null) return null;
    const then = new Map(now);
    for (let i = changes.length - 1; i >= 0; i--) {
      const change = changes[i] as StoredChange;
      if (change.resource !== resource) continue;
      if (change.before === null) then.delete(change.key);
      else then.set(change.key, change.before);
    }
    return then;
  }

  private record(change: StoredChange): void {
    this.state.history.push(change);
    if (this.state.history.length >= 2 * this.historyLimit) this.compact(this.historyLimit);
    this.committed(change);
  }

  private collection(resource: string): Map<string, StoredObject> {
    let collection = this.state.objects.get(resource);
    if (collection === undefined) {
      collection = new Map();
      this.state.objects.set(resource, collection);
    }
    return collection;
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
