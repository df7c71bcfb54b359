// The open watches, as data: events of each wait in its queue until its owner takes them.
//
// Invariants: a watch gets every change after its version that concerns its selection, once and in order; an object that leaves the
// selection is a deletion, one that enters it an addition; a watch whose events aren't taken in time is ended, so that queues stay bounded.

import { TimeHeap } from '../../domain/kernel/time-heap.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { JsonObject, WatchEvent } from './api-request.js';
import { expired } from './api-status.js';
import type { ObjectStore, StoredChange, StoredObject } from './object-store.js';
import { apiVersionOf, type ResourceType, resourceKey, resourceTypeOf } from './resource-types.js';
import { encodeAnswer } from './schema/encode.js';
import { isSelected, type Selection } from './selection.js';

export interface WatchRecord {
  readonly id: number;
  /** The consumer of its events. */
  readonly owner: string;
  readonly resource: string;
  readonly selection: Selection;
  readonly bookmarks: boolean;
  /** Everything up to here is in the queue, or was. */
  revision: number;
  readonly endsAt: Micros | null;
  /** A fault: it breaks then, or hears nothing. */
  readonly cutAt: Micros | null;
  readonly silent: boolean;
  bookmarkAt: Micros;
  queue: WatchEvent[];
  ended: boolean;
}

export interface WatchHubState {
  nextId: number;
  readonly open: Map<number, WatchRecord>;
}

export function emptyWatchState(): WatchHubState {
  return { nextId: 1, open: new Map() };
}

export interface WatchOptions {
  readonly bookmarks: boolean;
  readonly initialEvents: boolean;
  readonly timeoutSeconds: number | null;
  readonly cutAfterMicros: Micros | null;
  readonly silent: boolean;
}

export interface WatchHubLimits {
  /** Events that wait for one watch; at more, it is ended. */
  readonly queueLimit: number;
  /** How long a watch that wants bookmarks hears nothing at most. */
  readonly bookmarkMicros: Micros;
}

/** In the last initial event of a streaming list. */
const initialEventsEnd = { 'k8s.io/initial-events-end': 'true' };

export class WatchHub {
  /** Watches by the field that they select: a change on one node doesn't check the watches of another node's pods. */
  private readonly buckets = new Map<string, Set<WatchRecord>>();
  /** Called when a watch has something to take, or has ended. */
  private readonly listeners = new Map<string, () => void>();
  /** When each watch is due next; skips one that was closed meanwhile. */
  private readonly due = new TimeHeap<WatchRecord>();

  constructor(
    readonly state: WatchHubState,
    private readonly store: ObjectStore,
    private readonly limits: WatchHubLimits,
  ) {
    for (const watch of state.open.values()) this.index(watch);
  }

  listen(owner: string, call: () => void): void {
    this.listeners.set(owner, call);
  }

  ignore(owner: string): void {
    this.listeners.delete(owner);
    for (const watch of [...this.state.open.values()]) if (watch.owner === owner) this.close(watch.id);
  }

  /** @param revision the first version; null: the current objects. Throws 410 if it is too old. */
  open(owner: string, type: ResourceType, selection: Selection, revision: number | null, options: WatchOptions, now: Micros): WatchRecord {
    const { bookmarks, initialEvents, timeoutSeconds, cutAfterMicros, silent } = options;
    const watch: WatchRecord = {
      id: this.state.nextId++,
      owner,
      resource: resourceKey(type),
      selection,
      bookmarks,
      revision: this.store.revision,
      endsAt: timeoutSeconds === null ? null : now + timeoutSeconds * microsPerSecond,
      cutAt: cutAfterMicros === null ? null : now + cutAfterMicros,
      silent,
      bookmarkAt: now + this.limits.bookmarkMicros,
      queue: [],
      ended: false,
    };
    if (silent) watch.queue = [];
    else if (revision === null || initialEvents) this.addAll(watch, type, initialEvents && bookmarks);
    else this.replay(watch, revision);
    this.state.open.set(watch.id, watch);
    this.index(watch);
    return watch;
  }

  /** What waits for its owner; the watch forgets it. */
  take(watch: WatchRecord): readonly WatchEvent[] {
    const { queue } = watch;
    watch.queue = [];
    if (watch.ended) this.close(watch.id);
    return queue.map(({ type, object }) => ({ type, object: encodeAnswer(object) }));
  }

  close(id: number): void {
    const watch = this.state.open.get(id);
    if (watch === undefined) return;
    watch.ended = true;
    this.state.open.delete(id);
    this.buckets.get(bucketOf(watch))?.delete(watch);
  }

  /** Ends watches as a connection does that breaks: without a word. */
  cut(which: (watch: WatchRecord) => boolean): number {
    const cut = [...this.state.open.values()].filter((watch) => !watch.ended && which(watch));
    for (const watch of cut) this.end(watch);
    return cut.length;
  }

  /** A change was stored. */
  changed(change: StoredChange): void {
    for (const bucket of bucketsOf(change)) {
      for (const watch of this.buckets.get(bucket) ?? []) {
        if (watch.ended || watch.silent) continue;
        this.deliverTo(watch, change);
        if (watch.queue.length > this.limits.queueLimit) this.end(watch);
        else if (watch.queue.length > 0) this.notify(watch);
      }
    }
  }

  /** When a watch ends or wants a bookmark next; perhaps too early, never too late. */
  nextAt(): Micros | null {
    return this.due.size === 0 ? null : this.due.firstAt;
  }

  advance(now: Micros): void {
    const looked: WatchRecord[] = [];
    for (; this.due.firstAt <= now; this.due.drop()) if (this.due.firstValue?.ended === false) looked.push(this.due.firstValue);
    // In the order in which they were opened, not the heap's: a copy of the state has another heap.
    for (const watch of looked.sort((a, b) => a.id - b.id)) this.look(watch, now);
  }

  private look(watch: WatchRecord, now: Micros): void {
    if (watch.cutAt !== null && watch.cutAt <= now) {
      this.end(watch);
      return;
    }
    const ends = watch.endsAt !== null && watch.endsAt <= now;
    if (watch.bookmarks && !watch.silent && (ends || watch.bookmarkAt <= now)) {
      watch.bookmarkAt = now + this.limits.bookmarkMicros;
      this.bookmark(watch);
      this.notify(watch);
    }
    if (ends) this.end(watch);
    else this.plan(watch);
  }

  private addAll(watch: WatchRecord, type: ResourceType, marksEnd: boolean): void {
    for (const [, object] of this.store.ordered(watch.resource) ?? []) if (isSelected(watch.selection, object)) watch.queue.push(event('ADDED', object));
    if (marksEnd) watch.queue.push({ type: 'BOOKMARK', object: bookmarkObject(type, this.store.revision, initialEventsEnd) });
  }

  private replay(watch: WatchRecord, revision: number): void {
    const changes = this.store.changesAfter(revision);
    if (changes === null) throw expired(`too old resource version: ${revision} (${this.store.state.compacted - 1})`);
    for (const change of changes) if (change.resource === watch.resource) this.deliverTo(watch, change);
  }

  private deliverTo(watch: WatchRecord, { before, after, last, revision }: StoredChange): void {
    watch.revision = revision;
    const was = before !== null && isSelected(watch.selection, before);
    const is = after !== null && isSelected(watch.selection, after);
    if (is) watch.queue.push(event(was ? 'MODIFIED' : 'ADDED', after));
    else if (was) watch.queue.push(event('DELETED', last ?? withRevision(before, revision)));
  }

  private bookmark(watch: WatchRecord): void {
    watch.revision = this.store.revision;
    watch.queue.push({ type: 'BOOKMARK', object: bookmarkObject(resourceTypeOf(watch.resource), watch.revision, null) });
  }

  private end(watch: WatchRecord): void {
    watch.ended = true;
    this.buckets.get(bucketOf(watch))?.delete(watch);
    this.notify(watch);
  }

  private notify(watch: WatchRecord): void {
    this.listeners.get(watch.owner)?.();
  }

  private plan(watch: WatchRecord): void {
    const never = Number.POSITIVE_INFINITY;
    const at = Math.min(watch.endsAt ?? never, watch.cutAt ?? never, watch.bookmarks && !watch.silent ? watch.bookmarkAt : never);
    if (at !== never) this.due.push(at, watch);
  }

  private index(watch: WatchRecord): void {
    this.plan(watch);
    const bucket = bucketOf(watch);
    const members = this.buckets.get(bucket);
    if (members === undefined) this.buckets.set(bucket, new Set([watch]));
    else members.add(watch);
  }
}

function event(type: WatchEvent['type'], object: StoredObject): WatchEvent {
  return { type, object: object as unknown as JsonObject };
}

function withRevision(object: StoredObject, revision: number): StoredObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

function bookmarkObject(type: ResourceType, revision: number, annotations: Readonly<Record<string, string>> | null): JsonObject {
  const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...(annotations === null ? {} : { annotations }) };
  return { kind: type.kind, apiVersion: apiVersionOf(type), metadata };
}

/** A watch of one name or one node is indexed by it. */
function bucketOf({ resource, selection }: WatchRecord): string {
  for (const { path, operator, value } of selection.fields) {
    if (operator !== '=' || value === '') continue;
    if (path === 'metadata.name') return `${resource} name ${value}`;
    if (path === 'spec.nodeName') return `${resource} node ${value}`;
  }
  return resource;
}

function bucketsOf({ resource, before, after }: StoredChange): ReadonlySet<string> {
  const buckets = new Set([resource]);
  for (const object of [before, after]) {
    if (object === null) continue;
    buckets.add(`${resource} name ${object.metadata.name}`);
    const { nodeName } = (object.spec ?? {}) as { readonly nodeName?: string };
    if (nodeName !== undefined) buckets.add(`${resource} node ${nodeName}`);
  }
  return buckets;
}
