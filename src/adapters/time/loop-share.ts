// Long work in slices: whoever does much on the event loop asks between two pieces whether it has had its share, and lets others go first.
// Invariant: no more than `sliceMillis` of such work are done in one turn, plus one piece, whatever number of shares are asked in it.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A quarter of what the agent allows itself to hold up the loop for. */
const sliceMillis = 2.5;

/** When work of this kind began in the turn that is under way; null: not yet. */
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

/** Whether such work should leave what is left of it to the next turn. Asking begins the turn's share. */
export function turnIsSpent(): boolean {
  return performance.now() - turnStart() >= sliceMillis;
}

export class LoopShare {
  private since = turnStart();

  /** null: go on. Otherwise wait for it. */
  pause(): Promise<void> | null {
    if (performance.now() - this.since < sliceMillis) return null;
    return nextTurn().then(() => {
      this.since = turnStart();
    });
  }

  /** After something else was waited for: what follows is a slice of its own. */
  begin(): void {
    this.since = turnStart();
  }
}
