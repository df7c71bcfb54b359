// How many pods are worked on in one step. One thing may concern all pods of a node (a list of them, an object that all of them show, a look
// at the runtime, an image); what follows from it for one pod costs up to a millisecond, and nothing else is done meanwhile. So a step works
// on a few, and the others keep their place until the next ones.
// Invariant: whoever is refused has left what is to be done in the backlog, and the sync loop is woken for it.
import type { Micros } from '../../ports/micros.js';
import type { Address } from '../kernel/machine.js';
import type { AgentContext } from './agent-context.js';

export const syncLoopAddress: Address = { machine: 'sync-loop', key: '' };
const maxPodsAStep = 2;
/** Until the next of them: whoever runs the agent does other things in between. */
const sliceGap: Micros = 1_000;

/** Whether one more pod may be worked on in this step. */
export function mayWorkOn(context: AgentContext): boolean {
  if (context.podsWorkedOn < maxPodsAStep) {
    context.podsWorkedOn++;
    return true;
  }
  context.turn.wakeAt(syncLoopAddress, context.turn.now + sliceGap);
  return false;
}

/** Leaves all pods to the next step: what this one has done already, taking in a long list, is enough. */
export function workOnNoMore(context: AgentContext): void {
  context.podsWorkedOn = Math.max(context.podsWorkedOn, maxPodsAStep);
}
