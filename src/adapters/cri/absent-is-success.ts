// Stopping or removing an absent object succeeds.
import { PortError } from '../../ports/port-error.js';

/** Waits for the answer; `not-found` counts as done, every other failure stays one. */
export async function absentIsSuccess(answer: Promise<unknown>): Promise<null> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof PortError && error.kind === 'not-found')) throw error;
  }
  return null;
}
