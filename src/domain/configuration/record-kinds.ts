// The settings that are lists of small records: taints, memory reservations, log verbosity by file, shutdown periods by priority.
// Invariant: a record's fields are read, checked for strangers and shown from one list of members.
import type { Timestamp } from '../../ports/model/object-meta.js';
import type { ParsedValue } from '../../ports/outbound/configuration-source.js';
import { formatRfc3339, parseRfc3339 } from '../values/time.js';
import { int32Kind, int64Kind, isMap, mapKind, quantityKind, textKind, uint32Kind, type ValueKind } from './value-kind.js';

interface Member<T> {
  readonly kind: ValueKind<T>;
  /** Left out of the shown form when empty. */
  readonly omitEmpty: boolean;
}

type Members<R> = { readonly [K in keyof R]: Member<R[K]> };

function recordKind<R>(name: string, members: Members<R>): ValueKind<R> {
  const entries = Object.entries(members) as [string, Member<unknown>][];
  const zero = Object.fromEntries(entries.map(([key, member]) => [key, member.kind.zero])) as R;
  return {
    name,
    zero,
    read: (value, path, reader) => {
      if (!isMap(value)) return reader.wrongType(path, value, name);
      const record: Record<string, unknown> = { ...(zero as object) };
      for (const [key, element] of Object.entries(value)) {
        const member = (members as Record<string, Member<unknown>>)[key];
        if (member === undefined || !Object.hasOwn(members, key)) reader.unknownFields.push(`${path}.${key}`);
        else if (element !== null) record[key] = member.kind.read(element, `${path}.${key}`, reader);
      }
      return reader.error === null ? (record as R) : undefined;
    },
    show: (value) => {
      const shown: Record<string, ParsedValue> = {};
      for (const [key, member] of entries) {
        const element = (value as Record<string, unknown>)[key];
        if (!(member.omitEmpty && (element === null || element === ''))) shown[key] = member.kind.show(element);
      }
      return shown;
    },
  };
}

const timestampKind: ValueKind<Timestamp | null> = {
  name: 'Time',
  zero: null,
  read: (value, path, reader) => {
    if (typeof value !== 'string') return reader.wrongType(path, value, 'Time');
    const time = parseRfc3339(value);
    return time === null ? reader.badText(path, `parsing time ${JSON.stringify(value)}: not RFC 3339`) : formatRfc3339(time);
  },
  show: (value) => value,
};

/** A taint that the node registers with. */
export interface RegisteredTaint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
  /** Not allowed here, but read, so that it can be named in the refusal. */
  readonly timeAdded: Timestamp | null;
}

export const taintKind: ValueKind<RegisteredTaint> = recordKind<RegisteredTaint>('Taint', {
  key: { kind: textKind, omitEmpty: false },
  value: { kind: textKind, omitEmpty: true },
  effect: { kind: textKind, omitEmpty: false },
  timeAdded: { kind: timestampKind, omitEmpty: true },
});

/** Memory of one NUMA node kept from pods, by type: `memory`, `hugepages-2Mi`. */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}

export const memoryReservationKind: ValueKind<MemoryReservation> = recordKind<MemoryReservation>('MemoryReservation', {
  numaNode: { kind: int32Kind, omitEmpty: false },
  limits: { kind: mapKind(quantityKind), omitEmpty: false },
});

/** Log verbosity for the source files that match a pattern. */
export interface VModuleItem {
  readonly filePattern: string;
  readonly verbosity: number;
}

export const vmoduleKind: ValueKind<VModuleItem> = recordKind<VModuleItem>('VModuleItem', {
  filePattern: { kind: textKind, omitEmpty: false },
  verbosity: { kind: uint32Kind, omitEmpty: false },
});

/** How long pods of at least this priority get at node shutdown. */
export interface ShutdownGracePeriodByPodPriority {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

export const shutdownPriorityKind: ValueKind<ShutdownGracePeriodByPodPriority> = recordKind<ShutdownGracePeriodByPodPriority>('ShutdownGracePeriodByPodPriority', {
  priority: { kind: int32Kind, omitEmpty: false },
  shutdownGracePeriodSeconds: { kind: int64Kind, omitEmpty: false },
});
