// Write access to what eventRecorder owns. No other folder imports this file.
import type { AgentView } from '../agent-view.js';
import { type ContextOf, type StateOf, stateOf } from '../ownership.js';

export type EventRecorderContext = ContextOf<'eventRecorder'>;

/** For functions that other parts call with their view of the state. */
export const eventRecorderState: (state: AgentView) => StateOf<'eventRecorder'> = stateOf<'eventRecorder'>();
