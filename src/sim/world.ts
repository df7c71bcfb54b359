// The synchronous shell: virtual time for any number of nodes. Each node is a kernel and a model of its surroundings; the world is a heap
// of due steps, by (time, sequence). The same machines run here and in the daemon.
//
// Invariants: time never runs backwards; the same seed, nodes and inputs give the same order of steps; nothing is due in the past; an empty
// heap with commands in flight is a failure whose message names the waiting commands.
import { assert } from '../domain/kernel/assert.js';
import { canonicalJson, hashText } from '../domain/kernel/canonical.js';
import type { Kernel, KernelData, Output } from '../domain/kernel/kernel.js';
import type { Command, LogFields, LogLevel, Reply } from '../domain/kernel/machine.js';
import { TimeHeap } from '../domain/kernel/time-heap.js';
import { type Clocks, instantOf } from '../domain/values/instant.js';
import type { Instant } from '../ports/instant.js';
import type { Micros } from '../ports/micros.js';
import type { Outcome } from '../ports/port-error.js';

/** Operations of a model of the surroundings: answer later, and emit events. */
export interface Outside<Event, Ops> {
  readonly now: Micros;
  /** The node's wall clock. */
  readonly wall: Instant;
  /** Answers a command after a time. The first answer counts, a later one (of a cancelled command) is dropped. */
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
  /** Runs what is due at `outside.now`. */
  advance(outside: Outside<Event, Ops>): void;
}

/** More wake-ups of one node at one moment than any machine needs: it wakes itself endlessly, and time would never advance. */
const maxWakesAtOnce = 100_000;

interface WorldNode<State, Event extends { readonly type: string }, Ops> {
  readonly name: string;
  kernel: Kernel<State, Event, Ops>;
  readonly model: NodeModel<Event, Ops>;
  /** Counts starts and stops of the agent: events for an earlier life are dropped. */
  life: number;
  /** How far its wall clock is ahead of the world's time. */
  wallOffset: Micros;
  /** False: the agent was killed and not started again; its surroundings keep running. */
  running: boolean;
  wakeScheduled: Micros;
  modelScheduled: Micros;
  /** Wake-ups since time last advanced. */
  wakes: { at: Micros; count: number };
}

type Due<State, Event extends { readonly type: string }, Ops> =
  | { readonly kind: 'input'; readonly node: WorldNode<State, Event, Ops>; readonly life: number; readonly input: Event | Reply<Ops> }
  | { readonly kind: 'wake' | 'model'; readonly node: WorldNode<State, Event, Ops>; readonly life: number }
  | { readonly kind: 'call'; readonly call: () => void };

export interface WorldOptions {
  /** Called with each step's node, times, input (null: a wake-up) and output, before the commands are performed: checkers, traces, records. */
  readonly observe?: (node: string, clocks: Clocks, input: unknown, output: Output<unknown>) => void;
  /** Keep a hash over (time, node, commands): what two runs with one seed are compared by. It costs most of the speed. */
  readonly hash?: boolean;
  /** The first moment of the world, microseconds since the epoch. */
  readonly start?: Micros;
  readonly log?: (node: string, now: Micros, level: LogLevel, message: string, fields: LogFields) => void;
  /** Called when a node's machine throws. True: handled, and the world continues. Absent, or false: the world throws it. */
  readonly failed?: (node: string, error: unknown) => boolean;
}

/** Something that is due, as data. */
export interface DueData<Event, Ops> {
  readonly at: Micros;
  readonly kind: 'input' | 'wake' | 'model';
  readonly node: string;
  readonly life: number;
  readonly input: Event | Reply<Ops> | null;
}

/** A world without its nodes' states and models, as data. The world still owns it: copy it to keep it. */
export interface WorldData<Event, Ops> {
  readonly now: Micros;
  readonly digest: string;
  readonly stepsOfPastLives: number;
  readonly due: readonly DueData<Event, Ops>[];
  readonly nodes: readonly {
    readonly name: string;
    readonly kernel: KernelData<Ops>;
    readonly life: number;
    readonly wallOffset: Micros;
    readonly running: boolean;
    readonly wakeScheduled: Micros;
    readonly modelScheduled: Micros;
  }[];
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

  /** Continues from a copy of another world's data; `revive` makes a node's kernel and model from copies of its state. */
  static from<State, Event extends { readonly type: string }, Ops>(
    data: WorldData<Event, Ops>,
    options: WorldOptions,
    revive: (name: string, kernel: KernelData<Ops>) => { readonly kernel: Kernel<State, Event, Ops>; readonly model: NodeModel<Event, Ops> },
  ): World<State, Event, Ops> {
    const world = new World<State, Event, Ops>(options);
    world.now = data.now;
    world.digest = data.digest;
    world.stepsOfPastLives = data.stepsOfPastLives;
    for (const { name, life, wallOffset, running, wakeScheduled, modelScheduled, kernel } of data.nodes) {
      world.nodes.set(name, { name, life, wallOffset, running, wakeScheduled, modelScheduled, wakes: { at: 0, count: 0 }, ...revive(name, kernel) });
    }
    for (const { at, kind, node: name, life, input } of data.due) {
      const node = world.node(name);
      world.heap.push(at, kind === 'input' ? { kind, node, life, input: input as Event | Reply<Ops> } : { kind, node, life });
    }
    return world;
  }

  /** Callbacks of `at` are code and can't be kept: none may be pending. */
  data(): WorldData<Event, Ops> {
    const due = this.heap.entries().map(({ at, value }): DueData<Event, Ops> => {
      assert(value.kind !== 'call', 'a world with calls to come can not be kept as data');
      return { at, kind: value.kind, node: value.node.name, life: value.life, input: value.kind === 'input' ? value.input : null };
    });
    const nodes = [...this.nodes.values()].map(({ name, kernel, life, wallOffset, running, wakeScheduled, modelScheduled }) => {
      return { name, kernel: kernel.data(), life, wallOffset, running, wakeScheduled, modelScheduled };
    });
    return { now: this.now, digest: this.digest, stepsOfPastLives: this.stepsOfPastLives, due, nodes };
  }

  add(name: string, kernel: Kernel<State, Event, Ops>, model: NodeModel<Event, Ops>): void {
    assert(!this.nodes.has(name), `the world has a node ${name} already`);
    const never = Number.POSITIVE_INFINITY;
    const node = { name, kernel, model, life: 0, wallOffset: 0, running: true, wakeScheduled: never, modelScheduled: never, wakes: { at: 0, count: 0 } };
    this.nodes.set(name, node);
    this.schedule(node);
  }

  /** kill -9: the agent stops, and answers to its commands are lost. Its surroundings keep running. */
  stop(name: string): void {
    const node = this.node(name);
    node.running = false;
    node.life++;
    // The model's own entry in the heap stays valid across lives; the agent's does not.
    node.wakeScheduled = Number.POSITIVE_INFINITY;
  }

  /** Replaces a node's agent by a fresh one, killing the old one if it runs. The surroundings stay unchanged. */
  restart(name: string, kernel: Kernel<State, Event, Ops>): void {
    this.stop(name);
    const node = this.node(name);
    this.stepsOfPastLives += node.kernel.steps;
    node.kernel = kernel;
    node.running = true;
    this.schedule(node);
  }

  /** A node's model was changed from outside: something may happen sooner than was thought. */
  refresh(name: string): void {
    this.schedule(this.node(name));
  }

  /** A node's wall clock is set: forward by that, or back where it is negative. */
  stepWall(name: string, by: Micros): void {
    this.node(name).wallOffset += by;
  }

  /** A node's wall clock. */
  wallOf(name: string): Instant {
    return this.wall(this.node(name));
  }

  isRunning(name: string): boolean {
    return this.node(name).running;
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

  /** The hash of all commands so far; '' unless enabled in the options. */
  get hash(): string {
    return this.digest;
  }

  /** Runs everything due up to and including `end`; time is `end` afterwards. */
  runUntil(end: Micros): void {
    while (this.heap.firstAt <= end) this.step();
    this.now = Math.max(this.now, end);
  }

  /** Runs until `done` holds, at most to `limit`. Returns whether it held. */
  runUntilTrue(done: () => boolean, limit: Micros): boolean {
    while (!done()) {
      if (this.heap.firstAt > limit) {
        if (this.heap.size === 0) this.assertNoCommandInFlight();
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

  assertNoCommandInFlight(): void {
    const waiting: string[] = [];
    for (const node of this.nodes.values()) {
      if (!node.running) continue;
      for (const command of node.kernel.inFlight.values())
        waiting.push(`${node.name}: ${String(command.op)} for ${command.address.machine}/${command.address.key} ${command.slot}`);
    }
    assert(waiting.length === 0, `nothing is due and these wait for an answer: ${waiting.join('; ')}`);
  }

  private step(): void {
    const due = this.heap.firstValue;
    if (due === undefined) return;
    const at = this.heap.firstAt;
    this.heap.drop();
    this.now = Math.max(this.now, at);
    if (due.kind === 'call') {
      due.call();
      return;
    }
    const { node } = due;
    if (isReplaced(due, at)) return;
    if (due.kind === 'model') this.advanceModel(node);
    else if (node.running && due.life === node.life) this.stepContained(node, due);
    this.schedule(node);
  }

  private advanceModel(node: WorldNode<State, Event, Ops>): void {
    node.modelScheduled = Number.POSITIVE_INFINITY;
    node.model.advance(this.outside(node));
  }

  private stepContained(node: WorldNode<State, Event, Ops>, due: Exclude<Due<State, Event, Ops>, { kind: 'call' }>): void {
    try {
      this.stepKernel(node, due);
    } catch (error) {
      if (this.options.failed?.(node.name, error) !== true) throw error;
    }
  }

  private stepKernel(node: WorldNode<State, Event, Ops>, due: Exclude<Due<State, Event, Ops>, { kind: 'call' }>): void {
    if (due.kind === 'input') {
      if (isReply<Event, Ops>(due.input) && !node.kernel.inFlight.has(due.input.id)) return;
      this.carryOut(node, due.input, node.kernel.deliver(due.input, this.now, this.wall(node)));
      return;
    }
    node.wakeScheduled = Number.POSITIVE_INFINITY;
    this.assertTimeAdvances(node);
    const output = node.kernel.wake(this.now, this.wall(node));
    if (output !== null) this.carryOut(node, null, output);
  }

  private assertTimeAdvances({ name, kernel, wakes }: WorldNode<State, Event, Ops>): void {
    if (wakes.at !== this.now) {
      wakes.at = this.now;
      wakes.count = 0;
    }
    if (++wakes.count <= maxWakesAtOnce) return;
    const due = kernel.data().wakes.flatMap(([address, at]) => (at <= this.now ? [address] : []));
    assert(false, `${name} is woken again and again, and time stands still: ${due.slice(0, 10).join(', ')}`);
  }

  private carryOut(node: WorldNode<State, Event, Ops>, input: Event | Reply<Ops> | null, output: Output<Ops>): void {
    this.options.observe?.(node.name, { now: this.now, wall: this.wall(node) }, input, output as Output<unknown>);
    if (this.options.log !== undefined) for (const line of output.log) this.options.log(node.name, this.now, line.level, line.message, line.fields);
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

  private wall({ wallOffset }: WorldNode<State, Event, Ops>): Instant {
    return instantOf(this.now + wallOffset);
  }

  private outside(node: WorldNode<State, Event, Ops>): Outside<Event, Ops> {
    const { life } = node;
    return {
      now: this.now,
      wall: this.wall(node),
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
    const wake = node.running ? node.kernel.nextWakeAt() : null;
    if (wake !== null && wake < node.wakeScheduled) {
      node.wakeScheduled = Math.max(wake, this.now);
      this.push(wake, { kind: 'wake', node, life: node.life });
    }
    const model = node.model.nextAt();
    if (model !== null && model < node.modelScheduled) {
      node.modelScheduled = Math.max(model, this.now);
      this.push(model, { kind: 'model', node, life: node.life });
    }
  }

  private push(at: Micros, due: Due<State, Event, Ops>): void {
    this.heap.push(Math.max(at, this.now), due);
  }

  private node(name: string): WorldNode<State, Event, Ops> {
    const node = this.nodes.get(name);
    assert(node !== undefined, 'the world has no node of the name', name);
    return node;
  }
}

/** An earlier time was planned after it, and with that the next one: it must not plan another. */
function isReplaced<State, Event extends { readonly type: string }, Ops>({ kind, node }: Exclude<Due<State, Event, Ops>, { kind: 'call' }>, at: Micros): boolean {
  return (kind === 'wake' && at !== node.wakeScheduled) || (kind === 'model' && at !== node.modelScheduled);
}

function isReply<Event extends { readonly type: string }, Ops>(input: Event | Reply<Ops>): input is Reply<Ops> {
  return input.type === 'reply';
}

function deadlineExceeded<Ops>(command: Command<Ops>): Outcome<unknown> {
  return { ok: false, error: { kind: 'deadline-exceeded', message: 'context deadline exceeded', operation: String(command.op), subject: command.slot, retryAfterMicros: null } };
}
