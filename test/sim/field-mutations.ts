// Every place of a value, and its substitutes in an invalid answer.
import type { Json } from './full-objects.js';

export type Path = readonly (string | number)[];

export const mutations = ['null', 'absent', 'wrong type', 'empty', 'long'] as const;
export type Mutation = (typeof mutations)[number];

/** The places within a value, itself not among them; of equal items of a list the first. */
export function* placesOf(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value !== 'object' || value === null) return;
  const members: readonly (readonly [string | number, unknown])[] = Array.isArray(value) ? value.slice(0, 2).map((item: unknown, i) => [i, item] as const) : Object.entries(value);
  for (const [key, member] of members) {
    yield [...path, key];
    yield* placesOf(member, [...path, key]);
  }
}

export function pathText(path: Path): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '');
}

/** A copy that has something else there; null where a list has no way to be without its item. */
export function mutated(value: unknown, path: Path, mutation: Mutation): Json | null {
  const copy = structuredClone(value) as Json;
  let parent = copy as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) parent = parent[key] as Record<string | number, unknown>;
  const last = path.at(-1) as string | number;
  if (mutation === 'absent') {
    if (typeof last === 'number') return null;
    delete parent[last];
  } else parent[last] = replaced(parent[last], mutation);
  return copy;
}

const manyBytes = 200_000;

function replaced(value: unknown, mutation: Exclude<Mutation, 'absent'>): unknown {
  switch (mutation) {
    case 'null':
      return null;
    case 'wrong type':
      if (typeof value === 'string') return { a: [7] };
      return Array.isArray(value) || typeof value === 'object' ? 'a text' : [value];
    case 'empty':
      if (typeof value === 'string') return '';
      if (Array.isArray(value)) return [];
      return typeof value === 'object' ? {} : typeof value === 'boolean' ? false : 0;
    case 'long':
      if (typeof value === 'string') return 'x'.repeat(manyBytes);
      if (Array.isArray(value)) return Array.from({ length: 300 }, () => structuredClone(value[0] as unknown));
      if (typeof value === 'object') return { ...value, ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, 'y'])) };
      return typeof value === 'number' ? Number.MAX_SAFE_INTEGER : value;
  }
}
