// Validation of arguments. An embedder may be a plain script without a compiler, so the functions of the
// package entry check their arguments, and name the wrong argument (and the field in it). The agent's own calls skip this.
// Invariant: a check throws only AssertionFailed, and never changes the value.
import { AssertionFailed } from '../kernel/assert.js';
import { parseQuantity } from '../values/quantity.js';

/** The error of the value at `path`; null: none. */
export type Shape = (value: unknown, path: string) => string | null;

/** Fails with the argument's name, e.g. `pod.spec.containers: expected a list, got null`. */
export function checkArgument(name: string, value: unknown, shape: Shape): void {
  const problem = shape(value, name);
  if (problem !== null) throw new AssertionFailed(problem);
}

export const text: Shape = (value, path) => (typeof value === 'string' ? null : expected(path, 'a string', value));

export const flag: Shape = (value, path) => (typeof value === 'boolean' ? null : expected(path, 'a boolean', value));

export const anything: Shape = () => null;

export const callable: Shape = (value, path) => (typeof value === 'function' ? null : expected(path, 'a function', value));

/** An integer between two bounds, both included. */
export function wholeNumber(least: number, most: number): Shape {
  return (value, path) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) return expected(path, 'an integer', value);
    return value >= least && value <= most ? null : `${path}: ${value} is not between ${least} and ${most}`;
  };
}

export const integer: Shape = (value, path) => (typeof value === 'number' && Number.isInteger(value) ? null : expected(path, 'an integer', value));

/** Microseconds since the epoch, or of a duration. */
export const micros: Shape = (value, path) => (typeof value === 'number' && Number.isSafeInteger(value) ? null : expected(path, 'an integer number of microseconds', value));

/** A moment that the API can write: microseconds since the epoch, up to the end of the year 9999. */
export const moment: Shape = (value, path) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? null : expected(path, 'microseconds since the epoch', value);

/** A count that the kernel or the runtime measured. */
export const measured: Shape = (value, path) => (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? null : expected(path, 'an integer from 0 up', value));

export const bigInteger: Shape = (value, path) => (typeof value === 'bigint' ? null : expected(path, 'a bigint', value));

/** The text of a quantity in an API object. */
export const quantityInText: Shape = (value, path) => {
  if (typeof value !== 'string') return expected(path, 'a quantity as a string', value);
  const parsed = parseQuantity(value);
  return parsed.ok ? null : `${path}: ${shown(value)}: ${parsed.error}`;
};

/** Another realm's Uint8Array will do. */
export const bytes: Shape = (value, path) => (Object.prototype.toString.call(value) === '[object Uint8Array]' ? null : expected(path, 'bytes (a Uint8Array)', value));

export function oneOf(words: readonly string[]): Shape {
  return (value, path) => (typeof value === 'string' && words.includes(value) ? null : expected(path, `one of ${words.join(', ')}`, value));
}

export function nullable(shape: Shape): Shape {
  return (value, path) => (value === null ? null : shape(value, path));
}

export function listOf(item: Shape): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) return expected(path, 'a list', value);
    for (let i = 0; i < value.length; i++) {
      const problem = item(value[i], `${path}[${i}]`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** Present fields must be valid, those of `required` must be present; others are not checked. */
export function recordOf(required: Readonly<Record<string, Shape>>, optional: Readonly<Record<string, Shape>> = {}): Shape {
  return (value, path) => {
    if (!isRecord(value)) return expected(path, 'an object', value);
    for (const name of Object.keys(required)) {
      const problem = required[name]!(value[name], `${path}.${name}`);
      if (problem !== null) return problem;
    }
    for (const name of Object.keys(optional)) {
      const problem = value[name] === undefined ? null : optional[name]!(value[name], `${path}.${name}`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** A JSON object whose values are alike. */
export function dictionaryOf(item: Shape): Shape {
  return (value, path) => {
    if (!isRecord(value)) return expected(path, 'an object', value);
    for (const name of Object.keys(value)) {
      const problem = item(value[name], `${path}[${JSON.stringify(name)}]`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** A Map with any content. It may be another realm's Map, so its constructor is not checked. */
export const someMap: Shape = (value, path) => (Object.prototype.toString.call(value) === '[object Map]' ? null : expected(path, 'a Map', value));

/** A Map with texts as keys. */
export function mapOf(item: Shape): Shape {
  return (value, path) => {
    const problem = someMap(value, path);
    if (problem !== null) return problem;
    for (const [key, member] of value as ReadonlyMap<unknown, unknown>) {
      const problem = text(key, `a key of ${path}`) ?? item(member, `${path}.get(${JSON.stringify(key)})`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

/**
 * A shape for API objects, which are copied on write: a valid one is not checked again, so that a thousand calls with
 * the same pods pay once.
 */
export function remembered(shape: Shape): Shape {
  const seen = new WeakSet<object>();
  return (value, path) => {
    if (typeof value !== 'object' || value === null) return shape(value, path);
    if (seen.has(value)) return null;
    const problem = shape(value, path);
    if (problem === null) seen.add(value);
    return problem;
  };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function expected(path: string, what: string, value: unknown): string {
  return `${path}: expected ${what}, got ${shown(value)}`;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  const literal = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return literal.length > 70 ? `${literal.slice(0, 70)}…` : literal;
}
