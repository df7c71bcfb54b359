// Writes events to the API, one at a time and in order: callers never wait.
//
// | state   | event                             | then                                                        |
// |---------|-----------------------------------|-------------------------------------------------------------|
// | idle    | an event arrives                  | it is correlated; writing, or idle if it is skipped          |
// | writing | written, or refused permanently   | the next of the queue, else idle                             |
// | writing | the object to be counted is gone  | it is created                                                |
// | writing | no answer                         | waiting, up to twelve tries, then the next                   |
// | waiting | time                              | writing                                                      |
//
// Invariants: the queue has at most 1000 events, further ones are dropped and counted; an event is correlated when its turn comes, so a
// burst that waited is combined as one that did not.

import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiResource } from '../../ports/model/api-object.js';
import type { Event } from '../../ports/model/event.js';
import type { Flattened } from '../../ports/operation.js';
import type { ApiWriterOperations } from '../../ports/outbound/apiserver.js';
import type { EventRecord } from '../../ports/outbound/event-sink.js';
import type { PortErrorKind } from '../../ports/port-error.js';
import { assert } from '../kernel/assert.js';
import type { Address, ReplyTo, Turn } from '../kernel/machine.js';
import { microsPerSecond } from '../values/time.js';
import { type Correlated, correlate, type EventCorrelator, newEventCorrelator } from './event-correlator.js';
import { eventName, eventOf } from './event-object.js';

export type EventWriting = Flattened<{ readonly apiWriter: ApiWriterOperations }>;
export type Written = Exclude<Correlated, { readonly kind: 'skip' }>;

export interface EventRecorder {
  readonly nodeName: string;
  readonly correlator: EventCorrelator;
  readonly queue: { readonly record: EventRecord; readonly at: Instant; readonly serial: number }[];
  /** The event being written, or waiting for a retry; null: none. */
  writing: Written | null;
  tries: number;
  /** Events so far. */
  serial: number;
  /** Events that found the queue full, or that could not be written in twelve tries. */
  dropped: number;
}

export const eventsAddress: Address = { machine: 'events', key: '' };
export const eventQueueMax = 1000;
export const eventTriesMax = 12;
const retryAfter: Micros = 10 * microsPerSecond;
const writeTimeout: Micros = 30 * microsPerSecond;
const events: ApiResource = { group: '', version: 'v1', plural: 'events' };
/** Failures in which the event was not accepted; every other refusal is permanent. */
const passing: ReadonlySet<PortErrorKind> = new Set(['unavailable', 'deadline-exceeded', 'resource-exhausted', 'unknown', 'cancelled']);

export function newEventRecorder(nodeName: string): EventRecorder {
  return { nodeName, correlator: newEventCorrelator(), queue: [], writing: null, tries: 0, serial: 0, dropped: 0 };
}

export function recordEvent(recorder: EventRecorder, record: EventRecord, turn: Turn<EventWriting>): void {
  if (recorder.queue.length >= eventQueueMax) {
    dropped(recorder, record.reason, 'the queue of events is full', turn);
    return;
  }
  recorder.queue.push({ record, at: turn.wall, serial: recorder.serial++ });
  if (recorder.writing === null) next(recorder, turn);
}

export const eventOperations = ['apiWriter.patch', 'apiWriter.create'] as const;
export type EventReply = ReplyTo<EventWriting, (typeof eventOperations)[number]>;

export function eventReplied(recorder: EventRecorder, reply: EventReply, turn: Turn<EventWriting>): void {
  const { writing } = recorder;
  assert(writing !== null, 'an event was written that the recorder does not wait for');
  if (reply.outcome.ok) {
    next(recorder, turn);
    return;
  }
  const { kind, message, retryAfterMicros } = reply.outcome.error;
  const { reason, involvedObject } = writing.event;
  if (kind === 'not-found' && writing.kind === 'patch') {
    recorder.writing = { kind: 'create', event: writing.event };
    write(recorder, turn);
  } else if (!passing.has(kind)) {
    turn.log(kind === 'already-exists' ? 'info' : 'error', 'Server rejected event (will not retry!)', { reason, object: involvedObject.name ?? '', err: message });
    next(recorder, turn);
  } else if (++recorder.tries >= eventTriesMax) {
    dropped(recorder, reason, `unable to write event (retry limit exceeded): ${message}`, turn);
    next(recorder, turn);
  } else {
    // The first pause is drawn, so that a fleet does not come back in one moment.
    const pause = recorder.tries === 1 ? Math.floor(retryAfter * turn.random('retry', eventsAddress.machine)) : retryAfter;
    turn.wakeAt(eventsAddress, turn.now + Math.max(pause, retryAfterMicros ?? 0));
  }
}

export function eventsWoken(recorder: EventRecorder, turn: Turn<EventWriting>): void {
  if (recorder.writing !== null && !turn.inFlight(eventsAddress, 'write')) write(recorder, turn);
}

/** Processes the queue until an event must be written. */
function next(recorder: EventRecorder, turn: Turn<EventWriting>): void {
  recorder.writing = null;
  recorder.tries = 0;
  for (let queued = recorder.queue.shift(); queued !== undefined; queued = recorder.queue.shift()) {
    const { record, at, serial } = queued;
    const random = () => turn.random('event name', eventsAddress.machine);
    const event = eventOf(record, recorder.nodeName, at, serial, random);
    const correlated = correlate(recorder.correlator, event, () => eventName(record.involvedObject.name ?? '', turn.wall, serial, random), turn);
    if (correlated.kind === 'skip') continue;
    recorder.writing = correlated;
    write(recorder, turn);
    return;
  }
}

function write({ writing }: EventRecorder, turn: Turn<EventWriting>): void {
  if (writing === null) return;
  const { event } = writing;
  const place = { client: 'events', resource: events, namespace: event.metadata.namespace ?? null, name: event.metadata.name, subresource: null } as const;
  if (writing.kind === 'patch') turn.ask('apiWriter.patch', eventsAddress, 'write', { ...place, patch: 'strategic-merge-patch', body: writing.body }, writeTimeout);
  else turn.ask('apiWriter.create', eventsAddress, 'write', { ...place, name: null, object: event as Event & { kind: string } }, writeTimeout);
}

function dropped(recorder: EventRecorder, reason: string, err: string, turn: Turn<EventWriting>): void {
  recorder.dropped++;
  turn.log('error', 'Event dropped', { reason, err, dropped: recorder.dropped });
}
