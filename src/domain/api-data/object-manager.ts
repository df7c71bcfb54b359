// Secrets and config maps of the pods on this node: read as long as a pod refers to them, by one of three strategies.
//
// | strategy | an object is                                                                                                      |
// |----------|-------------------------------------------------------------------------------------------------------------------|
// | Watch    | listed and watched, one by one since a node may ask for no more; the watch ends after minutes without use, or if the object is immutable |
// | Cache    | read on use if the cached one is older than a minute (or the Node's setting)                                        |
// | Get      | read on each use                                                                                                    |
//
// Invariants: objects without a registered pod are neither read nor kept; a pod counts once for an object however often it names it; each
// reader gives its start time, and never gets an answer requested earlier than its strategy allows.
import type { Micros } from '../../ports/micros.js';
import type { ApiObject, ApiResource, ApiSelection } from '../../ports/model/api-object.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PortFailure } from '../../ports/port-error.js';
import { configMapNames, secretNames } from '../pod-sources/api-references.js';
import { goQuote } from '../values/go-text.js';
import { microsPerSecond } from '../values/time.js';
import { objectsOfVolume } from '../volumes/api-data-volume.js';

export type ObjectKind = 'secret' | 'configMap';
export type ChangeDetection = 'Watch' | 'Cache' | 'Get';

export type ObjectAnswer =
  | { readonly kind: 'found'; readonly object: ApiObject }
  /** The Go kubelet's message: a watched copy names the object by its kind, the server by its resource. */
  | { readonly kind: 'absent'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }
  /** The read is in progress; check again when notified, or at that time. */
  | { readonly kind: 'pending'; readonly until: Micros | null };

interface Fetched {
  readonly askedAt: Micros;
  readonly object: ApiObject | null;
  /** null: it was read. */
  readonly error: string | null;
}

interface ManagedObject {
  readonly key: string;
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
  /** Uids of the pods that refer to it. */
  readonly pods: Set<string>;
  /** Those of them that show it in a volume, which has to follow its changes. */
  readonly mounted: Set<string>;
  /** It is immutable: its first known version. */
  frozen: ApiObject | null;
  wantedAt: Micros;
  /** A reader got the watched copy, or its absence: from now on its changes matter. */
  answered: boolean;
  /** null: not yet, or no longer good. */
  fetched: Fetched | null;
  /** null: no request in flight. */
  fetching: Micros | null;
}

export interface ObjectManager {
  readonly strategy: ChangeDetection;
  /** A watch ends after this long without readers. */
  readonly idleAfter: Micros;
  /** By key. */
  readonly objects: Map<string, ManagedObject>;
  /** Pod uid -> keys. */
  readonly registered: Map<string, ReadonlySet<string>>;
}

/** The manager's interface to its surroundings. */
export interface ObjectReading {
  readonly now: Micros;
  /** How long a fetched object is good; of the strategy Cache. */
  readonly ttl: Micros;
  /** The watched copy; null: it isn't watched. `problem`: why its newest version can't be used. */
  watched(key: string): { readonly synced: boolean; readonly object: ApiObject | null; readonly problem: string | null } | null;
  watch(key: string, selection: ApiSelection): void;
  unwatch(key: string): void;
  /** Reads it; `objectFetched` receives the answer. */
  fetch(key: string, resource: ApiResource, namespace: string, name: string, resourceVersion: string | null): void;
}

const syncWait: Micros = microsPerSecond;
export const defaultObjectTtl: Micros = 60 * microsPerSecond;
const leastIdle: Micros = 60 * microsPerSecond;
const idleSyncs = 5;
const plurals: Readonly<Record<ObjectKind, string>> = { secret: 'secrets', configMap: 'configmaps' };

export function newObjectManager(strategy: ChangeDetection, syncFrequency: Micros): ObjectManager {
  return { strategy, idleAfter: Math.max(leastIdle, idleSyncs * syncFrequency), objects: new Map(), registered: new Map() };
}

export function objectKeyOf(kind: ObjectKind, namespace: string, name: string): string {
  return `${plurals[kind]}:${namespace}/${name}`;
}

/** Registers the pod's objects, in place of the previous ones. */
export function registerPod(manager: ObjectManager, uid: string, pod: Pod, reading: ObjectReading): void {
  const namespace = pod.metadata.namespace ?? '';
  const before = manager.registered.get(uid);
  const keys = new Set<string>();
  const inVolumes = namesInVolumes(pod);
  for (const [kind, names] of [['secret', secretNames(pod.spec)] as const, ['configMap', configMapNames(pod.spec)] as const]) {
    for (const name of names) {
      if (name === undefined || name === '') continue;
      const key = objectKeyOf(kind, namespace, name);
      keys.add(key);
      if (before?.has(key) !== true) refer(manager, { key, kind, namespace, name }, uid, reading);
      if (inVolumes[kind].has(name)) manager.objects.get(key)?.mounted.add(uid);
    }
  }
  if (keys.size > 0) manager.registered.set(uid, keys);
  else manager.registered.delete(uid);
  for (const key of before ?? []) if (!keys.has(key)) release(manager, key, uid, reading);
}

function namesInVolumes({ spec: { volumes = [] } }: Pod): Readonly<Record<ObjectKind, ReadonlySet<string>>> {
  const objects = volumes.map(objectsOfVolume);
  return { secret: new Set(objects.flatMap(({ secrets }) => secrets)), configMap: new Set(objects.flatMap(({ configMaps }) => configMaps)) };
}

export function unregisterPod(manager: ObjectManager, uid: string, reading: ObjectReading): void {
  const keys = manager.registered.get(uid);
  manager.registered.delete(uid);
  for (const key of keys ?? []) release(manager, key, uid, reading);
}

/** Whom a change of that object concerns. */
export function podsOf(manager: ObjectManager, key: string): readonly string[] {
  return [...(manager.objects.get(key)?.pods ?? [])];
}

/** Whether a reader may use an earlier state of it than the watched copy's. */
export function isShown(manager: ObjectManager, key: string): boolean {
  return manager.objects.get(key)?.answered === true;
}

/** @param since the reader's start: rejects answers older than its strategy allows at that time */
export function lookUpObject(manager: ObjectManager, kind: ObjectKind, namespace: string, name: string, since: Micros, reading: ObjectReading): ObjectAnswer {
  const managed = manager.objects.get(objectKeyOf(kind, namespace, name));
  if (managed === undefined) return { kind: 'failed', message: `object ${goQuote(namespace)}/${goQuote(name)} not registered` };
  managed.wantedAt = reading.now;
  if (managed.frozen !== null) return { kind: 'found', object: managed.frozen };
  return manager.strategy === 'Watch' ? lookAtWatch(managed, since, reading) : lookAtFetched(manager.strategy, managed, since, reading);
}

function lookAtWatch(managed: ManagedObject, since: Micros, reading: ObjectReading): ObjectAnswer {
  const { key, kind, name } = managed;
  const copy = reading.watched(key);
  if (copy === null) watch(managed, reading);
  if (copy === null || !copy.synced) {
    if (reading.now < since + syncWait) return { kind: 'pending', until: since + syncWait };
    return { kind: 'failed', message: `failed to sync ${kind.toLowerCase()} cache: timed out waiting for the condition` };
  }
  managed.answered = true;
  if (copy.object === null && copy.problem !== null) return { kind: 'failed', message: `${kind.toLowerCase()} ${goQuote(name)} cannot be decoded: ${copy.problem}` };
  if (copy.object === null) return { kind: 'absent', message: `${kind.toLowerCase()} ${goQuote(name)} not found` };
  if ((copy.object as { readonly immutable?: boolean }).immutable === true) {
    managed.frozen = copy.object;
    reading.unwatch(key);
  }
  return { kind: 'found', object: copy.object };
}

function lookAtFetched(strategy: 'Cache' | 'Get', managed: ManagedObject, since: Micros, reading: ObjectReading): ObjectAnswer {
  const { fetched } = managed;
  if (fetched !== null) {
    const isFresh = fetched.askedAt >= since;
    const isGood = strategy === 'Cache' && fetched.error === null && fetched.object !== null && fetched.askedAt + reading.ttl > since;
    if (isFresh || isGood) {
      if (fetched.object !== null) return { kind: 'found', object: fetched.object };
      if (fetched.error !== null) return { kind: 'failed', message: fetched.error };
      return { kind: 'absent', message: `${plurals[managed.kind]} ${goQuote(managed.name)} not found` };
    }
  }
  if (managed.fetching === null) {
    managed.fetching = reading.now;
    const { key, kind, namespace, name } = managed;
    // Only the first read must be the most recent; later ones may come from the server's cache.
    const resourceVersion = strategy === 'Cache' && fetched !== null ? '0' : null;
    reading.fetch(key, { group: '', version: 'v1', plural: plurals[kind] }, namespace, name, resourceVersion);
  }
  return { kind: 'pending', until: null };
}

/** Stores an answer. Waiting readers check again. */
export function objectFetched(
  manager: ObjectManager,
  key: string,
  outcome: { readonly ok: true; readonly value: ApiObject } | { readonly ok: false; readonly error: PortFailure },
): void {
  const managed = manager.objects.get(key);
  if (managed === undefined || managed.fetching === null) return;
  const askedAt = managed.fetching;
  managed.fetching = null;
  const before = managed.fetched?.object ?? null;
  if (outcome.ok) managed.fetched = { askedAt, object: newer(before, outcome.value), error: null };
  else if (outcome.error.kind === 'not-found') managed.fetched = { askedAt, object: null, error: null };
  // The cached object stays in use; the next reader triggers another read.
  else managed.fetched = { askedAt, object: manager.strategy === 'Cache' ? before : null, error: outcome.error.message };
}

/** Ends unused watches; returns the time of the next check. */
export function releaseIdle(manager: ObjectManager, reading: ObjectReading): Micros | null {
  let next: Micros | null = null;
  for (const managed of manager.objects.values()) {
    const copy = reading.watched(managed.key);
    if (copy?.synced !== true || managed.mounted.size > 0) continue;
    const at = managed.wantedAt + manager.idleAfter;
    if (at <= reading.now) reading.unwatch(managed.key);
    else if (next === null || at < next) next = at;
  }
  return next;
}

function refer(manager: ObjectManager, { key, kind, namespace, name }: Pick<ManagedObject, 'key' | 'kind' | 'namespace' | 'name'>, uid: string, reading: ObjectReading): void {
  const known = manager.objects.get(key);
  const managed = known ?? {
    key,
    kind,
    namespace,
    name,
    pods: new Set<string>(),
    mounted: new Set<string>(),
    frozen: null,
    wantedAt: reading.now,
    answered: false,
    fetched: null,
    fetching: null,
  };
  managed.pods.add(uid);
  // A pod that comes may be the one that an object was changed for.
  managed.fetched = null;
  if (known !== undefined) return;
  manager.objects.set(key, managed);
  if (manager.strategy === 'Watch') watch(managed, reading);
}

function release(manager: ObjectManager, key: string, uid: string, reading: ObjectReading): void {
  const managed = manager.objects.get(key);
  if (managed === undefined) return;
  managed.pods.delete(uid);
  managed.mounted.delete(uid);
  if (managed.pods.size > 0) return;
  manager.objects.delete(key);
  if (manager.strategy === 'Watch') reading.unwatch(key);
}

function watch({ key, kind, namespace, name }: ManagedObject, reading: ObjectReading): void {
  const resource = { group: '', version: 'v1', plural: plurals[kind] };
  reading.watch(key, { resource, namespace, fieldSelector: `metadata.name=${name}`, labelSelector: null });
}

/** The later of two versions of one object; a server's cache may be stale. */
function newer(before: ApiObject | null, now: ApiObject): ApiObject {
  if (before === null || before.metadata.uid !== now.metadata.uid) return now;
  return Number(now.metadata.resourceVersion ?? 0) < Number(before.metadata.resourceVersion ?? 0) ? before : now;
}
