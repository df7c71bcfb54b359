// A deep copy of plain data, for forking a world and keeping a state. Shared objects in the original are shared in the
// copy, so that "the same object, hence unchanged" still holds there.
// Invariant: only data is copied; a function or an object of a class is a failed assertion, since a copy of it would not be independent.
import { assert } from './assert.js';

export function clonePlain<T>(value: T): T {
  return copy(value, new Map()) as T;
}

function copy(value: unknown, made: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) {
    assert(typeof value !== 'function' && typeof value !== 'symbol', 'a function is no data');
    return value;
  }
  const known = made.get(value);
  if (known !== undefined) return known;
  return copyObject(value, made);
}

function copyObject(value: object, made: Map<object, unknown>): unknown {
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    made.set(value, list);
    for (const item of value) list.push(copy(item, made));
    return list;
  }
  if (value instanceof Map) {
    const map = new Map<unknown, unknown>();
    made.set(value, map);
    for (const [key, item] of value) map.set(copy(key, made), copy(item, made));
    return map;
  }
  if (value instanceof Set) {
    const set = new Set<unknown>();
    made.set(value, set);
    for (const item of value) set.add(copy(item, made));
    return set;
  }
  if (value instanceof Uint8Array) {
    const bytes = value.slice();
    made.set(value, bytes);
    return bytes;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  assert(prototype === Object.prototype || prototype === null, `an object of class ${(value as { constructor?: { name?: string } }).constructor?.name ?? '?'} is no data`);
  const object: Record<string, unknown> = {};
  made.set(value, object);
  for (const key of Object.keys(value)) object[key] = copy((value as Record<string, unknown>)[key], made);
  return object;
}
