// Records and intents of pulls, as cached in memory; the files are the truth.
//
//   unread -> reading (both directories) -> read; a failure: unread again, and read again by the next run that needs it
//
// Intents of a killed agent are resolved once the runtime's images are known: a present image gets a record without
// credentials (so that it grants no access without proof), and the intent is removed.
// Invariant: an image whose pull may have been half recorded never counts as preloaded.
import type { Instant } from '../../ports/instant.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import type { PullRecordFile } from '../../ports/outbound/pull-records.js';
import { fullImageName } from '../values/image-reference.js';
import { withPreloadedNames } from './preloaded-names.js';
import { newPullIntents, type PullIntents } from './pull-intents.js';
import { readPulledRecord, readPullIntent } from './pull-record-text.js';
import { type ImagePulledRecord, type PullVerdict, recordOfInterruptedPull, type VerificationPolicy } from './pull-records.js';

/** Records in memory; a dropped one is read again on demand. */
const maxRecordsInMemory = 2_000;

/** Plain data, changed in place. */
export interface PullRecordStore {
  phase: 'unread' | 'reading' | 'read';
  /** Lists that are still to come. */
  pending: number;
  /** Why the last reading failed; null: it did not. */
  problem: string | null;
  /** Runs that wait for the end of the reading. */
  readonly waiting: number[];
  readonly counts: PullIntents;
  /** Images that have an intent file. */
  readonly intentFiles: Set<string>;
  /** By the runtime's reference; null: no record. Least recently used first. */
  readonly records: Map<string, ImagePulledRecord | null>;
  /** Images of intents that an earlier agent left behind, until they are settled. */
  readonly interrupted: Set<string>;
  /** How many checks of present images had each result: for metrics. */
  readonly checks: Map<PullCheckResult, number>;
}

/** The label `result` of the check whether a pod may use a present image. */
export type PullCheckResult = PullVerdict['why'] | 'error';

export function newPullRecordStore(): PullRecordStore {
  return {
    phase: 'unread',
    pending: 0,
    problem: null,
    waiting: [],
    counts: newPullIntents(),
    intentFiles: new Set(),
    records: new Map(),
    interrupted: new Set(),
    checks: new Map(),
  };
}

export function countCheck({ checks }: PullRecordStore, result: PullCheckResult): void {
  checks.set(result, (checks.get(result) ?? 0) + 1);
}

export function takeIntentFiles(store: PullRecordStore, files: readonly PullRecordFile[]): void {
  for (const { text } of files) {
    const intent = readPullIntent(text);
    if (intent === null) continue;
    store.intentFiles.add(intent.image);
    store.interrupted.add(intent.image);
  }
}

/** Stores the records. Returns those whose files have an older version and must be rewritten. */
export function takeRecordFiles(store: PullRecordStore, files: readonly PullRecordFile[]): ImagePulledRecord[] {
  return files.flatMap(({ text }) => {
    const read = readPulledRecord(text);
    if (read === null) return [];
    keepRecord(store, read.record.imageRef, read.record);
    return read.isOld ? [read.record] : [];
  });
}

/** undefined: it must be read. */
export function knownRecord(store: PullRecordStore, imageRef: string): ImagePulledRecord | null | undefined {
  const record = store.records.get(imageRef);
  if (record !== undefined) keepRecord(store, imageRef, record);
  return record;
}

export function keepRecord(store: PullRecordStore, imageRef: string, record: ImagePulledRecord | null): void {
  store.records.delete(imageRef);
  store.records.set(imageRef, record);
  if (store.records.size <= maxRecordsInMemory) return;
  for (const oldest of store.records.keys()) {
    store.records.delete(oldest);
    return;
  }
}

export function hasIntent(store: PullRecordStore, image: string): boolean {
  return store.counts.has(image) || store.intentFiles.has(image);
}

/** Which full names have a pull whose outcome isn't recorded, by their intents of this agent and of the one before. */
export function pullIntentNames({ counts, intentFiles }: PullRecordStore): (fullName: string) => boolean {
  const names = new Set([...counts.keys(), ...intentFiles].map(fullImageName));
  return (fullName) => names.has(fullName);
}

export interface SettledIntent {
  readonly image: string;
  readonly record: ImagePulledRecord;
}

/** Resolves interrupted pulls by the runtime's images; those without an image stay intents. */
export function settleInterrupted(store: PullRecordStore, images: readonly RuntimeImage[], wall: Instant, verification: VerificationPolicy | null): SettledIntent[] {
  const imageOf = new Map<string, RuntimeImage>();
  for (const image of images) for (const name of [...image.repoTags, ...image.repoDigests]) imageOf.set(fullImageName(name), image);
  const isPulled = pullIntentNames(store);
  const settled: SettledIntent[] = [];
  for (const image of store.interrupted) {
    const found = imageOf.get(fullImageName(image));
    // A pull of this agent has taken the intent over.
    if (found === undefined || store.counts.has(image)) continue;
    const known = settled.find(({ record }) => record.imageRef === found.id)?.record ?? store.records.get(found.id) ?? null;
    const record = recordOfInterruptedPull(known, found.id, wall);
    settled.push({ image, record: known === null && verification?.kind === 'NeverVerifyPreloadedImages' ? withPreloadedNames(record, found, isPulled) : record });
  }
  store.interrupted.clear();
  return settled;
}
