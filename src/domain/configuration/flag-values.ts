// Parsers of flag values by type, with the texts of errors.
// Invariant: a parser gets the words one at a time with the previous value (undefined before the first), and never throws.
import { formatDuration, parseDuration } from '../values/go-duration.js';
import { type GoParse, goQuote, parseGoBool, parseGoInt, parseGoUint } from '../values/go-text.js';
import { parseIp } from '../values/ip-address.js';
import { parseQuantity, quantityText } from '../values/quantity.js';
import { readCsvLine } from './csv-line.js';
import type { VModuleItem } from './record-kinds.js';
import type { FlexibleDuration } from './value-kind.js';

/** Keeps the previous value. */
export const unchanged: unique symbol = Symbol('unchanged');

export interface FlagType {
  /** In help texts and the flag table. */
  readonly name: string;
  /** The value of a flag without one; null if it requires one. */
  readonly bare: string | null;
  parse(word: string, previous: unknown): GoParse<unknown>;
  /** How a value is printed: a default in the help, the one in force by /flagz. */
  show(value: unknown): string;
}

const good = <T>(value: T): GoParse<T> => ({ ok: true, value });
const bad = (error: string): GoParse<never> => ({ ok: false, error });
const asText = (value: unknown): string => String(value);

function type(name: string, parse: FlagType['parse'], show: FlagType['show'] = asText, bare: string | null = null): FlagType {
  return { name, bare, parse, show };
}

function number(parsed: GoParse<bigint>): GoParse<number> {
  return parsed.ok ? good(Number(parsed.value)) : parsed;
}

/** The standard library's flag package has no more detail. */
function terse(parsed: GoParse<unknown>): GoParse<unknown> {
  if (parsed.ok) return parsed;
  return bad(parsed.error.endsWith('value out of range') ? 'value out of range' : 'parse error');
}

/** `k=v,k=v`: entries are added to those of earlier words. */
function pairs(word: string, previous: unknown, separator: string, expected: string, read: (key: string, value: string) => GoParse<unknown>): GoParse<unknown> {
  const entries = new Map(Object.entries((previous ?? {}) as Record<string, unknown>));
  for (const pair of word.split(',')) {
    if (pair === '') continue;
    const error = addPair(entries, pair, separator, expected, read);
    if (error !== null) return bad(error);
  }
  return good(Object.fromEntries(entries));
}

function addPair(entries: Map<string, unknown>, pair: string, separator: string, expected: string, read: (key: string, value: string) => GoParse<unknown>): string | null {
  const at = pair.indexOf(separator);
  if (at < 0) return `malformed pair, expect ${expected}`;
  const key = pair.slice(0, at).trim();
  const value = read(key, pair.slice(at + 1).trim());
  if (!value.ok) return value.error;
  entries.set(key, value.value);
  return null;
}

function readGate(key: string, value: string): GoParse<boolean> {
  const parsed = parseGoBool(value);
  return parsed.ok ? parsed : bad(`invalid value of ${key}: ${value}, err: ${parsed.error}`);
}

function parseOnePair(word: string, previous: unknown): GoParse<unknown> {
  const entries = new Map(Object.entries((previous ?? {}) as Record<string, unknown>));
  const error = addPair(entries, word, '=', 'string=string', (_, value) => good(value));
  return error === null ? good(Object.fromEntries(entries)) : bad(error);
}

function parseLabels(word: string, previous: unknown): GoParse<unknown> {
  const withSeparator = word
    .split(',')
    .map((pair) => (pair === '' || pair.includes('=') ? pair : `${pair}=`))
    .join(',');
  return pairs(withSeparator, previous, '=', 'string=string', (_, value) => good(value));
}

function parseMultimap(word: string, previous: unknown): GoParse<unknown> {
  const entries = new Map(Object.entries((previous ?? {}) as Record<string, readonly string[]>));
  return pairs(word, {}, ':', 'string:string', (key, value) => {
    entries.set(key, [...(entries.get(key) ?? []), value]);
    return good(value);
  }).ok
    ? good(Object.fromEntries(entries))
    : bad('malformed pair, expect string:string');
}

function parseVmodule(word: string, previous: unknown): GoParse<unknown> {
  const items = [...((previous ?? []) as readonly VModuleItem[])];
  for (const item of word.split(',')) {
    if (item === '') continue;
    const parts = item.split('=');
    if (parts.length !== 2 || parts.includes('')) return bad(`${goQuote(item)} does not have the pattern=N format`);
    const verbosity = parseGoUint(parts[1] as string, 31);
    if (!verbosity.ok) return bad(`parsing verbosity in ${goQuote(item)}: ${verbosity.error}`);
    items.push({ filePattern: parts[0] as string, verbosity: Number(verbosity.value) });
  }
  return good(items);
}

function parseIpWord(word: string): GoParse<unknown> {
  if (word === '') return good(unchanged);
  return parseIp(word) !== null ? good(word) : bad(`${goQuote(word)} is not a valid IP address`);
}

function parseFlexibleDuration(word: string): GoParse<FlexibleDuration> {
  const parsed = parseDuration(word);
  return parsed.ok ? good({ nanos: parsed.value, asNumber: false }) : parsed;
}

function parseQuantityWord(word: string): GoParse<string> {
  const parsed = parseQuantity(word);
  return parsed.ok ? good(quantityText(parsed.quantity)) : bad(parsed.error);
}

/** `k=v,k=v`, sorted. */
function showPairs(separator: string): FlagType['show'] {
  const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);
  return (value) =>
    Object.entries(value as Record<string, unknown>)
      .flatMap(([key, of]) => listed(of).map((one) => `${key}${separator}${String(one)}`))
      .sort()
      .join(',');
}

function showVmodule(value: unknown): string {
  return (value as readonly VModuleItem[]).map(({ filePattern, verbosity }) => `${filePattern}=${verbosity}`).join(',');
}

const keep = (_: string, value: string): GoParse<unknown> => good(value);

export const flagTypes = {
  string: type('string', good),
  bool: type('bool', parseGoBool, asText, 'true'),
  int32: type('int32', (word) => number(parseGoInt(word, 0, 32))),
  int64: type('int64', (word) => number(parseGoInt(word, 0, 64))),
  duration: type('duration', parseDuration, (value) => formatDuration(value as number)),
  flexibleDuration: type('duration', parseFlexibleDuration, (value) => formatDuration((value as FlexibleDuration).nanos)),
  quantity: type('quantity', parseQuantityWord),
  ip: type('ip', parseIpWord),
  level: type('Level', (word) => number(parseGoUint(word, 31))),
  vmodule: type('pattern=N,...', parseVmodule, showVmodule),
  stringSlice: type(
    'stringSlice',
    (word, previous) => {
      const items = readCsvLine(word);
      return items.ok ? good([...((previous ?? []) as readonly string[]), ...items.value]) : items;
    },
    (value) => `[${(value as readonly string[]).join(',')}]`,
  ),
  mapStringString: type('mapStringString', (word, previous) => pairs(word, previous, '=', 'string=string', keep), showPairs('=')),
  /** The same, one pair a word: the value may hold commas. */
  onePair: type('mapStringString', parseOnePair, showPairs('=')),
  langle: type('mapStringString', (word, previous) => pairs(word, previous, '<', 'string<string', keep), showPairs('<')),
  labels: type('mapStringString', parseLabels, showPairs('=')),
  mapStringBool: type('mapStringBool', (word, previous) => pairs(word, previous, '=', 'string=bool', readGate), showPairs('=')),
  multimap: type('colonSeparatedMultimapStringString', parseMultimap, showPairs(':')),
  /** Flags of the standard library's flag package. */
  plainInt: type('int', (word) => terse(number(parseGoInt(word, 0, 64)))),
  plainBool: type('bool', (word) => terse(parseGoBool(word)), asText, 'true'),
  plainDuration: type(
    'duration',
    (word) => terse(parseDuration(word)),
    (value) => formatDuration(value as number),
  ),
} as const;
