// Runs one machine on its own: commands are answered by a function, time moves when the test says so.
import { Kernel, type Output } from '../../src/domain/kernel/kernel.js';
import type { Command, LogFields, Machine, Reply } from '../../src/domain/kernel/machine.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Micros } from '../../src/ports/micros.js';
import type { Outcome, PortErrorKind } from '../../src/ports/port-error.js';

/** A test that needs more steps than this loops. */
const maxSteps = 100_000;

export type Answerer<Ops> = (command: Command<Ops>, now: Micros) => Outcome<unknown> | null;

export function ok(value: unknown): Outcome<unknown> {
  return { ok: true, value };
}

export function failure(kind: PortErrorKind, message: string = kind, retryAfterMicros: Micros | null = null): Outcome<never> {
  return { ok: false, error: { kind, message, operation: '', subject: '', retryAfterMicros } };
}

export class MachineRun<State, Event extends { readonly type: string }, Ops> {
  now: Micros = 1_800_000_000_000_000;
  readonly commands: { readonly at: Micros; readonly command: Command<Ops> }[] = [];
  readonly log: string[] = [];
  readonly logFields: LogFields[] = [];
  readonly kernel: Kernel<State, Event, Ops>;
  private steps = 0;

  /** @param answer null: no answer yet, until `reply` gives one */
  constructor(
    machine: Machine<State, Event, Ops>,
    state: State,
    public answer: Answerer<Ops>,
  ) {
    this.kernel = new Kernel(machine, state, 1);
  }

  feed(event: Event): this {
    this.perform(this.kernel.deliver(event, this.now, instantOf(this.now)));
    return this;
  }

  /** Answers the oldest command in flight. */
  reply(outcome: Outcome<unknown>): this {
    const oldest = this.kernel.inFlight.values().next();
    if (oldest.done === true) throw new Error('no command waits for an answer');
    return this.deliver(oldest.value, outcome);
  }

  /** Lets time pass, with every wake-up on the way. */
  pass(micros: Micros): this {
    const end = this.now + micros;
    for (let next = this.kernel.nextWakeAt(); next !== null && next <= end; next = this.kernel.nextWakeAt()) {
      this.now = Math.max(this.now, next);
      const output = this.kernel.wake(this.now, instantOf(this.now));
      if (output !== null) this.perform(output);
    }
    this.now = end;
    return this;
  }

  /** Names of the commands so far. */
  get asked(): string[] {
    return this.commands.map(({ command }) => String(command.op));
  }

  private deliver(command: Command<Ops>, outcome: Outcome<unknown>): this {
    const { id, op, address, slot } = command;
    this.perform(this.kernel.deliver({ type: 'reply', id, op, address, slot, outcome } as Reply<Ops>, this.now, instantOf(this.now)));
    return this;
  }

  private perform(output: Output<Ops>): void {
    if (++this.steps > maxSteps) throw new Error('the machine does not come to rest');
    for (const { level, message, fields } of output.log) {
      this.log.push(`${level} ${message}`);
      this.logFields.push(fields);
    }
    for (const command of output.commands) {
      this.commands.push({ at: this.now, command });
      const outcome = this.answer(command, this.now);
      if (command.answered && outcome !== null) this.deliver(command, outcome);
    }
  }
}
