// The agent of one node as a machine: routes events, answers and wake-ups to its parts, then lets them settle. The parts are in parts.ts.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { assert } from '../kernel/assert.js';
import type { Machine, Reply, Turn, Wake } from '../kernel/machine.js';
import type { AgentEvent, AgentState } from './agent-state.js';
import { contextOf, type Owner } from './ownership.js';
import { PartTable } from './part.js';
import { agentParts } from './parts.js';
import { apiParts } from './reflectors/api-owners.js';
import { withoutAside } from './set-aside/set-aside.js';
import { StepContext } from './step-context.js';
import { subjectOf } from './step-subject.js';
import { mayResumeMore } from './sync-loop/pod-pace.js';
import { noteWallClock } from './wall-clock.js';

export type AgentInput = AgentEvent | Reply<AgentOperations> | Wake;

const parts = new PartTable(agentParts);

/**
 * Makes the machine for a state; the two belong together for the state's life.
 * @param checksSettled each step asserts that it has left nothing to do that no later input would lead to: twice the cost, for tests and simulations
 */
export function agentMachine(state: AgentState, checksSettled = false): Machine<AgentState, AgentEvent, AgentOperations> {
  const context = contextOf<Owner>()(new StepContext(state, apiParts));
  return {
    step(given: AgentState, input: AgentInput, turn: Turn<AgentOperations>): void {
      assert(given === state, 'an agent is stepped with a state that is not its own');
      context.begin(turn);
      noteWallClock(context);
      state.subject = subjectOf(state, input);
      parts.take(context, withoutAside(state, input));
      state.subject = null;
      parts.settle(context);
      // A part that settles after the sync loop may have resumed pods: they have their turn in this step, too.
      if (mayResumeMore(context)) parts.settle(context);
      if (!checksSettled) return;
      const unsettled = parts.unsettled(context);
      assert(unsettled === null, 'a step has left work undone', unsettled);
    },
  };
}
