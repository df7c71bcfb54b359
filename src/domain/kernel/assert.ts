// Programmer errors: always on, they end the process (or the simulated world) at the place of the error.

/** An internal invariant is violated. Never thrown for bad input or for outside failures. */
export class AssertionFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AssertionFailed';
  }
}

/** Fails with `message` and the subject unless `condition` holds. The message is constant: no text is built in the normal case. */
export function assert(condition: boolean, message: string, subject: string | number | null = null): asserts condition {
  if (!condition) throw new AssertionFailed(subject === null ? message : `${message}: ${subject}`);
}

/** The end of a switch over a tagged union: unreachable while the types hold. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`unreachable: ${JSON.stringify(value)}`);
}
