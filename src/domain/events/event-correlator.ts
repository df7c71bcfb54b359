// Reduces many events to few writes (client-go's correlator): similar ones are combined, equal ones counted, and an object with too many
// is silenced for a while. Pure: the state is data, time and names come with the event.
//
// Invariants: equal events patch one object's count; from the tenth distinct message of one reason within ten minutes on, one combined event
// is patched instead; of one source, object and type at most 25 writes at once, then one in five minutes; each cache has at most 4096 entries.
import type { Micros } from '../../ports/micros.js';
import type { Event } from '../../ports/model/event.js';
import { putBounded, touch } from '../values/bounded-map.js';
import type { Clocks } from '../values/instant.js';
import { formatRfc3339, microsPerSecond } from '../values/time.js';

export const cacheEntriesMax = 4096;
export const distinctMessagesMax = 10;
const similarWindow: Micros = 600 * microsPerSecond;
export const spamBurst = 25;
/** One more write is allowed each so long. */
const spamRefill: Micros = 300 * microsPerSecond;

export interface Similar {
  readonly messages: Set<string>;
  lastAt: Micros;
}

export interface Observed {
  readonly count: number;
  readonly firstTimestamp: string;
  readonly name: string;
}

export interface Bucket {
  tokens: number;
  at: Micros;
}

export interface EventCorrelator {
  readonly similar: Map<string, Similar>;
  readonly observed: Map<string, Observed>;
  readonly buckets: Map<string, Bucket>;
}

export function newEventCorrelator(): EventCorrelator {
  return { similar: new Map(), observed: new Map(), buckets: new Map() };
}

export type Correlated =
  | { readonly kind: 'create'; readonly event: Event }
  /** An object of that name was written before; if it is gone, `event` is created. */
  | { readonly kind: 'patch'; readonly event: Event; readonly body: EventPatch }
  | { readonly kind: 'skip' };

/** The changed fields of a counted event. */
export interface EventPatch {
  readonly count: number;
  readonly lastTimestamp: string;
  readonly message: string;
}

/** @param combinedName a name for a combined object */
export function correlate(correlator: EventCorrelator, event: Event, combinedName: () => string, clocks: Clocks): Correlated {
  const { event: aggregated, key } = aggregate(correlator, event, combinedName, clocks);
  const { event: counted, isUpdate } = count(correlator, aggregated, key);
  if (!isAllowed(correlator, counted, clocks.now)) return { kind: 'skip' };
  if (!isUpdate) return { kind: 'create', event: counted };
  const { lastTimestamp, message } = counted;
  return { kind: 'patch', event: counted, body: { count: counted.count, lastTimestamp, message } };
}

/** Everything that makes two events equal. */
function eventKey({ source, involvedObject: object, type, reason, message }: Event): string {
  const { kind = '', namespace = '', name = '', fieldPath = '', uid = '', apiVersion = '' } = object;
  return JSON.stringify([source.component, source.host, kind, namespace, name, fieldPath, uid, apiVersion, type, reason, message]);
}

/** What makes two events similar: all but the message. */
function similarKey({ source, involvedObject: object, type, reason, reportingComponent = '', reportingInstance = '' }: Event): string {
  const { kind = '', namespace = '', name = '', uid = '', apiVersion = '' } = object;
  return JSON.stringify([source.component, source.host, kind, namespace, name, uid, apiVersion, type, reason, reportingComponent, reportingInstance]);
}

function spamKey({ source, involvedObject: object, type }: Event): string {
  const { kind = '', namespace = '', name = '', uid = '', apiVersion = '' } = object;
  return JSON.stringify([source.component, source.host, kind, namespace, name, uid, apiVersion, type]);
}

function aggregate({ similar }: EventCorrelator, event: Event, combinedName: () => string, { now, wall }: Clocks): { readonly event: Event; readonly key: string } {
  const key = similarKey(event);
  const known = touch(similar, key);
  const record = known === null || now - known.lastAt > similarWindow ? { messages: new Set<string>(), lastAt: now } : known;
  record.messages.add(event.message);
  record.lastAt = now;
  putBounded(similar, key, record, cacheEntriesMax);
  if (record.messages.size < distinctMessagesMax) return { event, key: eventKey(event) };
  // The set grows no larger: the oldest message makes place.
  const oldest = record.messages.values().next();
  if (oldest.done !== true) record.messages.delete(oldest.value);
  const time = formatRfc3339(wall);
  const { namespace } = event.metadata;
  const metadata = { name: combinedName(), ...(namespace === undefined ? {} : { namespace }) };
  // The reference makes it of the old fields alone.
  const combined = {
    ...event,
    reportingComponent: '',
    reportingInstance: '',
    metadata,
    message: `(combined from similar events): ${event.message}`,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
  };
  return { event: combined, key };
}

function count({ observed }: EventCorrelator, event: Event, key: string): { readonly event: Event; readonly isUpdate: boolean } {
  const last = touch(observed, key);
  const counted = last === null ? event : { ...event, metadata: { ...event.metadata, name: last.name }, firstTimestamp: last.firstTimestamp, count: last.count + 1 };
  putBounded(observed, key, { count: counted.count, firstTimestamp: counted.firstTimestamp, name: counted.metadata.name }, cacheEntriesMax);
  return { event: counted, isUpdate: last !== null };
}

function isAllowed({ buckets }: EventCorrelator, event: Event, now: Micros): boolean {
  const key = spamKey(event);
  const bucket = touch(buckets, key) ?? { tokens: spamBurst, at: now };
  bucket.tokens = Math.min(spamBurst, bucket.tokens + (now - bucket.at) / spamRefill);
  bucket.at = now;
  const allowed = bucket.tokens >= 1;
  if (allowed) bucket.tokens -= 1;
  putBounded(buckets, key, bucket, cacheEntriesMax);
  return allowed;
}
