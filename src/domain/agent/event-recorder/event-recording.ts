// Events for the API. The agent's parts record an event by `events.record`: its turn passes it to the log, as always, and to the recorder.
// So no part depends on the API, and events keep the order of the steps.
import type { Instant } from '../../../ports/instant.js';
import type { Micros } from '../../../ports/micros.js';
import type { ObjectReference } from '../../../ports/model/object-meta.js';
import type { EventRecord } from '../../../ports/outbound/event-sink.js';
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import { type EventReply, eventReplied, eventsWoken, recordEvent } from '../../events/event-recorder.js';
import type { Address, Command, CommandFor, LogFields, LogLevel, Turn } from '../../kernel/machine.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { ownNode } from '../reflectors/api-state.js';
import { type EventRecorderContext, eventRecorderState } from './slice.js';

export function recorderReplied({ state: { eventRecorder }, turn }: EventRecorderContext, reply: EventReply): void {
  if (eventRecorder !== null) eventReplied(eventRecorder, reply, turn);
}

export function recorderWoken({ state: { eventRecorder }, turn }: EventRecorderContext): void {
  if (eventRecorder !== null) eventsWoken(eventRecorder, turn);
}

/** An event about the agent's own Node. */
export function recordNodeEvent({ state, turn }: AgentContext, event: Omit<EventRecord, 'involvedObject'>): void {
  turn.emit('events.record', { ...event, involvedObject: { apiVersion: 'v1', kind: 'Node', name: state.settings.nodeName } });
}

/** null: the Node is not known yet. */
export function ownNodeUid({ nodeStatus, api }: AgentView): string | null {
  return nodeStatus?.reporter.answered?.metadata.uid ?? ownNode(api)?.metadata.uid ?? null;
}

/** A turn that hands events on to the recorder; one for the life of an agent. */
export class RecordingTurn implements Turn<AgentOperations> {
  private turn: Turn<AgentOperations> | null = null;

  constructor(private readonly state: AgentView) {}

  /** Is this turn from now on. */
  around(turn: Turn<AgentOperations>): this {
    this.turn = turn;
    return this;
  }

  get now(): Micros {
    return this.inner.now;
  }

  get wall(): Instant {
    return this.inner.wall;
  }

  ask<Name extends keyof AgentOperations>(op: Name, address: Address, slot: string, request: CommandFor<AgentOperations, Name>['request'], timeoutMicros?: Micros | null): void {
    this.inner.ask(op, address, slot, request, timeoutMicros);
  }

  emit<Name extends keyof AgentOperations>(op: Name, request: CommandFor<AgentOperations, Name>['request']): void {
    this.inner.emit(op, request);
    if (op === 'events.record') this.record(request as Extract<Command<AgentOperations>, { readonly op: 'events.record' }>['request']);
  }

  cancel(address: Address, slot: string): void {
    this.inner.cancel(address, slot);
  }

  inFlight(address: Address, slot: string): boolean {
    return this.inner.inFlight(address, slot);
  }

  wakeAt(address: Address, at: Micros | null): void {
    this.inner.wakeAt(address, at);
  }

  random(purpose: string, key: string): number {
    return this.inner.random(purpose, key);
  }

  end(address: Address): void {
    this.inner.end(address);
  }

  log(level: LogLevel, message: string, fields?: LogFields): void {
    this.inner.log(level, message, fields);
  }

  private get inner(): Turn<AgentOperations> {
    return this.turn as Turn<AgentOperations>;
  }

  private record(record: EventRecord): void {
    const { eventRecorder } = eventRecorderState(this.state);
    if (eventRecorder !== null) recordEvent(eventRecorder, { ...record, involvedObject: this.reference(record.involvedObject) }, this.inner);
  }

  /** `kubectl describe node` finds a Node's events by its uid; before that is known they have none. */
  private reference(object: ObjectReference): ObjectReference {
    const { nodeName } = this.state.settings;
    if (object.kind !== 'Node' || object.name !== nodeName) return object;
    const uid = ownNodeUid(this.state);
    return { apiVersion: 'v1', kind: 'Node', name: nodeName, ...(uid === null ? {} : { uid }) };
  }
}
