// Failures of ports in tests.
import { PortError, type PortFailure } from '../../src/ports/port-error.js';

/** The error that the work rejects with. @throws when it succeeds, or with any other error */
export async function portErrorOf(work: Promise<unknown>): Promise<PortError> {
  const error = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error instanceof PortError) return error;
  throw error ?? new Error('it did not fail');
}

/** The same as data. */
export async function failureOf(work: Promise<unknown>): Promise<PortFailure> {
  return (await portErrorOf(work)).toFailure();
}
