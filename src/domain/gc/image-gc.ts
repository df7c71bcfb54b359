// One collection of unused images: those that are too old, then as many as the disk needs.
//
//   phase     requests                               left when
//   age       the removal of each image beyond the     all were tried: measure, or done if one failed
//             maximum age
//   measure   capacity and available bytes             below the high threshold, or no capacity: done; else space
//   space     removals in order of last use            enough was freed, or none is left: done
//
// Under disk pressure a run begins at `space` and removes all candidates.
// Invariant: an image in use is never removed, and each is tried at most once.
import type { Micros } from '../../ports/micros.js';
import { assert } from '../kernel/assert.js';
import { formatGoDuration } from '../values/go-duration.js';
import type { ImageRecord } from './image-records.js';

export interface ImageGcPolicy {
  /** Percentages of the disk in use: collection starts at `high` and frees down to `low`. */
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  /** A container may be about to use an image that was first seen less than this ago. Removals by age ignore it. */
  readonly minAge: Micros;
  /** Images unused for longer are removed even with free disk space; 0: disabled. */
  readonly maxAge: Micros;
}

interface FailedRemoval {
  readonly text: string;
  readonly earlier: FailedRemoval | null;
}

export interface ImageGcRun {
  readonly phase: 'age' | 'measure' | 'space' | 'done';
  readonly policy: ImageGcPolicy;
  readonly startedAt: Micros;
  /** In removal order. */
  readonly images: readonly ImageRecord[];
  /** The next candidate. */
  readonly index: number;
  readonly wantedBytes: bigint;
  readonly freedBytes: bigint;
  readonly failures: FailedRemoval | null;
  /** null where a shortage is no failure, as under disk pressure. */
  readonly disk: { readonly usagePercent: number; readonly capacityBytes: bigint } | null;
  readonly outcome: ImageGcOutcome | null;
}

export interface ImageGcOutcome {
  readonly error: string | null;
  /** On the node, of type Warning. */
  readonly event: { readonly reason: 'InvalidDiskCapacity' | 'FreeDiskSpaceFailed'; readonly message: string } | null;
  /** Whether the space phase ran without errors: then the pull records of removed images may be removed, too. */
  readonly isComplete: boolean;
}

export type ImageGcStep =
  | { readonly kind: 'remove'; readonly image: ImageRecord; readonly reason: 'age' | 'space' }
  | { readonly kind: 'measure' }
  | { readonly kind: 'done'; readonly outcome: ImageGcOutcome };

const maxInt64 = 2n ** 63n - 1n;

/** null when the policy is one. */
export function imageGcPolicyProblem({ highThresholdPercent: high, lowThresholdPercent: low }: ImageGcPolicy): string | null {
  if (high < 0 || high > 100) return `invalid HighThresholdPercent ${high}, must be in range [0-100]`;
  if (low < 0 || low > 100) return `invalid LowThresholdPercent ${low}, must be in range [0-100]`;
  return low > high ? `LowThresholdPercent ${low} can not be higher than HighThresholdPercent ${high}` : null;
}

/** Otherwise a collection would have no candidates. */
export function isImageGcEnabled({ highThresholdPercent, maxAge }: ImageGcPolicy): boolean {
  return highThresholdPercent < 100 || maxAge > 0;
}

/**
 * @param images candidates for removal, in order
 * @param sinceFirst how long images have been collected: until this exceeds the maximum age, the last use of images is unknown
 */
export function beginImageGc(images: readonly ImageRecord[], policy: ImageGcPolicy, sinceFirst: Micros, now: Micros): ImageGcRun {
  const removesOld = policy.maxAge > 0 && sinceFirst > policy.maxAge;
  return settle({ ...emptyRun(images, policy, now), phase: removesOld ? 'age' : 'measure' });
}

/** Under disk pressure. */
export function beginUnusedImageRemoval(images: readonly ImageRecord[], policy: ImageGcPolicy, now: Micros): ImageGcRun {
  return settle({ ...emptyRun(images, policy, now), phase: 'space', wantedBytes: maxInt64 });
}

export function nextImageGcStep(run: ImageGcRun): ImageGcStep {
  if (run.outcome !== null) return { kind: 'done', outcome: run.outcome };
  if (run.phase === 'age' || run.phase === 'space') return { kind: 'remove', image: run.images[run.index] as ImageRecord, reason: run.phase };
  return { kind: 'measure' };
}

/** @param error why the image could not be removed; null: it was */
export function afterImageRemoval(run: ImageGcRun, error: string | null): ImageGcRun {
  const step = nextImageGcStep(run);
  assert(step.kind === 'remove', 'no removal was asked for, the collection is at', run.phase);
  const { image } = step;
  if (error !== null) return settle({ ...run, index: run.index + 1, failures: { text: error, earlier: run.failures } });
  const freedBytes = run.freedBytes + BigInt(image.sizeBytes);
  if (run.phase === 'space' && freedBytes >= run.wantedBytes) return { ...run, freedBytes, phase: 'done', outcome: spaceOutcome({ ...run, freedBytes }) };
  // Space freed by age doesn't count: the disk is measured after it.
  return settle({ ...run, index: run.index + 1, freedBytes: run.phase === 'space' ? freedBytes : run.freedBytes });
}

/** The image that was to go is used by now: it stays. */
export function skipImage(run: ImageGcRun): ImageGcRun {
  assert(nextImageGcStep(run).kind === 'remove', 'no removal was asked for, the collection is at', run.phase);
  return settle({ ...run, index: run.index + 1 });
}

/** The answer to `measure`; 0 for what isn't known. */
export function afterImageFsMeasurement(run: ImageGcRun, capacityBytes: bigint, measuredBytes: bigint): ImageGcRun {
  assert(run.phase === 'measure', 'no measurement was asked for, the collection is at', run.phase);
  const availableBytes = measuredBytes > capacityBytes ? capacityBytes : measuredBytes;
  if (capacityBytes === 0n) {
    const message = 'invalid capacity 0 on image filesystem';
    return { ...run, phase: 'done', outcome: { error: message, event: { reason: 'InvalidDiskCapacity', message }, isComplete: false } };
  }
  const usagePercent = 100 - Number((availableBytes * 100n) / capacityBytes);
  if (usagePercent < run.policy.highThresholdPercent) return { ...run, phase: 'done', outcome: { error: null, event: null, isComplete: false } };
  const wantedBytes = (capacityBytes * BigInt(100 - run.policy.lowThresholdPercent)) / 100n - availableBytes;
  return settle({ ...run, phase: 'space', wantedBytes, disk: { usagePercent, capacityBytes } });
}

function emptyRun(images: readonly ImageRecord[], policy: ImageGcPolicy, startedAt: Micros): ImageGcRun {
  return { phase: 'done', policy, startedAt, images, index: 0, wantedBytes: 0n, freedBytes: 0n, failures: null, disk: null, outcome: null };
}

/** Advances to the next image to remove, and to the next phase after the last. */
function settle(run: ImageGcRun): ImageGcRun {
  if (run.phase !== 'age' && run.phase !== 'space') return run;
  const mayGo = run.phase === 'age' ? (image: ImageRecord) => isOld(run, image) : (image: ImageRecord) => mayFreeSpace(run, image);
  let index = run.index;
  for (; index < run.images.length; index++) if (mayGo(run.images[index] as ImageRecord)) return { ...run, index };
  if (run.phase === 'space') return { ...run, index, phase: 'done', outcome: spaceOutcome(run) };
  if (run.failures === null) return { ...run, index: 0, images: run.images.filter((image) => !mayGo(image)), phase: 'measure' };
  const error = `wanted to free images older than ${formatGoDuration(run.policy.maxAge)}, encountered errors in image deletion: ${failureText(run.failures)}`;
  return { ...run, index, phase: 'done', outcome: { error, event: null, isComplete: false } };
}

function isOld({ startedAt, policy }: ImageGcRun, { lastUsed }: ImageRecord): boolean {
  return lastUsed === null || startedAt - lastUsed > policy.maxAge;
}

function mayFreeSpace({ startedAt, policy }: ImageGcRun, { lastUsed, firstDetected }: ImageRecord): boolean {
  return (lastUsed === null || lastUsed < startedAt) && startedAt - firstDetected >= policy.minAge;
}

function spaceOutcome({ failures, wantedBytes, freedBytes, disk }: ImageGcRun): ImageGcOutcome {
  if (failures !== null) {
    const error = `wanted to free ${wantedBytes} bytes, but freed ${freedBytes} bytes space with errors in image deletion: ${failureText(failures)}`;
    return { error, event: null, isComplete: false };
  }
  if (disk === null || freedBytes >= wantedBytes) return { error: null, event: null, isComplete: true };
  const usage = `${disk.usagePercent}% of ${sizeText(disk.capacityBytes)} used`;
  const effort = `Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes).`;
  const advice = 'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.';
  const message = `Insufficient free disk space on the node's image filesystem (${usage}). ${effort} ${advice}`;
  return { error: message, event: { reason: 'FreeDiskSpaceFailed', message }, isComplete: true };
}

/** One text unchanged, several in brackets, each once. */
function failureText(failures: FailedRemoval): string {
  const texts: string[] = [];
  for (let failure: FailedRemoval | null = failures; failure !== null; failure = failure.earlier) texts.push(failure.text);
  const distinct = [...new Set(texts.reverse())];
  return distinct.length === 1 ? (distinct[0] as string) : `[${distinct.join(', ')}]`;
}

const sizeUnits = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** With one decimal, exact halves to the even digit. */
function sizeText(bytes: bigint): string {
  if (bytes < 1024n) return `${bytes} B`;
  let unit = 0;
  let divisor = 1024n;
  while (unit < sizeUnits.length - 1 && bytes >= divisor * 1024n) {
    divisor *= 1024n;
    unit++;
  }
  const tenths = (bytes * 10n) / divisor;
  const twiceRest = ((bytes * 10n) % divisor) * 2n;
  const rounded = twiceRest > divisor || (twiceRest === divisor && tenths % 2n === 1n) ? tenths + 1n : tenths;
  return `${rounded / 10n}.${rounded % 10n} ${sizeUnits[unit]}`;
}
