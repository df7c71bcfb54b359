// A kind of step of a pod operation's run: what it decides, and the handlers of the answers to its operations.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { ReplyFor } from '../kernel/machine.js';
import type { SyncContext } from './sync-context.js';
import type { StepOutcome, SyncRun, SyncStep } from './sync-run.js';

export type StepOf<Kind extends SyncStep['kind']> = Extract<SyncStep, { readonly kind: Kind }>;

/** By operation. */
export type StepReplies<Subject> = {
  readonly [Op in keyof AgentOperations]?: (subject: Subject, run: SyncRun, answer: ReplyFor<AgentOperations, Op>, context: SyncContext) => void;
};

export interface StepKind<Kind extends SyncStep['kind']> {
  /** Sends the next commands of the step. `waiting`: answers or other parts are due; `ended`: the run ends with this step. */
  readonly decide: (step: StepOf<Kind>, run: SyncRun, context: SyncContext) => StepOutcome;
  /** The answer to an operation without a handler is a failed assertion. Absent: the step requests nothing itself. */
  readonly replies?: StepReplies<StepOf<Kind>>;
}
