// The surroundings of one simulated node: a container runtime, the host's files and cgroups, manifests, a list of events; all of them models
// that answer at once with a latency. Faults apply between the command and its model.
//
// Invariants: a cancelled stop, pull, command or probe is answered at once, anything else when it is done; the agent gets an event for each change that the
// runtime makes by itself, unless the node's runtime sends none; a runtime that is down refuses everything and sends none, its containers keep running.

import type { KubeletEvent, KubeletOperations } from '../domain/agent/kubelet.js';
import { assert } from '../domain/kernel/assert.js';
import type { Command } from '../domain/kernel/machine.js';
import { wallOffset } from '../domain/values/instant.js';
import type { Micros } from '../ports/micros.js';
import type { AgentOperations } from '../ports/outbound/outbound-ports.js';
import type { Outcome, PortErrorKind } from '../ports/port-error.js';
import type { SimApiClient } from './apiserver/sim-api-client.js';
import type { ManifestOperationName, SimManifests } from './manifests/sim-manifests.js';
import type { Answer } from './runtime/answers.js';
import type { RuntimeOperationName, SimContainerRuntime } from './runtime/sim-container-runtime.js';
import type { ProbingOperationName } from './runtime/workloads.js';
import type { NodeModel, Outside } from './world.js';

/** The effect of a fault on a command: fails it before or after it takes effect; delays its answer; loses the answer for a time. */
export type Fault =
  | { readonly kind: 'fail'; readonly error: PortErrorKind; readonly committed: boolean; readonly message: string }
  | { readonly kind: 'delay'; readonly by: Micros };

/** Decides on each command, in order; null: no fault. */
export type FaultDecision = (command: Command<KubeletOperations>, now: Micros) => Fault | null;

/** A model of some ports: answers the operations it knows. */
export interface PortModel {
  knows(op: string): boolean;
  handle(op: never, request: never, now: Micros): Answer<unknown>;
}

export interface SimNodeParts {
  readonly runtime: SimContainerRuntime;
  readonly host: PortModel & { wallOffset: Micros };
  /** Absent if the agent has no source of static pods. */
  readonly manifests?: SimManifests;
  /** The node's client of an apiserver, which nodes may share; without it every request to one fails with `failed-precondition`. */
  readonly apiserver?: SimApiClient;
  /** The runtime sends events to the agent; otherwise the agent relists. */
  readonly runtimeSendsEvents: boolean;
  readonly faults?: FaultDecision;
  /** Sees each command before it is performed. */
  readonly watch?: (command: Command<KubeletOperations>, now: Micros) => void;
}

const runtimePorts: ReadonlySet<string> = new Set(['runtime', 'sandboxes', 'containers', 'images']);
/** Operations that a runtime abandons when its caller disconnects. */
const givenUpAtOnce: ReadonlySet<string> = new Set(['containers.stop', 'containers.execSync', 'images.pull', 'probing.http', 'probing.tcp', 'probing.grpc']);
const refusalLatency: Micros = 1_000;

export class SimNode implements NodeModel<KubeletEvent, KubeletOperations> {
  faults: FaultDecision | null;
  /** Commands that were performed, for coverage: operation -> count. */
  readonly performed = new Map<string, number>();
  /** Faults that struck, for coverage: `<operation> <fault>` -> count. */
  readonly struck = new Map<string, number>();

  /** @param downUntil the runtime is down until then; null: it is up */
  constructor(
    readonly parts: SimNodeParts,
    public downUntil: Micros | null = null,
  ) {
    this.faults = parts.faults ?? null;
  }

  perform(command: Command<AgentOperations> | Command<KubeletOperations>, outside: Outside<KubeletEvent, KubeletOperations>): void {
    this.carryOut(command as Command<KubeletOperations>, outside);
  }

  cancel(command: Command<KubeletOperations>, outside: Outside<KubeletEvent, KubeletOperations>): void {
    if (command.op === 'apiReader.watch') this.parts.apiserver?.cancel(command, outside);
    else if (givenUpAtOnce.has(command.op)) outside.reply(command, 0, failure(command, 'cancelled', 'context canceled'));
  }

  nextAt(): Micros | null {
    const times = [this.parts.runtime.nextAt(), this.downUntil, this.parts.apiserver?.nextAt() ?? null].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  advance(outside: Outside<KubeletEvent, KubeletOperations>): void {
    this.parts.runtime.state.wallOffset = wallOffset(outside);
    if (this.downUntil !== null && this.downUntil <= outside.now) {
      this.downUntil = null;
      if (this.parts.runtimeSendsEvents) outside.event(0, { type: 'runtimeChangesLost' });
    }
    this.sendChanges(outside);
    this.parts.apiserver?.advance(outside);
  }

  private carryOut(command: Command<KubeletOperations>, outside: Outside<KubeletEvent, KubeletOperations>): void {
    this.parts.runtime.state.wallOffset = wallOffset(outside);
    this.parts.host.wallOffset = wallOffset(outside);
    count(this.performed, command.op);
    this.parts.watch?.(command, outside.now);
    const fault = this.faults?.(command, outside.now) ?? null;
    if (fault !== null) count(this.struck, `${command.op} ${nameOf(fault, command)}`);
    if (fault?.kind === 'fail' && !fault.committed) {
      outside.reply(command, refusalLatency, failure(command, fault.error, fault.message));
      return;
    }
    if (command.op === 'apiReader.watch' && this.parts.apiserver !== undefined) {
      // A watch is answered when it ends, which no fault but a refusal delays.
      if (fault?.kind === 'fail') outside.reply(command, refusalLatency, failure(command, fault.error, fault.message));
      else this.parts.apiserver.perform(command, outside);
      return;
    }
    const { after, outcome } = this.handle(command, outside.now);
    if (fault?.kind === 'fail') outside.reply(command, after, failure(command, fault.error, fault.message));
    else outside.reply(command, after + (fault?.kind === 'delay' ? fault.by : 0), outcome);
    this.sendChanges(outside);
  }

  private handle(command: Command<KubeletOperations>, now: Micros): Answer<unknown> {
    const { runtime, host, manifests, apiserver } = this.parts;
    if (runtimePorts.has(command.op.slice(0, command.op.indexOf('.')))) {
      if (this.downUntil !== null && now < this.downUntil) return { after: refusalLatency, outcome: failure(command, 'unavailable', 'dial unix: connect: connection refused') };
      return runtime.handle(command.op as RuntimeOperationName, command.request as never, now);
    }
    if (isApiCommand(command)) {
      if (apiserver !== undefined) return apiserver.answer(command, now);
      return { after: refusalLatency, outcome: failure(command, 'failed-precondition', 'the node has no apiserver') };
    }
    if (command.op.startsWith('probing.')) return runtime.probe(command.op as ProbingOperationName, command.request as never, now);
    if (manifests?.knows(command.op) === true) return manifests.handle(command.op as ManifestOperationName, command.request as never);
    assert(host.knows(command.op), 'no model knows an operation', command.op);
    return host.handle(command.op as never, command.request as never, now);
  }

  private sendChanges(outside: Outside<KubeletEvent, KubeletOperations>): void {
    const uids = this.parts.runtime.advance(outside.now);
    if (uids.length > 0 && this.parts.runtimeSendsEvents && this.downUntil === null) outside.event(0, { type: 'runtimeChanged', uids });
  }
}

function isApiCommand(command: Command<KubeletOperations>): command is Extract<Command<KubeletOperations>, { op: `api${string}` }> {
  return command.op.startsWith('apiReader.') || command.op.startsWith('apiWriter.');
}

function failure(command: Command<KubeletOperations>, kind: PortErrorKind, message: string): Outcome<unknown> {
  return { ok: false, error: { kind, message, operation: command.op, subject: command.slot, retryAfterMicros: null } };
}

function nameOf(fault: Fault, { timeoutMicros }: Command<KubeletOperations>): string {
  if (fault.kind === 'fail') return fault.committed ? 'fails after' : 'fails before';
  return timeoutMicros !== null && fault.by >= timeoutMicros ? 'hangs' : 'is late';
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
