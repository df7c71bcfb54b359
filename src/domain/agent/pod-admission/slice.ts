// Write access to what podAdmission owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { type ContextOf, contextOf, type StateOf, stateOf } from '../ownership.js';

export type PodAdmissionContext = ContextOf<'podAdmission'>;

/** For functions that other parts call with the context of their step. */
export const asPodAdmission: (caller: AgentContext) => PodAdmissionContext = contextOf<'podAdmission'>();

/** For functions that other parts call with their view of the state. */
export const podAdmissionState: (state: AgentView) => StateOf<'podAdmission'> = stateOf<'podAdmission'>();
