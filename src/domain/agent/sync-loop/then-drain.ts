// Handlers of answers that others waited for.
import type { AgentContext } from '../agent-context.js';
import { drain } from './sync-loop.js';

/** What waited for the runtime may be dispatched after the answer. */
export function thenDrain<Answer>(handle: (context: AgentContext, answer: Answer) => void) {
  return (context: AgentContext, _key: string, answer: Answer): void => {
    handle(context, answer);
    drain(context);
  };
}
