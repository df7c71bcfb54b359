// Handlers of answers that others waited for.
import type { AgentContext } from '../agent-context.js';
import { drain } from './sync-loop.js';

/** What waited for the runtime may be dispatched after the answer. */
export function thenDrain<Context extends AgentContext, Answer>(handle: (context: Context, answer: Answer) => void) {
  return (context: Context, _key: string, answer: Answer): void => {
    handle(context, answer);
    drain(context);
  };
}
