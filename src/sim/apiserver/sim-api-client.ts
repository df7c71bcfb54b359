// One node's client of the simulated apiserver: the operations of the two ports, answered by requests with the node's own identity.
//
// Invariants: events of a watch arrive in order and before the answer that ends the watch; a reset client (its agent was killed)
// has no watch any more; requests take effect at once, answers and events after a latency.
import { assert } from '../../domain/kernel/assert.js';
import type { Command } from '../../domain/kernel/machine.js';
import { readAnswer, readNamed, structOfAnswer } from '../../domain/values/api-schema/api-kinds.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiObject, ApiResource, UnusableObject } from '../../ports/model/api-object.js';
import type { Flattened } from '../../ports/operation.js';
import type { ApiList, ApiReaderOperations, ApiWatchEvent, ApiWatchEvents, ApiWriterOperations } from '../../ports/outbound/apiserver.js';
import type { Outcome, PortFailure } from '../../ports/port-error.js';
import type { Answer } from '../runtime/answers.js';
import { type ApiRequest, type ApiResponse, type ApiUser, type JsonObject, type WatchEvent, wholeList } from './api-request.js';
import { portErrorKindOf } from './api-status.js';
import type { SimApiserver } from './sim-apiserver.js';
import type { WatchRecord } from './watch-hub.js';

export type ApiserverOperations = Flattened<{ readonly apiReader: ApiReaderOperations; readonly apiWriter: ApiWriterOperations }>;
type ApiCommand = Command<ApiserverOperations>;
type WatchCommand = Extract<ApiCommand, { op: 'apiReader.watch' }>;

/** The client's interface to its node: answers to commands, and events. The world's `Outside` implements it. */
export interface ApiClientOutside {
  readonly now: Micros;
  reply(command: ApiCommand, after: Micros, outcome: Outcome<unknown>): void;
  event(after: Micros, event: ApiWatchEvents): void;
}

export interface SimApiClientState {
  /** The open watches by the name that the agent gave them. */
  readonly watches: Map<string, { readonly id: number; readonly command: WatchCommand }>;
  /** Since then, events are waiting for delivery. */
  due: Micros | null;
}

export function emptyApiClientState(): SimApiClientState {
  return { watches: new Map(), due: null };
}

export interface SimApiClientOptions {
  /** The node's name: names its watches in the server. */
  readonly name: string;
  readonly user: ApiUser;
  /** How long an answer and an event take. */
  readonly latency?: Micros;
}

export function nodeUser(nodeName: string): ApiUser {
  return { name: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] };
}

const defaultLatency: Micros = 2_000;

export class SimApiClient {
  private readonly latency: Micros;
  private now: Micros = 0;

  /** @param wake called when events wait for delivery: the caller requests `nextAt` again */
  constructor(
    private readonly server: SimApiserver,
    private readonly options: SimApiClientOptions,
    private readonly wake: () => void,
    readonly state: SimApiClientState = emptyApiClientState(),
  ) {
    this.latency = options.latency ?? defaultLatency;
    server.watches.listen(options.name, () => this.somethingWaits());
  }

  perform(command: ApiCommand, outside: ApiClientOutside): void {
    if (command.op === 'apiReader.watch') this.watch(command, outside);
    else {
      const { after, outcome } = this.answer(command, outside.now);
      outside.reply(command, after, outcome);
    }
  }

  /** Carries out a request; a watch needs `perform`, since it is answered when it ends. */
  answer(command: ApiCommand, now: Micros): Answer<unknown> {
    this.now = now;
    const request = requestOf(command, this.options.user);
    const response = this.server.handle(request, now);
    return { after: this.latency + response.latencyMicros, outcome: outcomeOf(request, response, command) };
  }

  cancel(command: ApiCommand, outside: ApiClientOutside): void {
    if (command.op !== 'apiReader.watch') return;
    const open = this.state.watches.get(command.request.watch);
    if (open === undefined || open.command.id !== command.id) return;
    this.close(command.request.watch);
    outside.reply(command, 0, { ok: false, error: { kind: 'cancelled', message: 'context canceled', operation: command.op, subject: command.slot, retryAfterMicros: null } });
  }

  nextAt(): Micros | null {
    return this.state.due;
  }

  /** Delivers waiting events. */
  advance(outside: ApiClientOutside): void {
    this.now = outside.now;
    if (this.state.due === null || this.state.due > outside.now) return;
    this.state.due = null;
    for (const [name, { id, command }] of [...this.state.watches]) {
      const watch = this.server.state.watches.open.get(id);
      assert(watch !== undefined, 'a client watches what the server has closed', name);
      this.deliver(name, watch, command, outside);
    }
  }

  /** The agent has ended, with its connections. */
  reset(): void {
    for (const name of [...this.state.watches.keys()]) this.close(name);
    this.state.due = null;
  }

  private watch(command: WatchCommand, outside: ApiClientOutside): void {
    this.now = outside.now;
    const { watch: name, resource, namespace, fieldSelector, labelSelector, resourceVersion, timeoutSeconds } = command.request;
    assert(!this.state.watches.has(name), 'a watch of that name is open', name);
    const target = { resource, namespace, name: null, subresource: null };
    const asked = { user: this.options.user, target, fieldSelector, labelSelector, resourceVersion, bookmarks: true, sendInitialEvents: false, timeoutSeconds };
    const answer = this.server.watch(this.options.name, asked, outside.now);
    if ('refused' in answer) {
      outside.reply(command, this.latency, { ok: false, error: failureOf(answer.refused, command) });
      return;
    }
    this.state.watches.set(name, { id: answer.watch.id, command });
    if (answer.watch.queue.length > 0) this.somethingWaits();
  }

  private deliver(name: string, watch: WatchRecord, command: WatchCommand, outside: ApiClientOutside): void {
    const taken = this.server.watches.take(watch);
    const events: ApiWatchEvent[] = [];
    let failure: PortFailure | null = null;
    for (const event of taken) {
      if (event.type === 'ERROR') failure = failureOf({ code: Number(event.object.code), body: event.object }, command);
      else events.push(portEvent(event, structOfAnswer(command.request.resource, null)));
    }
    if (events.length > 0) outside.event(this.latency, { type: 'api-watch', watch: name, at: outside.now + this.latency, events });
    if (!watch.ended) return;
    this.state.watches.delete(name);
    outside.reply(command, this.latency, failure === null ? { ok: true, value: null } : { ok: false, error: failure });
  }

  private close(name: string): void {
    const open = this.state.watches.get(name);
    if (open !== undefined) this.server.watches.close(open.id);
    this.state.watches.delete(name);
  }

  private somethingWaits(): void {
    if (this.state.due !== null) return;
    this.state.due = this.now;
    this.wake();
  }
}

function outcomeOf(request: ApiRequest, response: ApiResponse, command: ApiCommand): Outcome<unknown> {
  if (response.lost) return { ok: false, error: { kind: 'unavailable', message: 'EOF', operation: command.op, subject: command.slot, retryAfterMicros: null } };
  if (response.code >= 400) return { ok: false, error: failureOf(response, command) };
  if (request.verb === 'list') return { ok: true, value: listOf(response.body, command.request.resource) };
  if (request.verb === 'delete') return { ok: true, value: null };
  const read = readAnswer(response.body, response.body.kind === 'Status' ? 'Status' : structOfAnswer(command.request.resource, request.subresource));
  if (read.ok) return { ok: true, value: read.object };
  const message = `couldn't decode the answer: ${read.unusable.problem}`;
  return { ok: false, error: { kind: 'data-loss', message, operation: command.op, subject: command.slot, retryAfterMicros: null } };
}

function portEvent({ type, object }: WatchEvent, struct: string | null): ApiWatchEvent {
  if (type === 'BOOKMARK') return { type, resourceVersion: (object.metadata as JsonObject).resourceVersion as string };
  const read = readNamed(object, struct);
  return read.ok ? { type: type as 'ADDED' | 'MODIFIED' | 'DELETED', object: read.object } : { type: 'UNUSABLE', isDeleted: type === 'DELETED', object: read.unusable };
}

function listOf(body: JsonObject, resource: ApiResource): ApiList {
  const { resourceVersion, continue: continueToken } = body.metadata as { readonly resourceVersion: string; readonly continue?: string };
  const items: ApiObject[] = [];
  const unusable: UnusableObject[] = [];
  const struct = structOfAnswer(resource, null);
  for (const item of body.items as readonly unknown[]) {
    const read = readNamed(item, struct);
    if (read.ok) items.push(read.object);
    else unusable.push(read.unusable);
  }
  return { items, unusable, resourceVersion, continueToken: continueToken ?? null };
}

function failureOf({ code, body }: Pick<ApiResponse, 'code' | 'body'>, command: ApiCommand): PortFailure {
  const details = (body.details ?? {}) as { readonly retryAfterSeconds?: number };
  const kind = portErrorKindOf({ code, reason: String(body.reason ?? '') });
  const retryAfterMicros = details.retryAfterSeconds === undefined ? null : details.retryAfterSeconds * 1_000_000;
  return { kind, message: String(body.message ?? ''), operation: command.op, subject: command.slot, retryAfterMicros };
}

function requestOf(command: ApiCommand, user: ApiUser): ApiRequest {
  const { op, request } = command;
  const base = { user, resource: request.resource, namespace: request.namespace, name: null, subresource: null };
  switch (op) {
    case 'apiReader.list': {
      const { fieldSelector, labelSelector, resourceVersion, limit, continueToken } = request;
      return { ...base, verb: 'list', options: { ...wholeList, fieldSelector, labelSelector, resourceVersion, limit, continueToken } };
    }
    case 'apiReader.get':
      return { ...base, verb: 'get', name: request.name, options: { ...wholeList, resourceVersion: request.resourceVersion } };
    case 'apiWriter.create':
      return { ...base, verb: 'create', name: request.name, subresource: request.subresource, body: request.object };
    case 'apiWriter.update':
      return { ...base, verb: 'update', name: request.name, subresource: request.subresource, body: request.object };
    case 'apiWriter.patch':
      return { ...base, verb: 'patch', name: request.name, subresource: request.subresource, patch: request.patch, body: request.body };
    case 'apiWriter.delete': {
      const grace = request.gracePeriodSeconds === null ? {} : { gracePeriodSeconds: request.gracePeriodSeconds };
      return { ...base, verb: 'delete', name: request.name, body: { ...grace, ...(request.uid === null ? {} : { preconditions: { uid: request.uid } }) } };
    }
    case 'apiReader.watch':
      throw new Error('a watch is no single request');
  }
}
