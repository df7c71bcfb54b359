// Walks a machine's whole grid: every reachable state x every event. States are found by applying the events themselves, breadth
// first, distinguished as in the machine's table; each cell starts from a copy of its state.
// A cell is closed when no assertion fails except for the caller's errors (`refuses`), and its result is a valid state.
import { AssertionFailed } from '../../src/domain/kernel/assert.js';
import { clonePlain } from '../../src/domain/kernel/plain-clone.js';

export interface Grid<State> {
  readonly starts: Readonly<Record<string, () => State>>;
  /** What can come; each answers with the state that follows, which may be the one that it was given. */
  readonly events: Readonly<Record<string, (state: State) => State>>;
  /** Equal for states that the table does not distinguish. */
  readonly nameOf: (state: State) => string;
  /** Where an event is a mistake of the caller, and only there, it has to fail as one. */
  readonly refuses?: (state: State, event: string) => boolean;
  /** Where there are more states than that, the walk ends there, having tried everything in so many. */
  readonly enough?: number;
  /** What is wrong with a state, or with the way to it; nothing: all is well. */
  readonly problems: (after: State, before: State, event: string) => readonly string[];
}

export interface Walked {
  /** In the order in which they were found. */
  readonly states: readonly string[];
  readonly cells: number;
  readonly problems: readonly string[];
}

const maxStates = 3_000;
const maxProblems = 10;

export function walkGrid<State>(grid: Grid<State>): Walked {
  const found = new Map<string, State>();
  for (const start of Object.values(grid.starts)) {
    const state = start();
    found.set(grid.nameOf(state), state);
  }
  const problems: string[] = [];
  let cells = 0;
  let walked = 0;
  // A Map's iteration includes entries added meanwhile.
  for (const [name, state] of found) {
    if (grid.enough !== undefined && ++walked > grid.enough) break;
    for (const event of Object.keys(grid.events)) {
      cells++;
      const after = step(grid, name, state, event, problems);
      if (after === null) continue;
      const next = grid.nameOf(after);
      if (!found.has(next)) found.set(next, after);
    }
    if (problems.length > maxProblems || (grid.enough === undefined && found.size > maxStates)) break;
  }
  if (grid.enough === undefined && found.size > maxStates) problems.push(`more than ${maxStates} states: the walk has no end`);
  return { states: [...found.keys()], cells, problems };
}

/** null: refused, as it should be, or not closed. */
function step<State>(grid: Grid<State>, name: string, state: State, event: string, problems: string[]): State | null {
  const before = clonePlain(state);
  const refuses = grid.refuses?.(before, event) ?? false;
  try {
    const after = grid.events[event]!(clonePlain(state));
    if (refuses) problems.push(`${name}, ${event}: a mistake that nobody noticed`);
    problems.push(...grid.problems(after, before, event).map((problem) => `${name}, ${event}: ${problem}`));
    // What is no plain data can't be cloned, kept or hashed.
    return clonePlain(after);
  } catch (error) {
    if (!(refuses && error instanceof AssertionFailed)) problems.push(`${name}, ${event}: ${error instanceof Error ? error.stack : String(error)}`);
    return null;
  }
}
