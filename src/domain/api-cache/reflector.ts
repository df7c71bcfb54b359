// A copy of an API collection that is kept up to date: listed once, then watched. Its owner is notified of each change within the
// step that received it.
//
// | phase    | in flight | what ends it                                                                                    |
// |----------|-----------|-------------------------------------------------------------------------------------------------|
// | stopped  | nothing   | `runReflector`                                                                                  |
// | listing  | list      | the last page: watching; a failure: waiting                                                     |
// | watching | watch     | its end: watching again from the newest version; a version that is too old, a failure: waiting  |
// | waiting  | nothing   | time: watching if a version is known, else listing                                              |
//
// Invariants: `objects` is the server's state at `resourceVersion`, or at the last known version while that is null; an unchanged object
// keeps its identity over a new list; a new uid under an old name is reported as a deletion and an addition; requests to an unavailable
// server back off, and the copy stays in use meanwhile; an unusable object keeps its last usable version,
// and each of its problems is reported once.

import type { Micros } from '../../ports/micros.js';
import type { ApiObject, ApiSelection, UnusableObject } from '../../ports/model/api-object.js';
import type { Flattened } from '../../ports/operation.js';
import type { ApiList, ApiReaderOperations, ApiWatchEvent } from '../../ports/outbound/apiserver.js';
import type { PortFailure } from '../../ports/port-error.js';
import { assert } from '../kernel/assert.js';
import type { Address, Reply, Turn } from '../kernel/machine.js';
import { nextReflectorDelay, type ReflectorBackoff } from './reflector-backoff.js';

export type ReflectorOperations = Flattened<{ readonly apiReader: ApiReaderOperations }>;

type ListPage = Pick<ApiList, 'items' | 'unusable'>;

export interface ReflectorState {
  /** Names it in addresses and watches; unique among the reflectors of an agent. */
  readonly name: string;
  readonly selection: ApiSelection;
  phase: 'stopped' | 'listing' | 'watching' | 'waiting';
  /** `<namespace>/<name>` -> the newest object seen. */
  objects: Map<string, ApiObject>;
  /** `<namespace>/<name>` -> its newest version, which can't be used and isn't in `objects`. */
  unusable: Map<string, UnusableObject>;
  /** A list was received: from then on objects missing in `objects` don't exist. */
  synced: boolean;
  /** Where a watch resumes; null: a list is needed first. */
  resourceVersion: string | null;
  /** Lists must be the most recent: an older one would revert known changes, or was refused as too old. */
  newest: boolean;
  /** Pages of the list in progress. */
  pages: ListPage[];
  /** The number of watches so far; part of their names. */
  watches: number;
  watchBeganAt: Micros;
  /** The time of the watch's last message, bookmarks included. */
  heardAt: Micros;
  /** Events of the watch, without bookmarks. */
  eventCount: number;
  readonly backoff: ReflectorBackoff;
}

export type ObjectChange =
  | { readonly type: 'upsert'; readonly object: ApiObject; readonly previous: ApiObject | null }
  /** The object's last version, from the deletion event if available. */
  | { readonly type: 'delete'; readonly object: ApiObject };

export interface ReflectorContext {
  readonly turn: Turn<ReflectorOperations>;
  /** The changes, in order; empty if an unusable object was removed. @param replaced they follow from a complete list; called for each list */
  changed(changes: readonly ObjectChange[], replaced: boolean): void;
  /** An object can't be used, for a reason that wasn't reported of it before. */
  unusable(object: UnusableObject): void;
}

/** Items of a page; where the server answers from its cache it gives everything at once. */
export const pageLimit = 500;
/** More pages than this are no collection of a node's interest but a server that never ends. */
const maxPages = 1000;
const listTimeout: Micros = 90_000_000;
/** A watch lasts between this and twice this, so that a fleet's watches don't end together. */
const minWatchSeconds = 300;
const watchSlack: Micros = 30_000_000;
/** Servers send bookmarks about once a minute: a watch silent for this long is taken for dead. */
const silenceLimit: Micros = 180_000_000;
const shortWatch: Micros = 1_000_000;

export const reflectorMachine = 'reflector';

/** @param newest whether the first list must be the most recent one, since objects missing in a stale cache would be acted on */
export function newReflector(name: string, selection: ApiSelection, newest = false): ReflectorState {
  return {
    name,
    selection,
    phase: 'stopped',
    objects: new Map(),
    unusable: new Map(),
    synced: false,
    resourceVersion: null,
    newest,
    pages: [],
    watches: 0,
    watchBeganAt: 0,
    heardAt: 0,
    eventCount: 0,
    backoff: { base: 0, at: null },
  };
}

/** The reflector whose watch that is. */
export function reflectorOfWatch(watch: string): string {
  return watch.slice(0, watch.lastIndexOf('#'));
}

export function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Begins, or begins again. Idempotent. */
export function runReflector(state: ReflectorState, context: ReflectorContext): void {
  if (state.phase === 'stopped') proceed(state, context);
}

/** Ends it; the copy stays. */
export function stopReflector(state: ReflectorState, { turn }: ReflectorContext): void {
  state.phase = 'stopped';
  state.pages = [];
  turn.cancel(addressOf(state), 'list');
  turn.cancel(addressOf(state), 'watch');
  turn.end(addressOf(state));
}

export function reflectorWoken(state: ReflectorState, context: ReflectorContext): void {
  const { turn } = context;
  if (state.phase === 'waiting') proceed(state, context);
  if (state.phase !== 'watching') return;
  if (turn.now - state.heardAt < silenceLimit) {
    turn.wakeAt(addressOf(state), state.heardAt + silenceLimit);
    return;
  }
  turn.log('warn', 'Watch stalled, restarting it', { reflector: state.name, seconds: silenceLimit / 1_000_000 });
  turn.cancel(addressOf(state), 'watch');
}

/** Events of a watch. Ignores those of an outdated watch. */
export function reflectorSaw(state: ReflectorState, watch: string, events: readonly ApiWatchEvent[], context: ReflectorContext): void {
  if (state.phase !== 'watching' || watch !== watchName(state)) return;
  state.heardAt = context.turn.now;
  const changes: ObjectChange[] = [];
  let isUnusableGone = false;
  for (const event of events) {
    if (event.type === 'BOOKMARK') {
      state.resourceVersion = event.resourceVersion;
      continue;
    }
    state.eventCount++;
    if (event.type === 'UNUSABLE') {
      state.resourceVersion = event.object.resourceVersion ?? state.resourceVersion;
      if (event.isDeleted) isUnusableGone = removeUnusable(state, event.object, changes) || isUnusableGone;
      else noteUnusable(state, event.object, changes, context);
      continue;
    }
    state.resourceVersion = event.object.metadata.resourceVersion ?? state.resourceVersion;
    if (event.type === 'DELETED') remove(state, event.object, changes);
    else {
      state.unusable.delete(keyOf(event.object));
      put(state.objects, state.objects, event.object, changes);
    }
  }
  if (changes.length > 0 || isUnusableGone) context.changed(changes, false);
}

export function reflectorReplied(state: ReflectorState, reply: Reply<ReflectorOperations>, context: ReflectorContext): void {
  if (state.phase === 'stopped') return;
  // It was stopped and restarted meanwhile: the answer is useless, the slot is free.
  if (state.phase === 'waiting') proceed(state, context);
  else if (reply.op === 'apiReader.list') {
    assert(state.phase === 'listing', 'objects were listed that the reflector does not wait for', state.name);
    if (reply.outcome.ok) listed(state, reply.outcome.value, context);
    else failed(state, reply.outcome.error, context);
  } else if (reply.op === 'apiReader.watch') {
    assert(state.phase === 'watching', 'a watch ended that the reflector does not wait for', state.name);
    if (reply.outcome.ok || reply.outcome.error.kind === 'cancelled') watchEnded(state, context);
    else failed(state, reply.outcome.error, context);
  }
}

function proceed(state: ReflectorState, context: ReflectorContext): void {
  const { turn } = context;
  const address = addressOf(state);
  if (turn.inFlight(address, 'list') || turn.inFlight(address, 'watch')) {
    state.phase = 'waiting';
    return;
  }
  if (state.resourceVersion === null) {
    state.phase = 'listing';
    askPage(state, null, context);
    return;
  }
  state.phase = 'watching';
  state.watches++;
  state.watchBeganAt = turn.now;
  state.heardAt = turn.now;
  state.eventCount = 0;
  const timeoutSeconds = Math.floor(minWatchSeconds * (1 + turn.random('watch', address.key)));
  const request = { ...state.selection, watch: watchName(state), resourceVersion: state.resourceVersion, timeoutSeconds };
  turn.ask('apiReader.watch', address, 'watch', request, timeoutSeconds * 1_000_000 + watchSlack);
  turn.wakeAt(address, turn.now + silenceLimit);
}

/** The first list may come from a stale cache, which is cheapest for the server, unless it must be the most recent. */
function askPage(state: ReflectorState, continueToken: string | null, { turn }: ReflectorContext): void {
  const resourceVersion = continueToken === null && !state.newest ? '0' : null;
  turn.ask('apiReader.list', addressOf(state), 'list', { ...state.selection, resourceVersion, limit: pageLimit, continueToken }, listTimeout);
}

function listed(state: ReflectorState, { items, unusable, resourceVersion, continueToken }: ApiList, context: ReflectorContext): void {
  state.pages.push({ items, unusable });
  if (continueToken !== null && state.pages.length < maxPages) {
    askPage(state, continueToken, context);
    return;
  }
  const pages = state.pages;
  state.pages = [];
  if (continueToken !== null) {
    waitFor(state, null, `a list of more than ${maxPages} pages`, context);
    return;
  }
  const changes: ObjectChange[] = [];
  const fresh = takeList(state, pages, changes, context);
  state.objects = fresh;
  state.synced = true;
  state.newest = true;
  state.resourceVersion = resourceVersion;
  context.changed(changes, true);
  // The owner may have stopped it.
  if (state.phase === 'listing') proceed(state, context);
}

/** Applies a complete list: deletions first, since a new object may have replaced a deleted one. */
function takeList(state: ReflectorState, pages: readonly ListPage[], changes: ObjectChange[], context: ReflectorContext): Map<string, ApiObject> {
  const seen = new Set<string>();
  let isAnyNameless = false;
  for (const { items, unusable } of pages) {
    for (const object of items) seen.add(keyOf(object));
    for (const { namespace, name } of unusable) {
      if (name === null) isAnyNameless = true;
      else seen.add(objectKey(namespace ?? '', name));
    }
  }
  const fresh = new Map<string, ApiObject>();
  for (const [key, object] of state.objects) {
    if (seen.has(key)) continue;
    // It may be the one whose name can't be read.
    if (isAnyNameless) fresh.set(key, object);
    else changes.push({ type: 'delete', object });
  }
  const reported = state.unusable;
  state.unusable = new Map();
  for (const { unusable } of pages) {
    for (const object of unusable) {
      const key = objectKey(object.namespace ?? '', object.name ?? '');
      const before = reported.get(key);
      if (before !== undefined) state.unusable.set(key, before);
      const kept = noteUnusable(state, object, changes, context);
      if (kept !== null) fresh.set(key, kept);
    }
  }
  for (const { items } of pages) for (const object of items) put(fresh, state.objects, object, changes);
  return fresh;
}

/** Returns its earlier known version; null: none, or another object of the same name. */
function noteUnusable(state: ReflectorState, object: UnusableObject, changes: ObjectChange[], context: ReflectorContext): ApiObject | null {
  const key = objectKey(object.namespace ?? '', object.name ?? '');
  const isReported = state.unusable.get(key)?.problem === object.problem;
  state.unusable.set(key, object);
  if (!isReported) context.unusable(object);
  const known = state.objects.get(key) ?? null;
  if (known === null || object.uid === null || known.metadata.uid === object.uid) return known;
  state.objects.delete(key);
  changes.push({ type: 'delete', object: known });
  return null;
}

/** Whether it was reported and is removed now. */
function removeUnusable(state: ReflectorState, { namespace, name, uid }: UnusableObject, changes: ObjectChange[]): boolean {
  const key = objectKey(namespace ?? '', name ?? '');
  const known = state.objects.get(key);
  const wasReported = state.unusable.delete(key);
  if (known === undefined || (uid !== null && known.metadata.uid !== uid)) return wasReported;
  state.objects.delete(key);
  changes.push({ type: 'delete', object: known });
  return wasReported;
}

function keyOf({ metadata }: ApiObject): string {
  return objectKey(metadata.namespace ?? '', metadata.name);
}

function put(into: Map<string, ApiObject>, known: ReadonlyMap<string, ApiObject>, object: ApiObject, changes: ObjectChange[]): void {
  const key = keyOf(object);
  const previous = known.get(key) ?? null;
  const { uid, resourceVersion } = object.metadata;
  if (previous !== null && previous.metadata.uid === uid && previous.metadata.resourceVersion === resourceVersion && resourceVersion !== undefined) {
    into.set(key, previous);
    return;
  }
  const replaces = previous !== null && previous.metadata.uid !== uid;
  if (replaces) changes.push({ type: 'delete', object: previous });
  changes.push({ type: 'upsert', object, previous: replaces ? null : previous });
  into.set(key, object);
}

function remove(state: ReflectorState, object: ApiObject, changes: ObjectChange[]): void {
  const key = keyOf(object);
  const known = state.objects.get(key);
  state.unusable.delete(key);
  if (known === undefined || known.metadata.uid !== object.metadata.uid) return;
  state.objects.delete(key);
  changes.push({ type: 'delete', object });
}

/** Servers end watches; one that ends at once and empty-handed is no watch. */
function watchEnded(state: ReflectorState, context: ReflectorContext): void {
  if (state.eventCount === 0 && context.turn.now - state.watchBeganAt < shortWatch) waitFor(state, null, 'very short watch', context);
  else proceed(state, context);
}

function failed(state: ReflectorState, error: PortFailure, context: ReflectorContext): void {
  state.pages = [];
  if (error.kind === 'out-of-range') state.newest = true;
  // If a watch fails for another reason than an unavailable server, the missed changes must be listed.
  if (state.phase === 'watching' && !passing.has(error.kind)) state.resourceVersion = null;
  waitFor(state, error.retryAfterMicros, error.message, context);
}

const passing: ReadonlySet<PortFailure['kind']> = new Set(['unavailable', 'resource-exhausted', 'deadline-exceeded']);

function waitFor(state: ReflectorState, atLeast: Micros | null, why: string, { turn }: ReflectorContext): void {
  const { phase } = state;
  state.phase = 'waiting';
  const delay = Math.max(nextReflectorDelay(state.backoff, turn.now, turn.random('backoff', addressOf(state).key)), atLeast ?? 0);
  turn.log('warn', phase === 'watching' ? 'Watch ended' : 'Failed to list', { reflector: state.name, err: why, again: delay / 1_000_000 });
  turn.wakeAt(addressOf(state), turn.now + delay);
}

function addressOf(state: ReflectorState): Address {
  return { machine: reflectorMachine, key: state.name };
}

function watchName(state: ReflectorState): string {
  return `${state.name}#${state.watches}`;
}
