// Programmer errors: always on, they end the process (or the simulated world) at the place of the error.

/** An internal invariant is violated. Never thrown for bad input or for outside failures. */
export class AssertionFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AssertionFailed';
  }
}

/** Fails with `message`, and the subject behind it, unless `condition` holds. What is constant goes into the message: no text is made up while all is well. */
export function assert(condition: boolean, message: string, subject: string | number | null = null): asserts condition {
  if (!condition) throw new AssertionFailed(subject === null ? message : `${message}: ${subject}`);
}

/** The end of a switch over a tagged union: unreachable while the types hold. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`unreachable: ${JSON.stringify(value)}`);
}
