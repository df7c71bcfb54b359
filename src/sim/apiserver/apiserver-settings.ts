// What an apiserver is made of. Everything has a default.
import type { Micros } from '../../ports/micros.js';
import type { FieldValidation } from './api-request.js';

export interface ApiserverSettings {
  /** Uids, generated names and tokens are drawn from it. */
  readonly seed: number;
  /** What becomes of unknown fields where the client doesn't say it. A real server warns. */
  readonly fieldValidation: FieldValidation;
  /** Changes kept for watches and for lists of earlier versions; twice as many for a while. */
  readonly historyLimit: number;
  /** Events that wait for one watcher; at more its watch is ended. */
  readonly watchQueueLimit: number;
  /** How long a watch hears nothing at most. */
  readonly bookmarkMicros: Micros;
}

export const defaultApiserverSettings: ApiserverSettings = {
  seed: 1,
  fieldValidation: 'Strict',
  historyLimit: 10_000,
  watchQueueLimit: 10_000,
  bookmarkMicros: 60_000_000,
};
