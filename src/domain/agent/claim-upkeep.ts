// Routes the answers to work on claims, and decides when their state file is written.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { draFileReplied, planDraFile } from '../dra-manager/dra-file.js';
import { draFileAddress, draTaskMachine } from '../dra-manager/dra-state.js';
import { draTaskReplied } from '../dra-manager/dra-tasks.js';
import type { Reply } from '../kernel/machine.js';
import type { AgentContext } from './agent-context.js';
import { draContext } from './claims.js';

/** False: the answer belongs to another part. */
export function takeClaimReply(context: AgentContext, reply: Reply<AgentOperations>): boolean {
  const { dra } = context.state;
  const { machine, key } = reply.address;
  if (dra === null) return false;
  if (machine === draTaskMachine) draTaskReplied(dra, key, reply, draContext(context));
  else if (machine === draFileAddress.machine) draFileReplied(dra, reply, draContext(context));
  else return false;
  return true;
}

/** At the end of a step. */
export function planClaimFile(context: AgentContext): void {
  const { dra } = context.state;
  if (dra !== null) planDraFile(dra, draContext(context));
}
