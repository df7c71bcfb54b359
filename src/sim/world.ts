// The synchronous shell: virtual time for any number of nodes. Each node is a kernel and a model of its outside; the world is a heap
// of what is due, by (time, sequence). The same machines run here and in the daemon.
//
// Invariants: time never goes back; the same seed, nodes and inputs give the same order of steps; nothing is due in the past; an empty
// heap with commands in flight is a failure that says who waits for what.
import { assert } from '../domain/kernel/assert.js';
import { canonicalJson, hashText } from '../domain/kernel/canonical.js';
import type { Kernel, Output } from '../domain/kernel/kernel.js';
import type { Command, LogLevel, Reply } from '../domain/kernel/machine.js';
import { TimeHeap } from '../domain/kernel/time-heap.js';
import type { Micros } from '../ports/micros.js';
import type { Outcome } from '../ports/port-error.js';

/** What a model of the outside may do: answer later, and make things happen. */
export interface Outside<Event, Ops> {
  readonly now: Micros;
  /** Answers a command after a time; each answered command is answered exactly once. */
  reply(command: Command<Ops>, after: Micros, outcome: Outcome<unknown>): void;
  /** Something happens to the node after a time. */
  event(after: Micros, event: Event): void;
}

/** The outside of one node: runtime, disks, API. Synchronous, and data underneath. */
export interface NodeModel<Event, Ops> {
  perform(command: Command<Ops>, outside: Outside<Event, Ops>): void;
  /** A command in flight was cancelled. It still has to be answered; a model may answer sooner. */
  cancel(command: Command<Ops>, outside: Outside<Event, Ops>): void;
  /** When something happens by itself next; null: nothing will. */
  nextAt(): Micros | null;
  /** Lets happen what is due at `outside.now`. */
  advance(outside: Outside<Event, Ops>): void;
}

interface WorldNode<State, Event extends { readonly type: string }, Ops> {
  readonly name: string;
  kernel: Kernel<State, Event, Ops>;
  readonly model: NodeModel<Event, Ops>;
  /** Counts restarts of the agent: what was due for an earlier life is dropped. */
  life: number;
  wakeScheduled: Micros;
  modelScheduled: Micros;
}

type Due<State, Event extends { readonly type: string }, Ops> =
  | { readonly kind: 'input'; readonly node: WorldNode<State, Event, Ops>; readonly life: number; readonly input: Event | Reply<Ops> }
  | { readonly kind: 'wake' | 'model'; readonly node: WorldNode<State, Event, Ops>; readonly life: number }
  | { readonly kind: 'call'; readonly call: () => void };

export interface WorldOptions {
  /** Called with each step's time, node and output, before the commands are performed: checkers, traces. */
  readonly observe?: (node: string, now: Micros, output: Output<unknown>) => void;
  /** Keep a hash over (time, node, commands): what two runs with one seed are compared by. It costs most of the speed. */
  readonly hash?: boolean;
  /** The first moment of the world, microseconds since the epoch. */
  readonly start?: Micros;
  readonly log?: (node: string, now: Micros, level: LogLevel, message: string) => void;
}

export class World<State, Event extends { readonly type: string }, Ops> {
  now: Micros;
  private readonly nodes = new Map<string, WorldNode<State, Event, Ops>>();
  private readonly heap = new TimeHeap<Due<State, Event, Ops>>();
  private digest = '';
  private stepsOfPastLives = 0;

  constructor(private readonly options: WorldOptions = {}) {
    this.now = options.start ?? 0;
  }

  add(name: string, kernel: Kernel<State, Event, Ops>, model: NodeModel<Event, Ops>): void {
    assert(!this.nodes.has(name), `the world has a node ${name} already`);
    const node = { name, kernel, model, life: 0, wakeScheduled: Number.POSITIVE_INFINITY, modelScheduled: Number.POSITIVE_INFINITY };
    this.nodes.set(name, node);
    this.schedule(node);
  }

  /** Replaces a node's agent by a fresh one: kill -9 and start. Answers to the old one's commands are lost, the outside stays as it is. */
  restart(name: string, kernel: Kernel<State, Event, Ops>): void {
    const node = this.node(name);
    this.stepsOfPastLives += node.kernel.steps;
    node.kernel = kernel;
    node.life++;
    node.wakeScheduled = Number.POSITIVE_INFINITY;
    this.schedule(node);
  }

  send(name: string, event: Event, at: Micros = this.now): void {
    const node = this.node(name);
    this.push(at, { kind: 'input', node, life: node.life, input: event });
  }

  /** Runs something of the test's or the scenario's own at a time. */
  at(time: Micros, call: () => void): void {
    this.push(time, { kind: 'call', call });
  }

  kernel(name: string): Kernel<State, Event, Ops> {
    return this.node(name).kernel;
  }

  /** Steps of all machines so far. */
  get steps(): number {
    let steps = this.stepsOfPastLives;
    for (const node of this.nodes.values()) steps += node.kernel.steps;
    return steps;
  }

  /** Over everything that was commanded so far; '' unless asked for in the options. */
  get hash(): string {
    return this.digest;
  }

  /** Runs what is due up to and including `end`; time is `end` afterwards. */
  runUntil(end: Micros): void {
    while (this.heap.firstAt <= end) this.step();
    this.now = Math.max(this.now, end);
  }

  /** Runs until `done` holds, at most to `limit`. Returns whether it held. */
  runUntilTrue(done: () => boolean, limit: Micros): boolean {
    while (!done()) {
      if (this.heap.firstAt > limit) {
        if (this.heap.size === 0) this.assertNobodyWaits();
        return false;
      }
      this.step();
    }
    return true;
  }

  /** When something is due next; Infinity when nothing ever will be. */
  get nextAt(): Micros {
    return this.heap.firstAt;
  }

  assertNobodyWaits(): void {
    const waiting: string[] = [];
    for (const node of this.nodes.values())
      for (const command of node.kernel.inFlight.values())
        waiting.push(`${node.name}: ${String(command.op)} for ${command.address.machine}/${command.address.key} ${command.slot}`);
    assert(waiting.length === 0, `nothing is due and these wait for an answer: ${waiting.join('; ')}`);
  }

  private step(): void {
    const top = this.heap.pop();
    if (top === null) return;
    this.now = Math.max(this.now, top.at);
    const due = top.value;
    if (due.kind === 'call') {
      due.call();
      return;
    }
    const { node } = due;
    if (due.kind === 'model') this.advanceModel(node);
    else if (due.life === node.life) this.stepKernel(node, due);
    this.schedule(node);
  }

  private advanceModel(node: WorldNode<State, Event, Ops>): void {
    node.modelScheduled = Number.POSITIVE_INFINITY;
    node.model.advance(this.outside(node));
  }

  private stepKernel(node: WorldNode<State, Event, Ops>, due: Exclude<Due<State, Event, Ops>, { kind: 'call' }>): void {
    if (due.kind === 'input') {
      this.carryOut(node, node.kernel.deliver(due.input, this.now));
      return;
    }
    node.wakeScheduled = Number.POSITIVE_INFINITY;
    const output = node.kernel.wake(this.now);
    if (output !== null) this.carryOut(node, output);
  }

  private carryOut(node: WorldNode<State, Event, Ops>, output: Output<Ops>): void {
    this.options.observe?.(node.name, this.now, output as Output<unknown>);
    if (this.options.log !== undefined) for (const line of output.log) this.options.log(node.name, this.now, line.level, line.message);
    if (this.options.hash === true && (output.commands.length > 0 || output.cancelled.length > 0)) {
      this.digest = hashText(`${this.digest}${this.now}${node.name}${canonicalJson(output.commands)}${canonicalJson(output.cancelled)}`);
    }
    if (output.commands.length === 0 && output.cancelled.length === 0) return;
    const outside = this.outside(node);
    for (const command of output.commands) node.model.perform(command, outside);
    for (const id of output.cancelled) {
      const command = node.kernel.inFlight.get(id);
      if (command !== undefined) node.model.cancel(command, outside);
    }
  }

  private outside(node: WorldNode<State, Event, Ops>): Outside<Event, Ops> {
    const { life } = node;
    return {
      now: this.now,
      reply: (command, after, outcome) => {
        if (!command.answered) return;
        const late = command.timeoutMicros !== null && after > command.timeoutMicros;
        const settled = late ? deadlineExceeded(command) : outcome;
        const input = { type: 'reply', id: command.id, op: command.op, address: command.address, slot: command.slot, outcome: settled } as Reply<Ops>;
        this.push(this.now + (late ? (command.timeoutMicros ?? 0) : after), { kind: 'input', node, life, input });
      },
      event: (after, event) => this.push(this.now + after, { kind: 'input', node, life, input: event }),
    };
  }

  private schedule(node: WorldNode<State, Event, Ops>): void {
    const wake = node.kernel.nextWakeAt();
    if (wake !== null && wake < node.wakeScheduled) {
      node.wakeScheduled = wake;
      this.push(wake, { kind: 'wake', node, life: node.life });
    }
    const model = node.model.nextAt();
    if (model !== null && model < node.modelScheduled) {
      node.modelScheduled = model;
      this.push(model, { kind: 'model', node, life: node.life });
    }
  }

  private push(at: Micros, due: Due<State, Event, Ops>): void {
    this.heap.push(Math.max(at, this.now), due);
  }

  private node(name: string): WorldNode<State, Event, Ops> {
    const node = this.nodes.get(name);
    assert(node !== undefined, `the world has no node ${name}`);
    return node;
  }
}

function deadlineExceeded<Ops>(command: Command<Ops>): Outcome<unknown> {
  return { ok: false, error: { kind: 'deadline-exceeded', message: 'context deadline exceeded', operation: String(command.op), subject: command.slot, retryAfterMicros: null } };
}
