// A fault plan as a simulated node takes it: one decision on each command.

import type { KubeletOperations } from '../../domain/agent/kubelet.js';
import type { Command } from '../../domain/kernel/machine.js';
import type { Micros } from '../../ports/micros.js';
import type { Fault } from '../sim-node.js';
import type { FaultAction, FaultPlan } from './fault-plan.js';

/** How long a hanging answer takes for a command without a time limit. In the world nothing may be in flight forever. */
const hangMicros: Micros = 3_600_000_000;

/** The first action that a command meets is what happens to it. A delay is the same before and after: models answer at once. */
export function worldFaults(plan: FaultPlan): (command: Command<KubeletOperations>, now: Micros) => Fault | null {
  return (command, now) => {
    const [action] = plan.strike(command.op, now);
    return action === undefined ? null : faultOf(action, command);
  };
}

function faultOf(action: FaultAction, { timeoutMicros }: Command<KubeletOperations>): Fault {
  switch (action.kind) {
    case 'error':
      return { kind: 'fail', error: action.error, committed: action.moment === 'after', message: action.message };
    case 'delay':
      return { kind: 'delay', by: action.micros };
    case 'hang':
      return { kind: 'delay', by: timeoutMicros ?? hangMicros };
  }
}
