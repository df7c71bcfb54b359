// Makes an Event object from the agent's record.
// Invariant: the name is unique in the process, though two events of one step have the same time: the API refuses a second object of a name.
import type { Instant } from '../../ports/instant.js';
import type { Event } from '../../ports/model/event.js';
import type { EventRecord } from '../../ports/outbound/event-sink.js';
import { isDns1123Subdomain } from '../values/dns-names.js';
import { epochMicros } from '../values/instant.js';
import { formatRfc3339 } from '../values/time.js';

const eventComponent = 'kubelet';
/** The namespace of events of objects without one. */
const defaultNamespace = 'default';
const nanosPerMicro = 1_000n;

/** @param serial counts the events of the process @param random draws from [0, 1), only for objects whose name can't be part of one */
export function eventOf(record: EventRecord, nodeName: string, at: Instant, serial: number, random: () => number): Event {
  const { involvedObject, type, reason, message, annotations } = record;
  const namespace = involvedObject.namespace ?? '';
  const time = formatRfc3339(at);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: eventName(involvedObject.name ?? '', at, serial, random),
      namespace: namespace === '' ? defaultNamespace : namespace,
      ...(annotations === undefined || Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    involvedObject,
    reason,
    message,
    source: { component: eventComponent, host: nodeName },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type,
    reportingComponent: eventComponent,
    reportingInstance: nodeName,
  };
}

/** `<object>.<time in nanoseconds, in hex>`; the digits below a microsecond are the serial number's. */
export function eventName(objectName: string, at: Instant, serial: number, random: () => number): string {
  const nanos = BigInt(epochMicros(at)) * nanosPerMicro + (BigInt(serial) % nanosPerMicro);
  const name = `${objectName}.${nanos.toString(16)}`;
  return isDns1123Subdomain(name) ? name : randomUuid(random);
}

/** RFC 9562, version 4. */
function randomUuid(random: () => number): string {
  const digits = Array.from({ length: 32 }, (_, i) => {
    const nibble = Math.floor(random() * 16);
    return (i === 12 ? 4 : i === 16 ? 8 + (nibble % 4) : nibble).toString(16);
  }).join('');
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join('-');
}
