// The latest runtime status of each pod, and how fresh it is. Relist writes it; pod workers read it, and wait until it is newer than
// their last sync, so that a sync never acts on a status from before its own actions.
// Invariant: a time in here is one at which the runtime was asked, never one at which its answer was stored.
import type { Micros } from '../../ports/micros.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import type { PortFailure } from '../../ports/port-error.js';
import type { View } from '../kernel/view.js';
import type { Clocks } from '../values/instant.js';
import { type ContainerMoments, type PodMoments, podMoments, sameMoments, unseenMoments } from './container-moments.js';

/** Without a status: the last inspection failed. */
export type CachedPodStatus = { readonly kind: 'status'; readonly status: PodRuntimeStatus } | { readonly kind: 'failed'; readonly error: PortFailure };

export interface PodCacheEntry {
  readonly cached: CachedPodStatus;
  /** When the cached status was requested from the runtime. */
  readonly modified: Micros;
  /** When an on-demand relist last found that this is still so; null: never. */
  readonly observed: Micros | null;
}

/** Plain data, changed in place by the functions below. */
export interface PodCache {
  readonly entries: Map<string, PodCacheEntry>;
  /** Start of the last full relist: everything cached is at least this fresh, but for `behind`. null before the first. */
  globalTime: Micros | null;
  /** By pod uid: the moments of its containers' transitions. */
  readonly moments: Map<string, PodMoments>;
  /** Pods whose entry in `moments` was changed or removed; who writes them down empties it. */
  readonly changedMoments: Set<string>;
  /** What `moments` lacks has happened after this, as an earlier agent has written down; null: not known. */
  observedBefore: Micros | null;
  /** Pods that the last full relist found changed and whose status is still awaited, with the full relist up to which theirs is fresh. */
  readonly behind: Map<string, Micros | null>;
}

export function newPodCache(): PodCache {
  return { entries: new Map(), globalTime: null, moments: new Map(), changedMoments: new Set(), observedBefore: null, behind: new Map() };
}

/** The cached status. A pod that the runtime doesn't have reads as an empty status. */
export function readPodCache(cache: View<PodCache>, uid: string): CachedPodStatus {
  return cache.entries.get(uid)?.cached ?? { kind: 'status', status: emptyPodStatus(uid) };
}

/** The cached status if it is newer than `time`; null: the reader waits for the next write or relist. */
export function readPodCacheIfNewer(cache: View<PodCache>, uid: string, time: Micros): CachedPodStatus | null {
  const entry = cache.entries.get(uid);
  const newer = isAfter(fullRelistOf(cache, uid), time) || (entry !== undefined && (entry.modified > time || isAfter(entry.observed, time)));
  return newer ? readPodCache(cache, uid) : null;
}

export function setPodCache(cache: PodCache, uid: string, cached: CachedPodStatus, modified: Micros): void {
  cache.entries.set(uid, { cached, modified, observed: cache.entries.get(uid)?.observed ?? null });
}

export function deleteFromPodCache(cache: PodCache, uid: string): void {
  cache.entries.delete(uid);
  if (cache.moments.delete(uid)) cache.changedMoments.add(uid);
}

/** Records the moments of a pod's containers. Call it before the pod's cached status is replaced. */
export function noteMoments(cache: PodCache, status: PodRuntimeStatus, clocks: Clocks): void {
  const { uid } = status;
  const entry = cache.entries.get(uid);
  const looks = [entry?.modified ?? null, entry?.observed ?? null, fullRelistOf(cache, uid), cache.observedBefore].filter((time) => time !== null);
  const before = cache.moments.get(uid) ?? null;
  const moments = podMoments(before, status, looks.length === 0 ? null : Math.max(...looks), clocks);
  if (before !== null && sameMoments(before, moments)) return;
  cache.moments.set(uid, moments);
  cache.changedMoments.add(uid);
}

export function containerMoments(cache: View<PodCache>, uid: string, container: RuntimeContainerStatus, clocks: Clocks): ContainerMoments {
  return cache.moments.get(uid)?.get(container.id) ?? unseenMoments(container, cache.observedBefore, clocks);
}

/** The pod's cached status was still current at `time`. No effect for a pod that is not cached. */
export function markPodObserved(cache: PodCache, uid: string, time: Micros): void {
  const entry = cache.entries.get(uid);
  if (entry !== undefined) cache.entries.set(uid, { ...entry, observed: time });
}

/** Confirms every cached status as of `time`, except for pods marked as behind. */
export function markAllPodsObserved(cache: PodCache, time: Micros): void {
  cache.globalTime = time;
}

/** The pod changed, and its new status is pending: the next full relist doesn't confirm the cached one. */
export function markPodBehind(cache: PodCache, uid: string): void {
  if (!cache.behind.has(uid)) cache.behind.set(uid, cache.globalTime);
}

export function isPodBehind(cache: View<PodCache>, uid: string): boolean {
  return cache.behind.has(uid);
}

/** Its status or its failure is cached. */
export function markPodCaughtUp(cache: PodCache, uid: string): void {
  cache.behind.delete(uid);
}

/** The last full relist at which the pod's cached status was current: of a pod that it found changed, the previous one. */
function fullRelistOf(cache: View<PodCache>, uid: string): Micros | null {
  const before = cache.behind.get(uid);
  return before === undefined ? cache.globalTime : before;
}

export function emptyPodStatus(uid: string): PodRuntimeStatus {
  return { uid, name: '', namespace: '', ips: [], sandboxes: [], containers: [], observedAt: 0 };
}

function isAfter(time: Micros | null, limit: Micros): boolean {
  return time !== null && time > limit;
}
