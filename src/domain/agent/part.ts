// A part of the agent: one module of the kubelet, under its name there. It handles the events that concern it and the replies and wake-ups of its own
// machines, begins its work when the agent starts, and plans the next at the end of a step.
//
// Invariants: one part has a machine; a reply or a wake-up of a machine that no part has is a failed assertion; parts start and settle in the order
// of the table, and this order is part of the contract.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { assert } from '../kernel/assert.js';
import type { Reply, ReplyTo, Wake } from '../kernel/machine.js';
import type { AgentEvent } from './agent-state.js';
import type { ContextOf, Owner } from './ownership.js';
import { SettledTurn } from './settled-turn.js';

/** The answer to an operation, or to one of several. */
export type AnswerOf<Op extends keyof AgentOperations> = ReplyTo<AgentOperations, Op>;

export type ReplyHandlers<Name extends Owner> = { readonly [Op in keyof AgentOperations]?: (context: ContextOf<Name>, key: string, answer: AnswerOf<Op>) => void };

/** The handlers of operations whose answers one function takes. */
export function repliesTo<Name extends Owner, const Ops extends readonly (keyof AgentOperations)[]>(
  ops: Ops,
  handler: (context: ContextOf<Name>, key: string, answer: AnswerOf<Ops[number]>) => void,
): ReplyHandlers<Name> {
  return Object.fromEntries(ops.map((op) => [op, handler]));
}

/** An answer to an operation that has no handler is a failed assertion. */
export interface MachineHandlers<Name extends Owner> {
  /** By operation. @param key of its address */
  readonly replies?: ReplyHandlers<Name>;
  /** Of machines whose kinds or steps name their operations themselves. */
  readonly replied?: (context: ContextOf<Name>, key: string, reply: Reply<AgentOperations>) => void;
  /** Absent: the machine is never woken. @param key of its address */
  readonly woken?: (context: ContextOf<Name>, key: string) => void;
}

/** Wakes a machine whose work is planned at the end of the step. */
export const whenSettled = (): void => {};

export type EventHandlers<Name extends Owner> = {
  readonly [Type in Exclude<AgentEvent['type'], 'start'>]?: (context: ContextOf<Name>, event: Extract<AgentEvent, { readonly type: Type }>) => void;
};

/** @typeParam Name the owner of the slices that the part writes */
export interface AgentPart<Name extends Owner> {
  /** The kubelet's name for the module. */
  readonly name: string;
  /** By the name of the machine in its addresses. */
  readonly machines?: Readonly<Record<string, MachineHandlers<Name>>>;
  readonly events?: EventHandlers<Name>;
  /** The agent starts. */
  start?(context: ContextOf<Name>): void;
  /** At the end of each step. */
  settle?(context: ContextOf<Name>): void;
}

/** The context that the table has: each part gets it as the owner of its own slices. */
export type AllSlices = ContextOf<Owner>;

type AnyEventHandler = (context: AllSlices, event: AgentEvent) => void;

/** Routes inputs to the parts of a table. */
export class PartTable {
  private readonly machines = new Map<string, MachineHandlers<Owner>>();
  private readonly events = new Map<AgentEvent['type'], AnyEventHandler[]>();
  private readonly starts: NonNullable<AgentPart<Owner>['start']>[] = [];
  private readonly settles: NonNullable<AgentPart<Owner>['settle']>[] = [];
  private readonly settling: string[] = [];

  constructor(parts: readonly AgentPart<Owner>[]) {
    for (const { name, machines = {}, events = {}, start, settle } of parts) {
      for (const [machine, handlers] of Object.entries(machines)) {
        assert(!this.machines.has(machine), `the machine ${machine} of the part ${name} is another part's`);
        this.machines.set(machine, handlers);
      }
      for (const [type, handler] of Object.entries(events)) this.handlersOf(type as AgentEvent['type']).push(handler as AnyEventHandler);
      if (start !== undefined) this.starts.push(start);
      if (settle === undefined) continue;
      this.settles.push(settle);
      this.settling.push(name);
    }
  }

  take(context: AllSlices, input: AgentEvent | Reply<AgentOperations> | Wake): void {
    if (input.type === 'reply') this.replied(context, input);
    else if (input.type === 'wake') this.woken(context, input);
    else if (input.type === 'start') for (const start of this.starts) start(context);
    else {
      const handlers = this.events.get(input.type);
      assert(handlers !== undefined, 'no part handles the event', input.type);
      for (const handler of handlers) handler(context, input);
    }
  }

  settle(context: AllSlices): void {
    for (const settle of this.settles) settle(context);
  }

  /** A part that would do something more if it settled again, and what; null: the step has left nothing to do. For tests and simulations. */
  unsettled(context: AllSlices): string | null {
    for (const [i, settle] of this.settles.entries()) {
      const watch = new SettledTurn(context.turn);
      context.during(watch, () => settle(context));
      if (watch.output !== null) return `${this.settling[i] ?? ''}: ${watch.output}`;
    }
    return null;
  }

  private replied(context: AllSlices, reply: Reply<AgentOperations>): void {
    const { machine, key } = reply.address;
    const handlers = this.machines.get(machine);
    const replied = (handlers?.replies?.[reply.op] as MachineHandlers<Owner>['replied']) ?? handlers?.replied;
    assert(replied !== undefined, 'an answer came for an unknown address or operation', machine);
    replied(context, key, reply);
  }

  private woken(context: AllSlices, { address: { machine, key } }: Wake): void {
    const woken = this.machines.get(machine)?.woken;
    assert(woken !== undefined, 'an unknown address was woken', machine);
    woken(context, key);
  }

  private handlersOf(type: AgentEvent['type']): AnyEventHandler[] {
    const known = this.events.get(type);
    if (known !== undefined) return known;
    const handlers: AnyEventHandler[] = [];
    this.events.set(type, handlers);
    return handlers;
  }
}
