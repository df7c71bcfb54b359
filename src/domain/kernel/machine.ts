// The definition of a machine. A node's whole agent is one machine composed of others: plain-data state, and a pure, synchronous `step`
// that takes an event and returns, through its turn, its commands and wake-ups.
//
// Invariants: a step reads no clock, draws no chance and calls no port but through the turn, so the same state, event, time and
// seed always give the same commands. The state belongs to the shell that runs the machine: only a step may change it, in place (which
// makes a million steps a second cheap). It is data throughout (objects, arrays, Maps, Sets, bigints),
// so that it can be cloned, hashed and serialized.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Operation } from '../../ports/operation.js';
import type { Outcome } from '../../ports/port-error.js';

/** An addressee within a node: the machine, and its key if there is one per object (a pod uid); '' for a single one. */
export interface Address {
  readonly machine: string;
  readonly key: string;
}

/** A request to a port. One command per address and slot is in flight at a time; `slot` identifies its answer. */
export interface CommandFor<Ops, Name extends keyof Ops = keyof Ops> {
  readonly id: number;
  readonly op: Name;
  readonly address: Address;
  readonly slot: string;
  readonly request: Ops[Name] extends Operation<infer Request, unknown> ? Request : never;
  /** The time limit; null: none from the agent. */
  readonly timeoutMicros: Micros | null;
  /** False: the answer isn't delivered (an event record, a metric); the outcome is only logged. */
  readonly answered: boolean;
}
export type Command<Ops> = { [Name in keyof Ops]: CommandFor<Ops, Name> }[keyof Ops];

/** The answer to a command. A cancelled command answers too, with kind `cancelled` (or with its result before it noticed). */
export interface ReplyFor<Ops, Name extends keyof Ops = keyof Ops> {
  readonly type: 'reply';
  readonly id: number;
  readonly op: Name;
  readonly address: Address;
  readonly slot: string;
  readonly outcome: Outcome<Ops[Name] extends Operation<unknown, infer Reply> ? Reply : never>;
}
export type Reply<Ops> = ReplyTo<Ops, keyof Ops>;

/** The answer to one of several commands: its `op` names which. */
export type ReplyTo<Ops, Names extends keyof Ops> = { [Name in Names]: ReplyFor<Ops, Name> }[Names];

/** Whether it is the answer to one of these operations. */
export function isReplyTo<Ops, Name extends keyof Ops>(reply: { readonly op: keyof Ops }, names: readonly Name[]): reply is ReplyTo<Ops, Name> {
  return names.some((name) => name === reply.op);
}

/** The requested wake-up of an address. */
export interface Wake {
  readonly type: 'wake';
  readonly address: Address;
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** A machine's interface during one step: the time, randomness, and the outputs. */
export interface Turn<Ops> {
  /** For intervals: monotonic, never set. */
  readonly now: Micros;
  /** For timestamps from or for others: may have been set forward or back since the last step. */
  readonly wall: Instant;
  /** Sends a command whose answer comes back to `address` and `slot`. Asking while that slot is in flight is a failed assertion. */
  ask<Name extends keyof Ops>(op: Name, address: Address, slot: string, request: CommandFor<Ops, Name>['request'], timeoutMicros?: Micros | null): void;
  /** Sends a command without waiting for its answer. */
  emit<Name extends keyof Ops>(op: Name, request: CommandFor<Ops, Name>['request']): void;
  /** Cancels a command in flight for that slot, if any. The answer still comes. */
  cancel(address: Address, slot: string): void;
  /** Whether a command of that slot is in flight. */
  inFlight(address: Address, slot: string): boolean;
  /** Replaces the time at which the address is woken; null: only an event can change anything. A time in the past wakes at once, after this step. */
  wakeAt(address: Address, at: Micros | null): void;
  /** The next number in [0, 1) of the stream of that purpose and key: adding a pod shifts no other draw. */
  random(purpose: string, key: string): number;
  /** The addressee has ended: withdraws its wake-up and drops the streams of its key, so that nothing is kept for a removed pod. */
  end(address: Address): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

/** `step` is total: it handles each event in each state. */
export interface Machine<State, Event, Ops> {
  step(state: State, event: Event | Reply<Ops> | Wake, turn: Turn<Ops>): void;
}
