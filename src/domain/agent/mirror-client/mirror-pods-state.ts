// Requests about mirror pods in flight, until the watch of the node's pods shows their effect.
import type { Micros } from '../../../ports/micros.js';

export interface MirrorPods {
  /** Full name -> uid of the mirror that was made and has not been seen yet. */
  readonly made: Map<string, string>;
  /** Full name -> uid of the mirror that was deleted and is still seen. */
  readonly unmade: Map<string, string>;
  /** Full name -> uid of the mirror being deleted. */
  readonly deleting: Map<string, string>;
  /** Full name -> the pause after the last failure. */
  readonly pauses: Map<string, Micros>;
}

export function newMirrorPods(): MirrorPods {
  return { made: new Map(), unmade: new Map(), deleting: new Map(), pauses: new Map() };
}
