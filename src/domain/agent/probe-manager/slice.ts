// Write access to what probeManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type ProbeManagerContext = ContextOf<'probeManager'>;

/** For functions that other parts call with the context of their step. */
export const asProbeManager: (caller: AgentContext) => ProbeManagerContext = contextOf<'probeManager'>();
