// Limits the pods processed in one step. One event may concern all pods of a node (a list of pods, an object that all of them mount, a listing
// of the runtime, an image); processing it for one pod costs up to a millisecond, and blocks everything else. So a step processes
// a few, and the others stay queued until the next steps.
// Invariant: a refused caller has queued its work in the backlog, and the sync loop is woken for it.
import type { Micros } from '../../../ports/micros.js';
import type { Address } from '../../kernel/machine.js';
import type { AgentContext } from '../agent-context.js';
import type { SyncLoopContext } from './slice.js';

export const syncLoopAddress: Address = { machine: 'sync-loop', key: '' };
const maxPodsAStep = 2;
/** Until the next step: the shell does other work in between. */
const sliceGap: Micros = 1_000;

/** Takes the turn of one more pod in this step. False: there is none left, and the loop is woken for the rest. */
export function takePodTurn(context: AgentContext): boolean {
  if (context.podsWorkedOn < maxPodsAStep) {
    context.podsWorkedOn++;
    return true;
  }
  context.turn.wakeAt(syncLoopAddress, context.turn.now + sliceGap);
  return false;
}

/** Whether pods wait that may be worked on in this step. */
export function mayResumeMore({ state: { backlog }, podsWorkedOn }: AgentContext): boolean {
  return (backlog.woken.size > 0 || backlog.statusesCame) && podsWorkedOn < maxPodsAStep;
}

/** Leaves all pods to the next step: this one has processed a long list already. */
export function endPodTurns(context: SyncLoopContext): void {
  context.podsWorkedOn = Math.max(context.podsWorkedOn, maxPodsAStep);
}
