// How the kubelet's state files are written and summed up: compact JSON as Go's encoder writes it, and the text picture of a record
// that the FNV-1a checksum is taken over. Both are a contract with Go kubelets, to the byte.
// Invariants: map keys are in byte order of their UTF-8 (numbers in pictures by value); the checksum field itself counts as 0.
import { fnv1aHash32 } from '../values/fnv.js';
import { utf8Encode } from '../values/utf8.js';

/** A whole file, and the text of its checksum. */
export interface CheckpointText {
  readonly content: string;
  /** Unsigned, 32 bits. */
  readonly checksum: number;
  readonly checksumInput: string;
}

export const corruptCheckpoint = 'checkpoint is corrupted';

export function fnvChecksum(picture: string): number {
  return fnv1aHash32(utf8Encode(picture));
}

/** Code points order as UTF-8 bytes do; code units beyond the first plane don't. */
export function byUtf8(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    const leftSurrogate = left >= 0xd800 && left <= 0xdfff;
    const rightSurrogate = right >= 0xd800 && right <= 0xdfff;
    return leftSurrogate === rightSurrogate ? left - right : leftSurrogate ? 1 : -1;
  }
  return a.length - b.length;
}

// --- JSON -------------------------------------------------------------------------------------------------------------------

/** Go's encoder escapes what could end a script element, and JavaScript's line separators. */
export function jsonText(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Fields in writing order; their values are JSON already. A null value leaves the field out. */
export function jsonRecord(fields: readonly (readonly [string, string | null])[]): string {
  return `{${fields
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${jsonText(name)}:${value}`)
    .join(',')}}`;
}

/** Keys in order, also those that are numbers: as text. */
export function jsonMap<T>(map: ReadonlyMap<string, T> | null, value: (item: T) => string): string {
  if (map === null) return 'null';
  const keys = [...map.keys()].sort(byUtf8);
  return `{${keys.map((key) => `${jsonText(key)}:${value(map.get(key) as T)}`).join(',')}}`;
}

export function jsonList<T>(items: readonly T[] | null, value: (item: T) => string): string {
  return items === null ? 'null' : `[${items.map(value).join(',')}]`;
}

// --- the picture ------------------------------------------------------------------------------------------------------------

/** `{Name:(type)value Name:(type)value}`. */
export function pictureRecord(fields: readonly (readonly [string, string, string])[]): string {
  return `{${fields.map(([name, type, value]) => `${name}:(${type})${value}`).join(' ')}}`;
}

export function pictureMap<T>(map: ReadonlyMap<string, T> | null, value: (item: T) => string, order: (a: string, b: string) => number = byUtf8): string {
  if (map === null) return '<nil>';
  const keys = [...map.keys()].sort(order);
  return `map[${keys.map((key) => `${key}:${value(map.get(key) as T)}`).join(' ')}]`;
}

/** For maps whose keys are numbers. */
export function byNumber(a: string, b: string): number {
  return Number(a) - Number(b);
}

export function pictureList<T>(items: readonly T[] | null, value: (item: T) => string): string {
  return items === null ? '<nil>' : `[${items.map(value).join(' ')}]`;
}
