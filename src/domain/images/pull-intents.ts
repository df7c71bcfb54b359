// Pulls under way, counted by image: the intent file exists from the first pull of an image to the end of its last.
// Invariant: a file is written when a count leaves 0 and deleted when it comes back to 0 with nothing left to record; counts are never negative.
import { assert } from '../kernel/assert.js';

/** Image as in the pods' specs -> pulls in progress. Plain data, changed in place. */
export type PullIntents = Map<string, number>;

export function newPullIntents(): PullIntents {
  return new Map();
}

/** Counts before the file is written: a file that can't be written ends the pull, which then counts back. */
export function pullIntended(intents: PullIntents, image: string): void {
  intents.set(image, (intents.get(image) ?? 0) + 1);
}

/**
 * The end of one pull, good or bad.
 * @param recorded false when the image was pulled and its record couldn't be written: then the intent must outlive this process
 * @returns whether the intent's file is to be deleted
 */
export function pullConcluded(intents: PullIntents, image: string, recorded: boolean): boolean {
  const count = intents.get(image) ?? 0;
  assert(count > 0, 'a pull that ends was intended');
  if (count > 1) intents.set(image, count - 1);
  else intents.delete(image);
  return count === 1 && recorded;
}
