// The state of the agent as its parts see it: a part writes only the slices that it owns (ownership.ts).
import type { View } from '../kernel/view.js';
import type { AgentState } from './agent-state.js';

/** Read-only at every depth. */
export interface AgentView extends View<AgentState> {}
