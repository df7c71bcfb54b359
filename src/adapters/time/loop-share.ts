// Long work in slices: a long task checks between two pieces whether its share of the event loop is used up, and yields.
// Invariant: at most `sliceMillis` of such work plus one piece run in one turn, for any number of tasks.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A quarter of the agent's limit for blocking the loop. */
const sliceMillis = 2.5;

/** The start of this kind of work in the current turn; null: not yet. */
let turnBegan: number | null = null;

function turnStart(): number {
  if (turnBegan === null) {
    turnBegan = performance.now();
    setImmediate(() => {
      turnBegan = null;
    });
  }
  return turnBegan;
}

/** Whether such work should leave the rest to the next turn. The first check begins the turn's share. */
export function turnIsSpent(): boolean {
  return performance.now() - turnStart() >= sliceMillis;
}

export class LoopShare {
  private since = turnStart();

  /** null: continue. Otherwise wait for it. */
  pause(): Promise<void> | null {
    if (performance.now() - this.since < sliceMillis) return null;
    return nextTurn().then(() => {
      this.since = turnStart();
    });
  }

  /** Begins a new slice, after a wait for something else. */
  begin(): void {
    this.since = turnStart();
  }
}
