// How one type of setting is read from a document and shown in one. Each setting of the field table names its kind.
// Invariant: `show(read(x))` is the canonical form of x; reading never throws, mistakes go to the reader with the path of the field.
import type { ParsedValue } from '../../ports/outbound/configuration-source.js';
import { formatDuration, type Nanoseconds, parseDuration } from '../values/go-duration.js';
import { parseQuantity, quantityText } from '../values/quantity.js';

/** Collects the errors of a document while it is read. */
export class DocumentReader {
  /** The first type error; later ones are not searched. */
  error: string | null = null;
  /** Paths of fields that don't exist. */
  readonly unknownFields: string[] = [];
  private readonly root: string;

  /** `root` is the name of the kind, as messages begin with it. */
  constructor(root: string) {
    this.root = root;
  }

  /** `cannot unmarshal string into ... field KubeletConfiguration.maxPods of type int32`. */
  wrongType(path: string, got: ParsedValue, wanted: string): undefined {
    this.fail(`json: cannot unmarshal ${describe(got)} into Go struct field ${this.root}.${path} of type ${wanted}`);
    return undefined;
  }

  /** A value of the right JSON type that doesn't parse. */
  badText(path: string, message: string): undefined {
    this.fail(`${this.root}.${path}: ${message}`);
    return undefined;
  }

  private fail(message: string): void {
    this.error ??= message;
  }
}

function describe(value: ParsedValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || typeof value === 'bigint') return `number ${value}`;
  return typeof value;
}

export function isMap(value: ParsedValue): value is { readonly [key: string]: ParsedValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface ValueKind<T> {
  /** Its name in messages, the manual and the flag table. */
  readonly name: string;
  readonly zero: T;
  /** undefined after a mistake, which the reader knows. `value` is never null. */
  read(value: ParsedValue, path: string, reader: DocumentReader): T | undefined;
  show(value: T): ParsedValue;
}

function plain<T extends ParsedValue>(name: string, zero: T, accepts: (value: ParsedValue) => value is T): ValueKind<T> {
  return {
    name,
    zero,
    read: (value, path, reader) => (accepts(value) ? value : reader.wrongType(path, value, name)),
    show: (value) => value,
  };
}

function integer(name: string, least: bigint, most: bigint): ValueKind<number> {
  return {
    name,
    zero: 0,
    read: (value, path, reader) => {
      const isInteger = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
      return isInteger && BigInt(value) >= least && BigInt(value) <= most ? Number(value) : reader.wrongType(path, value, name);
    },
    show: (value) => value,
  };
}

export const textKind = plain('string', '', (value) => typeof value === 'string');
export const boolKind = plain('bool', false, (value) => typeof value === 'boolean');
export const floatKind: ValueKind<number> = {
  name: 'float64',
  zero: 0,
  read: (value, path, reader) => (typeof value === 'number' || typeof value === 'bigint' ? Number(value) : reader.wrongType(path, value, 'float64')),
  show: (value) => value,
};
export const int32Kind = integer('int32', -(2n ** 31n), 2n ** 31n - 1n);
export const int64Kind = integer('int64', -(2n ** 63n), 2n ** 63n - 1n);
export const uint32Kind = integer('uint32', 0n, 2n ** 32n - 1n);

export const durationKind: ValueKind<Nanoseconds> = {
  name: 'duration',
  zero: 0,
  read: (value, path, reader) => {
    if (typeof value !== 'string') return reader.wrongType(path, value, 'string');
    const parsed = parseDuration(value);
    return parsed.ok ? parsed.value : reader.badText(path, parsed.error);
  },
  show: (value) => formatDuration(value),
};

/** A duration that a file may also give in nanoseconds, and that is shown as given. */
export interface FlexibleDuration {
  readonly nanos: Nanoseconds;
  readonly asNumber: boolean;
}

export const flexibleDurationKind: ValueKind<FlexibleDuration> = {
  name: 'duration',
  zero: { nanos: 0, asNumber: false },
  read: (value, path, reader) => {
    if (typeof value === 'number' || typeof value === 'bigint') {
      const nanos = int64Kind.read(value, path, reader);
      return nanos === undefined ? undefined : { nanos, asNumber: true };
    }
    const nanos = durationKind.read(value, path, reader);
    return nanos === undefined ? undefined : { nanos, asNumber: false };
  },
  show: (value) => (value.asNumber ? value.nanos : formatDuration(value.nanos)),
};

/** A resource quantity, kept as its canonical text. Files may give a number. */
export const quantityKind: ValueKind<string> = {
  name: 'quantity',
  zero: '0',
  read: (value, path, reader) => {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return reader.wrongType(path, value, 'quantity');
    const parsed = parseQuantity(String(value));
    return parsed.ok ? quantityText(parsed.quantity) : reader.badText(path, parsed.error);
  },
  show: (value) => value,
};

/** A list; a null item is the zero of its kind, as in JSON decoding. */
export function listKind<T>(item: ValueKind<T>): ValueKind<readonly T[]> {
  return {
    name: `[]${item.name}`,
    zero: [],
    read: (value, path, reader) => {
      if (!Array.isArray(value)) return reader.wrongType(path, value, `[]${item.name}`);
      const items: T[] = [];
      for (const [i, element] of (value as readonly ParsedValue[]).entries()) {
        const read = element === null ? item.zero : item.read(element, `${path}[${i}]`, reader);
        if (read === undefined) return undefined;
        items.push(read);
      }
      return items;
    },
    show: (value) => value.map((element) => item.show(element)),
  };
}

/** A map with text keys, ascending in every form. */
export function mapKind<T>(item: ValueKind<T>): ValueKind<Readonly<Record<string, T>>> {
  return {
    name: `map[string]${item.name}`,
    zero: {},
    read: (value, path, reader) => {
      if (!isMap(value)) return reader.wrongType(path, value, `map[string]${item.name}`);
      const entries: [string, T][] = [];
      for (const key of Object.keys(value).sort()) {
        const element = value[key] as ParsedValue;
        const read = element === null ? item.zero : item.read(element, `${path}.${key}`, reader);
        if (read === undefined) return undefined;
        entries.push([key, read]);
      }
      return Object.fromEntries(entries);
    },
    show: (value) =>
      Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((key) => [key, item.show(value[key] as T)]),
      ),
  };
}
