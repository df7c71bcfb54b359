// Volumes that are images: pending requests and their results, as data.
import type { Micros } from '../../ports/micros.js';
import type { ImageSpec } from '../../ports/model/container-config.js';
import type { Volume } from '../../ports/model/volume.js';
import type { PullProblem } from '../backoff/image-pull-backoff.js';

export interface ImageVolumePulls {
  /** Not requested yet. */
  volumes: readonly Volume[];
  /** Runs of the image manager by volume. */
  readonly pending: Map<string, number>;
}

export type ImageVolumeResult =
  | { readonly ok: true; readonly image: ImageSpec }
  | { readonly ok: false; readonly problem: PullProblem & { /** As of an image that is waited for. */ readonly retryAt: Micros | null } };
