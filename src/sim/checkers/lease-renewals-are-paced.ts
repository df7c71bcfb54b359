// While the agent runs, the node's lease is renewed at its pace, by the clock that is never set: setting the wall clock neither delays a renewal nor
// makes renewals follow each other without a pause. An agent that stops renewing is noticed, too, without a further renewal.
import type { Micros } from '../../ports/micros.js';
import type { Checker } from './checker.js';

interface Renewals {
  /** Of the last write or read of the lease, or of the start of the agent. */
  lastAt: Micros;
  /** Writes within the last second. */
  recent: readonly Micros[];
}

const second: Micros = 1_000_000;
/** More than the tries of the renewals of a second in which the Node comes and each write meets a conflict. */
const mostInASecond = 40;
/** A quarter of the lease's duration, and all tries of a renewal with their time limits. */
const longestPause: Micros = 120 * second;

export const leaseRenewalsArePaced: Checker<Renewals> = {
  name: 'lease-renewals-are-paced',
  fresh: () => ({ lastAt: Number.POSITIVE_INFINITY, recent: [] }),
  look(memory, what, { now, running, agent }, report) {
    if (what.kind === 'started') Object.assign(memory, { lastAt: now, recent: [] });
    if (what.kind === 'step' && running && agent.settings.apiserver) {
      // The first agent of a world isn't announced.
      if (memory.lastAt === Number.POSITIVE_INFINITY) memory.lastAt = now;
      if (now - memory.lastAt <= longestPause) return;
      report(`the lease was left alone for ${(now - memory.lastAt) / second} s`);
      memory.lastAt = now;
    }
    if (what.kind !== 'command' || !what.command.op.startsWith('api')) return;
    const { op, request } = what.command;
    if (op !== 'apiWriter.update' && op !== 'apiWriter.create' && op !== 'apiReader.get') return;
    if (request.resource.plural !== 'leases') return;
    memory.lastAt = now;
    if (op === 'apiReader.get') return;
    memory.recent = [...memory.recent.filter((at) => now - at < second), now];
    if (memory.recent.length === mostInASecond) report(`the lease is written ${mostInASecond} times within a second`);
  },
};
