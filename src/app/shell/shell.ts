// The daemon's shell: takes the next event, runs the machine, passes its commands to the ports, turns each answer into an event, and
// sleeps until the earliest wake-up. It has no policy at all.
//
// Invariants: steps never nest (an answer during a step waits its turn); every command gets an answer, even if its
// adapter hangs beyond its time; a failed assertion ends the daemon, because its state can't be trusted any more; chains of steps
// yield to the event loop, however long they are, and keep their order.

import { turnIsSpent } from '../../adapters/time/index.js';
import type { Input, Kernel, Output } from '../../domain/kernel/kernel.js';
import type { Command, LogFields, LogLevel, Reply } from '../../domain/kernel/machine.js';
import type { Clocks } from '../../domain/values/instant.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Call } from '../../ports/operation.js';
import { PortError, type PortFailure } from '../../ports/port-error.js';

export interface ShellOutside<Event, Ops> {
  /** Hands a command to its port. Rejects with PortError. */
  perform(command: Command<Ops>, call: Call): PromiseLike<unknown>;
  /** Never less than before. */
  now(): Micros;
  wall(): Instant;
  log(level: LogLevel, message: string, fields: LogFields): void;
  /** Called with each step before its commands are performed; null input: a wake-up. */
  record?(clocks: Clocks, input: Input<Event, Ops> | null, output: Output<Ops>): void;
  /** A programmer error: nothing runs afterwards. @param input of the step that failed; null: it wasn't a step that did */
  fatal(error: unknown, input: unknown): void;
}

/** Node's timers hold 31 bits of milliseconds; a later wake-up is checked again in between. */
const longestTimerMillis = 2_147_483_647;
/** How long an adapter may take to notice that its call was cancelled; then its answer is made for it. */
const cancellationGraceMillis = 2000;
/**
 * Wake-ups in one go before the event loop gets its turn. Their commands are sent only then, and with probes each costs a third of a
 * millisecond: two hundred of them delayed everything, and themselves, by 80 ms.
 */
const wakesPerTurn = 20;

export class Shell<State, Event extends { readonly type: string }, Ops> {
  private readonly queue: (Event | Reply<Ops>)[] = [];
  private readonly calls = new Map<number, AbortController>();
  private timer: NodeJS.Timeout | null = null;
  private timerAt: Micros = Number.POSITIVE_INFINITY;
  private running = false;
  /** Resumes waiting work in the next turn of the event loop. */
  private resuming: NodeJS.Immediate | null = null;
  private stopped = false;

  constructor(
    private readonly kernel: Kernel<State, Event, Ops>,
    private readonly outside: ShellOutside<Event, Ops>,
  ) {}

  get state(): State {
    return this.kernel.state;
  }

  /** Commands that wait for their answer. */
  get inFlight(): number {
    return this.calls.size;
  }

  /** Delivers an event now, after the step that is running, or, when this turn of the event loop had its share, in the next. Ignored after `stop`. */
  deliver(event: Event | Reply<Ops>): void {
    if (this.stopped) return;
    this.queue.push(event);
    if (this.running || this.resuming !== null) return;
    if (turnIsSpent()) this.resumeNextTurn();
    else this.run();
  }

  /** Drops waiting work, cancels every call in flight and delivers no more wake-ups. Containers keep running. */
  stop(): void {
    this.stopped = true;
    this.queue.length = 0;
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.resuming !== null) clearImmediate(this.resuming);
    for (const call of this.calls.values()) call.abort(new Error('the agent stops'));
    this.calls.clear();
  }

  private run(): void {
    this.running = true;
    try {
      for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
        const clocks = this.clocks();
        this.carryOut(clocks, next, this.kernel.deliver(next, clocks.now, clocks.wall));
        if (this.queue.length > 0 && turnIsSpent()) {
          this.resumeNextTurn();
          break;
        }
      }
      this.arm();
    } catch (error) {
      this.stop();
      this.outside.fatal(error, this.kernel.stepped);
    } finally {
      this.running = false;
    }
  }

  /** Immediate answers lead to steps that lead to further answers: for thirty pods that start together this blocked the loop for 180 ms. */
  private resumeNextTurn(): void {
    if (this.stopped) return;
    this.resuming = setImmediate(() => {
      this.resuming = null;
      this.run();
    });
  }

  private wake(): void {
    this.timer = null;
    this.timerAt = Number.POSITIVE_INFINITY;
    if (this.stopped) return;
    try {
      for (let n = 0; n < wakesPerTurn; n++) {
        const clocks = this.clocks();
        const output = this.kernel.wake(clocks.now, clocks.wall);
        if (output === null) break;
        this.carryOut(clocks, null, output);
        if (turnIsSpent()) break;
      }
    } catch (error) {
      this.stop();
      this.outside.fatal(error, this.kernel.stepped);
      return;
    }
    this.arm();
  }

  private arm(): void {
    const at = this.kernel.nextWakeAt();
    if (this.stopped || at === null || at >= this.timerAt) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timerAt = at;
    // Timers of Node may fire up to a millisecond early: rounding up keeps a wake-up from finding nothing due.
    const millis = Math.min(Math.max(Math.ceil((at - this.outside.now()) / 1000), 0), longestTimerMillis);
    this.timer = setTimeout(() => this.wake(), millis);
  }

  private clocks(): Clocks {
    return { now: this.outside.now(), wall: this.outside.wall() };
  }

  private carryOut(clocks: Clocks, input: Input<Event, Ops> | null, output: Output<Ops>): void {
    this.outside.record?.(clocks, input, output);
    for (const line of output.log) this.outside.log(line.level, line.message, line.fields);
    for (const command of output.commands) this.perform(command);
    for (const id of output.cancelled) this.calls.get(id)?.abort(new Error('cancelled'));
  }

  private perform(command: Command<Ops>): void {
    const controller = new AbortController();
    this.calls.set(command.id, controller);
    const timeout = command.timeoutMicros;
    const timer = timeout === null ? null : setTimeout(() => controller.abort(new DeadlineExceeded()), timeout / 1000);
    let settled = false;
    const settle = (outcome: Reply<Ops>['outcome']): void => {
      if (settled) return;
      settled = true;
      if (timer !== null) clearTimeout(timer);
      this.calls.delete(command.id);
      this.answered(command, outcome);
    };
    // An adapter that ignores its signal must not occupy the slot forever.
    const giveUp = (): void => {
      setTimeout(() => settle({ ok: false, error: abortFailure(command, controller.signal.reason) } as never), cancellationGraceMillis).unref();
    };
    controller.signal.addEventListener('abort', giveUp, { once: true });
    let answer: PromiseLike<unknown>;
    try {
      answer = this.outside.perform(command, { signal: controller.signal, timeoutMicros: timeout });
    } catch (error) {
      settle({ ok: false, error: failureOf(command, error) } as never);
      return;
    }
    answer.then(
      (value) => settle({ ok: true, value } as never),
      (error: unknown) => settle({ ok: false, error: failureOf(command, error) } as never),
    );
  }

  private answered(command: Command<Ops>, outcome: Reply<Ops>['outcome']): void {
    if (command.answered) {
      this.deliver({ type: 'reply', id: command.id, op: command.op, address: command.address, slot: command.slot, outcome } as Reply<Ops>);
    } else if (!outcome.ok) {
      this.outside.log('warn', `${String(command.op)} failed`, { err: outcome.error.message });
    }
  }
}

class DeadlineExceeded extends Error {}

function abortFailure<Ops>(command: Command<Ops>, reason: unknown): PortFailure {
  const late = reason instanceof DeadlineExceeded;
  return {
    kind: late ? 'deadline-exceeded' : 'cancelled',
    message: late ? 'context deadline exceeded' : 'context canceled',
    operation: String(command.op),
    subject: command.slot,
    retryAfterMicros: null,
  };
}

function failureOf<Ops>(command: Command<Ops>, error: unknown): PortFailure {
  if (error instanceof PortError) return error.toFailure();
  return { kind: 'internal', message: error instanceof Error ? error.message : String(error), operation: String(command.op), subject: command.slot, retryAfterMicros: null };
}
