// A host on which chosen operations fail, before or after they did their work: what a full disk, a read-only mount or a kill in between
// look like to the agent. Put in the place of a SimHost.
import type { Micros } from '../../ports/micros.js';
import type { PortErrorKind } from '../../ports/port-error.js';
import { type Answer, refused } from '../runtime/answers.js';
import type { HostOperationName, HostOperations, SimHost } from './sim-host.js';

export interface HostFailure {
  readonly kind: PortErrorKind;
  readonly message: string;
  /** The work was done all the same, only the answer says otherwise. */
  readonly committed: boolean;
}

/** Which failure an operation meets; null: none. */
export type HostFailurePlan = (op: HostOperationName, request: unknown, now: Micros) => HostFailure | null;

export class FailingHost {
  constructor(
    private readonly host: SimHost,
    private readonly plan: HostFailurePlan,
  ) {}

  knows(op: string): op is HostOperationName {
    return this.host.knows(op);
  }

  handle<Name extends HostOperationName>(op: Name, request: HostOperations[Name]['request'], now: Micros): Answer<HostOperations[Name]['reply']> {
    const failure = this.plan(op, request, now);
    if (failure === null) return this.host.handle(op, request, now);
    const after = failure.committed ? this.host.handle(op, request, now).after : 0;
    return refused(failure.kind, failure.message, op, '', after);
  }
}
