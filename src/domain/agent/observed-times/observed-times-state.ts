// What the agent keeps to write down the observed times of pods and containers, and what it takes over from the previous agent: see `observed-times.ts`.
import type { Micros } from '../../../ports/micros.js';
import { observedTimesFileName } from '../../checkpoints/observed-times.js';
import { newStateFileWriter, type StateFileWriter } from '../../checkpoints/state-file-writer.js';

export const observedTimesAddress = { machine: 'observed-times', key: '' } as const;

export interface ObservedTimesSettings {
  /** Text of the state file `observed_times_state`; null if absent. */
  readonly text: string | null;
  /** Identifies the boot of the host; '': unknown, and nothing is written or taken over. */
  readonly bootId: string;
  /** The moment of the boot, by the agent's monotonic clock. */
  readonly bootedAt: Micros;
}

export interface ObservedTimesState {
  /** Texts of the pods' entries, by uid. */
  readonly texts: Map<string, string>;
  /** Pods whose start time changed since the last write. */
  readonly changedStarts: Set<string>;
  /** Pods of the previous agent that this one has not found yet. */
  readonly recalled: Set<string>;
  /** `upTo` of the last write, by the agent's clock. */
  upTo: Micros | null;
  /** The next write is not before this. */
  nextAt: Micros;
  /** Of the texts; raised by each change that must be on disk. */
  revision: number;
  /** By the revision; 0 is the file of the previous agent. */
  readonly file: StateFileWriter<number>;
}

export function newObservedTimes(): ObservedTimesState {
  const file = newStateFileWriter(observedTimesFileName, observedTimesAddress, 0, { isRequired: false });
  return { texts: new Map(), changedStarts: new Set(), recalled: new Set(), upTo: null, nextAt: Number.NEGATIVE_INFINITY, revision: 0, file };
}
