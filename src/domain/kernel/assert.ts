// Programmer errors: always on, they end the process (or the simulated world) at the place that is wrong.

/** An invariant of ours does not hold. Never thrown for bad input or for what the outside does. */
export class AssertionFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AssertionFailed';
  }
}

/** Fails with `message` unless `condition` holds. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** The end of a switch over a tagged union: unreachable while the types hold. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`unreachable: ${JSON.stringify(value)}`);
}
