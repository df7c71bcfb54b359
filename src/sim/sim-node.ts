// The outside of one simulated node: a container runtime, the host's files and cgroups, a list of events; all of them models that answer
// at once and say how long it takes. Faults come between the command and its model.
//
// Invariants: each command is answered once; a cancelled stop or pull is answered at once, anything else when it is done; what happens
// in the runtime by itself is told to the agent, unless the node's runtime tells nothing.
import type { AgentEvent } from '../domain/agent/agent-state.js';
import { assert } from '../domain/kernel/assert.js';
import type { Command } from '../domain/kernel/machine.js';
import type { Micros } from '../ports/micros.js';
import type { AgentOperations } from '../ports/outbound/outbound-ports.js';
import type { Outcome, PortErrorKind } from '../ports/port-error.js';
import type { Answer } from './runtime/answers.js';
import type { RuntimeOperationName, SimContainerRuntime } from './runtime/sim-container-runtime.js';
import type { NodeModel, Outside } from './world.js';

/** What a fault does to a command: fails it before anything is done, or after; delays its answer; loses the answer for a time. */
export type Fault =
  | { readonly kind: 'fail'; readonly error: PortErrorKind; readonly committed: boolean; readonly message: string }
  | { readonly kind: 'delay'; readonly by: Micros };

/** Decides on each command, in order; null: no fault. */
export type FaultPlan = (command: Command<AgentOperations>, now: Micros) => Fault | null;

/** A model of some ports: answers the operations it knows. */
export interface PortModel {
  knows(op: keyof AgentOperations): boolean;
  handle(op: keyof AgentOperations, request: unknown, now: Micros): Answer<unknown>;
}

export interface SimNodeParts {
  readonly runtime: SimContainerRuntime;
  readonly host: PortModel;
  /** The runtime tells the agent of changes; else the agent has to look. */
  readonly runtimeTellsChanges: boolean;
  readonly faults?: FaultPlan;
}

const runtimePorts: ReadonlySet<string> = new Set(['runtime', 'sandboxes', 'containers', 'images']);

export class SimNode implements NodeModel<AgentEvent, AgentOperations> {
  faults: FaultPlan | null;
  /** Commands that were performed, for coverage: operation -> count. */
  readonly performed = new Map<string, number>();
  private readonly open = new Set<number>();

  constructor(readonly parts: SimNodeParts) {
    this.faults = parts.faults ?? null;
  }

  perform(command: Command<AgentOperations>, outside: Outside<AgentEvent, AgentOperations>): void {
    this.performed.set(command.op, (this.performed.get(command.op) ?? 0) + 1);
    if (command.answered) this.open.add(command.id);
    const fault = this.faults?.(command, outside.now) ?? null;
    if (fault?.kind === 'fail' && !fault.committed) {
      this.reply(command, outside, 1000, failure(command, fault.error, fault.message));
      return;
    }
    const { after, outcome } = this.handle(command, outside.now);
    if (fault?.kind === 'fail') this.reply(command, outside, after, failure(command, fault.error, fault.message));
    else this.reply(command, outside, after + (fault?.kind === 'delay' ? fault.by : 0), outcome);
    this.tellChanges(outside);
  }

  cancel(command: Command<AgentOperations>, outside: Outside<AgentEvent, AgentOperations>): void {
    if (command.op !== 'containers.stop' && command.op !== 'images.pull') return;
    if (!this.open.delete(command.id)) return;
    outside.reply(command, 0, failure(command, 'cancelled', 'context canceled'));
  }

  nextAt(): Micros | null {
    return this.parts.runtime.nextAt();
  }

  advance(outside: Outside<AgentEvent, AgentOperations>): void {
    this.tellChanges(outside);
  }

  private reply(command: Command<AgentOperations>, outside: Outside<AgentEvent, AgentOperations>, after: Micros, outcome: Outcome<unknown>): void {
    outside.reply(command, after, outcome);
  }

  private handle(command: Command<AgentOperations>, now: Micros): Answer<unknown> {
    const port = command.op.slice(0, command.op.indexOf('.'));
    if (runtimePorts.has(port)) return this.parts.runtime.handle(command.op as RuntimeOperationName, command.request as never, now);
    assert(this.parts.host.knows(command.op), `no model knows ${command.op}`);
    return this.parts.host.handle(command.op, command.request, now);
  }

  private tellChanges(outside: Outside<AgentEvent, AgentOperations>): void {
    const uids = this.parts.runtime.advance(outside.now);
    if (uids.length > 0 && this.parts.runtimeTellsChanges) outside.event(0, { type: 'runtimeChanged', uids });
  }
}

function failure(command: Command<AgentOperations>, kind: PortErrorKind, message: string): Outcome<unknown> {
  return { ok: false, error: { kind, message, operation: command.op, subject: command.slot, retryAfterMicros: null } };
}
