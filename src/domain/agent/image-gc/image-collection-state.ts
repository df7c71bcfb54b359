// The collection of unused images as data.
import type { Micros } from '../../../ports/micros.js';
import type { RuntimeImage } from '../../../ports/outbound/container-runtime.js';
import type { ImageGcRun } from '../../gc/image-gc.js';
import type { ImageRecords } from '../../gc/image-records.js';

/** `wanted`: when the round that is on has ended; `done`: the eviction loop has not seen it yet. */
export type PressedRound = 'none' | 'wanted' | 'on' | 'done';

export interface ImageCollectionState {
  /** The state of a round that the eviction loop requested, which removes all unused images. */
  pressed: PressedRound;
  phase: 'idle' | 'containers' | 'list' | 'fsInfo' | 'usage' | 'remove' | 'records';
  /** A round has its time. */
  planned: boolean;
  /** The last round failed: the next failure is recorded as an event. */
  failedBefore: boolean;
  records: ImageRecords;
  /** Of the round in progress; null: none. */
  run: ImageGcRun | null;
  /** The images that this round found and has not removed, by id. */
  readonly present: Map<string, RuntimeImage>;
  /** Images of containers of other clients. */
  foreign: readonly string[];
  removed: number;
  startedAt: Micros;
}

export function newImageCollection(): ImageCollectionState {
  return { pressed: 'none', phase: 'idle', planned: false, failedBefore: false, records: new Map(), run: null, present: new Map(), foreign: [], removed: 0, startedAt: 0 };
}
