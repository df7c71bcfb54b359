// Write access to what cgroups owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type CgroupsContext = ContextOf<'cgroups'>;

/** For functions that other parts call with the context of their step. */
export const asCgroups: (caller: AgentContext) => CgroupsContext = contextOf<'cgroups'>();

/** For functions that other parts call with their view of the state. */
export const cgroupsState: (state: AgentView) => StateOf<'cgroups'> = stateOf<'cgroups'>();
