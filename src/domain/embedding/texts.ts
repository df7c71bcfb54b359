// Readers of small texts for embedders: times, durations, image references.
import { epochMicros } from '../../domain/values/instant.js';
import type { Micros } from '../../ports/micros.js';
import { parseGoDuration } from '../values/go-duration.js';
import type { NormalizedImage } from '../values/image-name.js';
import * as imageName from '../values/image-name.js';
import type { ImageReference } from '../values/image-reference.js';
import * as imageReference from '../values/image-reference.js';
import * as time from '../values/time.js';
import { checkArgument, text } from './shape.js';

/**
 * Reads a duration of Go's `time.ParseDuration`, the form of every duration in a KubeletConfiguration: `1m30s`, `100ms`.
 * @returns microseconds, finer parts cut off; null where the text is no duration
 * @throws AssertionFailed where `input` is no string
 */
export function parseDuration(input: string): Micros | null {
  checkArgument('input', input, text);
  return parseGoDuration(input);
}

/**
 * Reads a time of RFC 3339, the form of every time in the API.
 * @returns microseconds since the epoch, finer parts cut off; null where the text is no time
 * @throws AssertionFailed where `input` is no string
 */
export function parseRfc3339(input: string): number | null {
  checkArgument('input', input, text);
  const parsed = time.parseRfc3339(input);
  return parsed === null ? null : epochMicros(parsed);
}

/**
 * Reads a reference of an image, by the grammar of the OCI distribution project: `[domain/]path[:tag][@algorithm:digest]`.
 * @returns its parts; null where the text is none
 * @throws AssertionFailed where `input` is no string
 */
export function parseImageReference(input: string): ImageReference | null {
  checkArgument('input', input, text);
  return imageReference.parseImageReference(input);
}

/**
 * The image name for a runtime: the reference as written, with `:latest` if it has neither tag nor digest. No registry is added.
 * @returns the name, or why the image's pod waits with `InvalidImageName`
 * @throws AssertionFailed where `image` is no string
 */
export function normalizeImageName(image: string): NormalizedImage {
  checkArgument('image', image, text);
  return imageName.normalizeImageName(image);
}
