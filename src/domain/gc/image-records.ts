// Records of the images on the node: when each was first seen, and when it was last used.
// Invariant: there is a record for exactly the images that are present, and none is a candidate for removal while it is in use or pinned.
import type { Micros } from '../../ports/micros.js';
import { byCodeUnits } from '../values/text-order.js';

export interface PresentImage {
  readonly id: string;
  readonly sizeBytes: number;
  /** The runtime wants to keep it, as it does the sandbox's. */
  readonly pinned: boolean;
}

export interface ImageRecord extends PresentImage {
  readonly firstDetected: Micros;
  /** null: nothing was seen using it since the agent runs. */
  readonly lastUsed: Micros | null;
}

export type ImageRecords = ReadonlyMap<string, ImageRecord>;

/** Updates the records from a listing of images. @param inUse ids that containers in any state, or image volumes, refer to */
export function detectImages(before: ImageRecords, images: readonly PresentImage[], inUse: ReadonlySet<string>, now: Micros): ImageRecords {
  return new Map(
    images.map(({ id, sizeBytes, pinned }) => {
      const known = before.get(id);
      const lastUsed = inUse.has(id) ? now : (known?.lastUsed ?? null);
      return [id, { id, sizeBytes, pinned, firstDetected: known?.firstDetected ?? now, lastUsed }];
    }),
  );
}

/** Removable images, in this order: never used, then least recently used; among those the longest known. */
export function removableImages(records: ImageRecords, inUse: ReadonlySet<string>): ImageRecord[] {
  const unused = [...records.values()].filter(({ id, pinned }) => !pinned && !inUse.has(id));
  return unused.sort((a, b) => byLastUse(a, b) || a.firstDetected - b.firstDetected || byCodeUnits(a.id, b.id));
}

function byLastUse(a: ImageRecord, b: ImageRecord): number {
  if (a.lastUsed === null || b.lastUsed === null) return Number(a.lastUsed !== null) - Number(b.lastUsed !== null);
  return a.lastUsed - b.lastUsed;
}
