// Runs one node's machine, synchronously: an input goes in, commands come out. It keeps the state that all machines share:
// commands in flight, wake-ups, and the position of each random stream.
// Both shells use it: the daemon's (real adapters, real time) and the world's (models, virtual time).
//
// Invariants: one command in flight per address and slot; each answered command is answered once; a wake-up that was replaced or
// withdrawn is never delivered; the same seed and the same inputs at the same times give the same outputs.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import { instantOf } from '../values/instant.js';
import { assert } from './assert.js';
import type { Address, Command, CommandFor, LogFields, LogLevel, Machine, Reply, Turn, Wake } from './machine.js';
import { draw, streamOf } from './random.js';
import { countLine, type RepeatedLine, withRepeats } from './repeated-lines.js';
import { WakeQueue } from './wake-queue.js';

/** A shell's input for the kernel, as plain data: with its two times, the flight recorder writes it. */
export type Input<Event, Ops> = Event | Reply<Ops> | Wake;

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** The outputs of one step, in order. */
export interface Output<Ops> {
  readonly commands: readonly Command<Ops>[];
  /** Ids of commands in flight that are cancelled. */
  readonly cancelled: readonly number[];
  readonly log: readonly LogLine[];
}

/** A kernel's state besides its machine's, as data: with a copy of both, another kernel continues from there. */
export interface KernelData<Ops> {
  readonly seed: number;
  readonly pending: ReadonlyMap<number, Command<Ops>>;
  readonly draws: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Addresses and times, in the order in which they are due. */
  readonly wakes: readonly (readonly [string, Micros])[];
  /** Kinds of warnings and errors that were logged. */
  readonly lines: ReadonlyMap<string, RepeatedLine>;
  readonly nextId: number;
  readonly lastNow: Micros;
  readonly steps: number;
}

export class Kernel<State, Event extends { readonly type: string }, Ops> {
  private readonly turn: KernelTurn<Ops>;
  private readonly pending = new Map<number, Command<Ops>>();
  private readonly wakes = new WakeQueue();
  private lastNow: Micros = 0;
  steps = 0;
  /** The input of the step that runs; after a step that threw, that one's. */
  stepped: unknown = null;

  /** A new kernel by its seed, or one that continues from another one's data. */
  constructor(
    private readonly machine: Machine<State, Event, Ops>,
    readonly state: State,
    from: number | KernelData<Ops>,
  ) {
    const seed = typeof from === 'number' ? from : from.seed;
    this.turn = new KernelTurn(seed, this.pending, this.wakes);
    if (typeof from === 'number') return;
    for (const [id, command] of from.pending) this.pending.set(id, command);
    for (const [address, at] of from.wakes) this.wakes.set(address, at);
    this.turn.resumeFrom(from);
    this.lastNow = from.lastNow;
    this.steps = from.steps;
  }

  /** The kernel still owns it: copy it to keep it. */
  data(): KernelData<Ops> {
    return { ...this.turn.data(), pending: this.pending, wakes: this.wakes.entries(), lastNow: this.lastNow, steps: this.steps };
  }

  /** Runs one step with an event or a reply. A reply to a command that is not in flight is a failed assertion. */
  deliver(input: Event | Reply<Ops>, now: Micros, wall: Instant): Output<Ops> {
    if (input.type === 'reply') this.settle(input as Reply<Ops>);
    return this.step(input, now, wall);
  }

  /** Runs the step of the earliest wake-up that is due, or returns null when none is. */
  wake(now: Micros, wall: Instant): Output<Ops> | null {
    const due = this.wakes.takeDue(now);
    return due === null ? null : this.step({ type: 'wake', address: addressOfText(due) }, now, wall);
  }

  nextWakeAt(): Micros | null {
    return this.wakes.nextAt();
  }

  /** Commands in flight, by id: listed for a stuck world or a slow stop. */
  get inFlight(): ReadonlyMap<number, Command<Ops>> {
    return this.pending;
  }

  /** Addresses (`<machine>/<key>`) with a command in flight or a wake-up. */
  attended(): ReadonlySet<string> {
    return new Set([...[...this.pending.values()].map(({ address }) => addressText(address)), ...this.wakes.entries().map(([address]) => address)]);
  }

  private step(input: Input<Event, Ops>, now: Micros, wall: Instant): Output<Ops> {
    assert(now >= this.lastNow, 'time went back to', now);
    this.lastNow = now;
    this.steps++;
    const output = this.turn.begin(now, wall);
    this.stepped = input;
    this.machine.step(this.state, input, this.turn);
    this.stepped = null;
    return output;
  }

  private settle(reply: Reply<Ops>): void {
    const command = this.pending.get(reply.id);
    assert(command !== undefined, 'a reply answers no command in flight', reply.id);
    this.pending.delete(reply.id);
    this.turn.freed(command);
  }
}

class KernelTurn<Ops> implements Turn<Ops> {
  now: Micros = 0;
  wall: Instant = instantOf(0);
  private output: OutputDraft<Ops> = { commands: none, cancelled: none, log: none };
  private readonly slots = new Map<string, number>();
  private readonly draws = new Map<string, Map<string, number>>();
  private readonly lines = new Map<string, RepeatedLine>();
  private nextId = 1;

  constructor(
    private readonly seed: number,
    private readonly pending: Map<number, Command<Ops>>,
    private readonly wakes: WakeQueue,
  ) {}

  resumeFrom({ draws, lines, nextId }: KernelData<Ops>): void {
    for (const [id, command] of this.pending) this.slots.set(slotText(command.address, command.slot), id);
    for (const [key, purposes] of draws) this.draws.set(key, new Map(purposes));
    for (const [kind, line] of lines) this.lines.set(kind, line);
    this.nextId = nextId;
  }

  data(): Pick<KernelData<Ops>, 'seed' | 'draws' | 'lines' | 'nextId'> {
    return { seed: this.seed, draws: this.draws, lines: this.lines, nextId: this.nextId };
  }

  begin(now: Micros, wall: Instant): Output<Ops> {
    this.now = now;
    this.wall = wall;
    this.output = { commands: none, cancelled: none, log: none };
    return this.output;
  }

  freed(command: Command<Ops>): void {
    this.slots.delete(slotText(command.address, command.slot));
  }

  ask<Name extends keyof Ops>(op: Name, address: Address, slot: string, request: CommandFor<Ops, Name>['request'], timeoutMicros: Micros | null = null): void {
    const id = this.nextId++;
    const text = slotText(address, slot);
    assert(!this.slots.has(text), 'a command is in flight already', text);
    const command = { id, op, address, slot, request, timeoutMicros, answered: true } as Command<Ops>;
    this.slots.set(text, id);
    this.pending.set(id, command);
    this.send(command);
  }

  emit<Name extends keyof Ops>(op: Name, request: CommandFor<Ops, Name>['request']): void {
    this.send({ id: this.nextId++, op, address: noAddress, slot: '', request, timeoutMicros: null, answered: false } as Command<Ops>);
  }

  private send(command: Command<Ops>): void {
    if (this.output.commands === none) this.output.commands = [command];
    else this.output.commands.push(command);
  }

  cancel(address: Address, slot: string): void {
    const id = this.slots.get(slotText(address, slot));
    if (id === undefined) return;
    if (this.output.cancelled === none) this.output.cancelled = [id];
    else this.output.cancelled.push(id);
  }

  inFlight(address: Address, slot: string): boolean {
    return this.slots.has(slotText(address, slot));
  }

  wakeAt(address: Address, at: Micros | null): void {
    this.wakes.set(addressText(address), at);
  }

  random(purpose: string, key: string): number {
    let purposes = this.draws.get(key);
    if (purposes === undefined) {
      purposes = new Map();
      this.draws.set(key, purposes);
    }
    const n = purposes.get(purpose) ?? 0;
    purposes.set(purpose, n + 1);
    return draw(streamOf(this.seed, purpose, key), n);
  }

  end(address: Address): void {
    this.wakes.set(addressText(address), null);
    this.draws.delete(address.key);
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    const leftOut = countLine(this.lines, this.now, level, message, fields);
    if (leftOut === null) return;
    const line = { level, message, fields: withRepeats(fields, leftOut) };
    if (this.output.log === none) this.output.log = [line];
    else this.output.log.push(line);
  }
}

/** Most steps have no outputs of a kind: they share this instead of an array each. */
const none: never[] = [];

interface OutputDraft<Ops> {
  commands: Command<Ops>[];
  cancelled: number[];
  log: LogLine[];
}

const noAddress: Address = { machine: '', key: '' };

function addressText(address: Address): string {
  return `${address.machine}/${address.key}`;
}

function addressOfText(text: string): Address {
  const slash = text.indexOf('/');
  return { machine: text.slice(0, slash), key: text.slice(slash + 1) };
}

function slotText(address: Address, slot: string): string {
  return `${address.machine}/${address.key}/${slot}`;
}
