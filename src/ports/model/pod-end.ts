// The end of an agent by a programmer error, as the next agent reads it.
import type { Instant } from '../instant.js';
import type { Micros } from '../micros.js';

/** A moment by the clock that is never set. */
export interface BootMoment {
  readonly bootId: string;
  /** Microseconds since that boot. */
  readonly at: Micros;
}

/** One end of the process by a pod's input. */
export interface PodEnd {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly at: Instant;
  /** The same by the clock of the boot; null: not known. */
  readonly sinceBoot: BootMoment | null;
  /** Its object at that time, see `objectVersion`; '' if absent. null: not every source had reported. */
  readonly version: string | null;
  /** Of an adopted static pod: the UID from its manifest. The same as `uid` for all others. */
  readonly manifestUid: string;
  /** It was aside at that time. */
  readonly wasAside: boolean;
  /** The file with the stack and the input. */
  readonly file: string;
}
