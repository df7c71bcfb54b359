// The allocation of host ids: the ranges of pods with user namespaces.
//
//   unread -> (the files of all pods) -> known: a pod's range is reserved -> written -> released when its directory is gone
//
// Invariants: a range counts as taken from its reservation until the pod's directory, and with it its file, is gone, so that after
// a kill at any point the next agent finds the file, or nothing uses the range; a new range never overlaps a taken one.

import type { UserNamespaceFile } from '../../ports/outbound/pod-files.js';
import { readIdMapping } from '../checkpoints/small-state-files.js';
import { assert } from '../kernel/assert.js';
import type { View } from '../kernel/view.js';
import { fnv1aHash32 } from '../values/fnv.js';
import { utf8Encode } from '../values/utf8.js';
import { idsEnd, type UserNamespaceSettings } from './id-range.js';

/** The host ids of one pod's namespace: its ids 0.. are `hostId`.. on the host. */
export interface HostIds {
  readonly hostId: number;
  readonly length: number;
}

/** A pod's range, and whether its file is on disk. */
export interface ReservedIds extends HostIds {
  /** It is on disk. */
  readonly written: boolean;
}

export interface UserNamespaces {
  readonly settings: UserNamespaceSettings;
  /** The files of pods that were there before have been read. */
  known: boolean;
  readonly ranges: Map<string, ReservedIds>;
  /** Pods with an unreadable file: the cause, by UID. They may have any range. */
  readonly unreadable: Map<string, string>;
}

export type RangeOfPod =
  | { readonly kind: 'written'; readonly ids: HostIds }
  /** Its file is to be written before it is used. */
  | { readonly kind: 'reserved'; readonly ids: HostIds }
  | { readonly kind: 'failed'; readonly message: string };

export function newUserNamespaces(settings: UserNamespaceSettings): UserNamespaces {
  return { settings, known: false, ranges: new Map(), unreadable: new Map() };
}

/** Adds the ranges on disk. Ranges that this agent reserved are newer than any listing. Returns the number of pods that are new to it. */
export function takeFiles(state: UserNamespaces, files: readonly UserNamespaceFile[]): number {
  state.known = true;
  let found = 0;
  for (const { uid, text, problem } of files) {
    if (state.ranges.has(uid) || state.unreadable.has(uid) || text === '') continue;
    const read = text === null ? { ok: false as const, error: problem } : readIdMapping(text);
    const mapping = read.ok ? read.value : null;
    if (!read.ok) state.unreadable.set(uid, read.error);
    else if (mapping === null) continue;
    else if (mapping.length === 0 || mapping.hostId + mapping.length > idsEnd) state.unreadable.set(uid, `wrong user namespace length ${mapping.length}`);
    else state.ranges.set(uid, { hostId: mapping.hostId, length: mapping.length, written: true });
    found++;
  }
  return found;
}

/**
 * The range of a pod whose sandbox will be created now: its present one, unless this kubelet would not assign it or another pod has it too. Otherwise reserves a
 * free one.
 */
export function rangeForSandbox(state: UserNamespaces, uid: string): RangeOfPod {
  const known = state.ranges.get(uid);
  if (known !== undefined && isGivable(state, uid, known)) return { kind: known.written ? 'written' : 'reserved', ids: known };
  for (const [other, problem] of state.unreadable) {
    if (other !== uid) return { kind: 'failed', message: `create user namespace: the range of pod ${JSON.stringify(other)} is unknown: ${problem}` };
  }
  const hostId = freeRange(state, uid);
  if (hostId === null) return { kind: 'failed', message: 'create user namespace: could not find an empty slot to allocate a user namespace' };
  const ids = { hostId, length: state.settings.idsPerPod, written: false };
  assert(isGivable(state, uid, ids), 'a range of ids overlaps that of another pod', uid);
  state.unreadable.delete(uid);
  state.ranges.set(uid, ids);
  return { kind: 'reserved', ids };
}

/** The range of a pod with a sandbox: the one it was created with, even if this kubelet would choose another. */
export function rangeOfSandbox(state: View<UserNamespaces>, uid: string): RangeOfPod {
  const known = state.ranges.get(uid);
  if (known?.written === true) return { kind: 'written', ids: known };
  return { kind: 'failed', message: `user namespace: ${state.unreadable.get(uid) ?? 'the sandbox runs, but the pod has no file with its ids'}` };
}

/** The file with the pod's reserved range is on disk. */
export function rangeWritten(state: UserNamespaces, uid: string): void {
  const known = state.ranges.get(uid);
  if (known !== undefined) state.ranges.set(uid, { hostId: known.hostId, length: known.length, written: true });
}

/** The pod's directory is removed. */
export function releaseRange(state: UserNamespaces, uid: string): void {
  state.ranges.delete(uid);
  state.unreadable.delete(uid);
}

/** Pods that have a range, or a file that can't be read. */
export function podsWithRanges(state: View<UserNamespaces>): string[] {
  return [...state.ranges.keys(), ...state.unreadable.keys()];
}

function isGivable({ settings, ranges }: UserNamespaces, uid: string, { hostId, length }: HostIds): boolean {
  const slot = (hostId - settings.firstId) / settings.idsPerPod;
  if (length !== settings.idsPerPod || !Number.isInteger(slot) || slot < 0 || slot >= settings.slots) return false;
  for (const [other, ids] of ranges) if (other !== uid && ids.hostId < hostId + length && hostId < ids.hostId + ids.length) return false;
  return true;
}

/** The first id of a free slot; null: none. The search begins at a place derived from the pod, so that a range isn't reused right after its release. */
function freeRange({ settings, ranges }: UserNamespaces, uid: string): number | null {
  const { firstId, idsPerPod, slots } = settings;
  const taken = new Set<number>();
  for (const [other, { hostId, length }] of ranges) {
    if (other === uid) continue;
    const last = Math.min(slots - 1, Math.floor((hostId + length - 1 - firstId) / idsPerPod));
    for (let slot = Math.max(0, Math.floor((hostId - firstId) / idsPerPod)); slot <= last; slot++) taken.add(slot);
  }
  const start = fnv1aHash32(utf8Encode(uid)) % slots;
  for (let tried = 0; tried < slots; tried++) {
    const slot = (start + tried) % slots;
    if (!taken.has(slot)) return firstId + slot * idsPerPod;
  }
  return null;
}
