// One collection of images, played with a runtime that keeps what a case says can't be removed.
import { afterImageFsMeasurement, afterImageRemoval, beginImageGc, beginUnusedImageRemoval, imageGcPolicyProblem, nextImageGcStep } from '../../../src/domain/gc/image-gc.js';
import { detectImages, type ImageRecord, removableImages } from '../../../src/domain/gc/image-records.js';
import { parseGoDuration } from '../../../src/domain/values/go-duration.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly op: 'collect' | 'deleteUnused';
  readonly policy: { readonly highThresholdPercent: number; readonly lowThresholdPercent: number; readonly minAge: string; readonly maxAge: string };
  readonly timeSinceFirstCollection?: string;
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly images: readonly {
    readonly id: string;
    readonly sizeBytes: number;
    readonly lastUsedAgo: string | null;
    readonly detectedAgo: string | null;
    readonly pinned?: boolean;
    readonly inUseBy?: string;
    readonly removeFails?: boolean;
  }[];
}

const now = 2_000_000_000_000_000;
const micros = (text: string): number => parseGoDuration(text) as number;

export const driver: VectorDriver = {
  run(input: Input) {
    const policy = { ...input.policy, minAge: micros(input.policy.minAge), maxAge: micros(input.policy.maxAge) };
    const problem = imageGcPolicyProblem(policy);
    if (problem !== null) return { error: problem };
    const before = new Map<string, ImageRecord>();
    for (const { id, sizeBytes, lastUsedAgo, detectedAgo, pinned = false } of input.images) {
      if (detectedAgo === null) continue;
      before.set(id, { id, sizeBytes, pinned, firstDetected: now - micros(detectedAgo), lastUsed: lastUsedAgo === null ? null : now - micros(lastUsedAgo) });
    }
    const inUse = new Set(input.images.filter(({ inUseBy }) => inUseBy !== undefined).map(({ id }) => id));
    const images = input.images.map(({ id, sizeBytes, pinned = false }) => ({ id, sizeBytes, pinned }));
    const candidates = removableImages(detectImages(before, images, inUse, now), inUse);
    const stubborn = new Set(input.images.filter(({ removeFails }) => removeFails === true).map(({ id }) => id));
    const deleted: string[] = [];
    let run = input.op === 'collect' ? beginImageGc(candidates, policy, micros(input.timeSinceFirstCollection ?? '0'), now) : beginUnusedImageRemoval(candidates, policy, now);
    for (;;) {
      const step = nextImageGcStep(run);
      if (step.kind === 'measure') run = afterImageFsMeasurement(run, BigInt(input.capacityBytes ?? 0), BigInt(input.availableBytes ?? 0));
      else if (step.kind === 'remove') {
        const fails = stubborn.has(step.image.id);
        if (!fails) deleted.push(step.image.id);
        run = afterImageRemoval(run, fails ? `cannot remove ${step.image.id}` : null);
      } else {
        const { error, event, isComplete } = step.outcome;
        return {
          deleted,
          ...(error === null ? {} : { error }),
          ...(event === null ? {} : { event: `Warning ${event.reason} ${event.message}` }),
          ...(isComplete ? { remaining: images.map(({ id }) => id).filter((id) => !deleted.includes(id)) } : {}),
        };
      }
    }
  },
  /** The hook may be given every image that is left; those that a case names must be among them. */
  compare(got: unknown, want: Json): Difference[] {
    if (!isObject(got) || !isObject(want) || !Array.isArray(got['remaining']) || !Array.isArray(want['remaining'])) return differences(got, want);
    const left: unknown[] = got['remaining'];
    const missing = (want['remaining'] as unknown[]).filter((id) => !left.includes(id));
    return differences({ ...got, remaining: missing }, { ...want, remaining: [] });
  },
};
