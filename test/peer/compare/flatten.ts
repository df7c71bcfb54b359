// What was seen as lines "path value", one for each leaf, so that two kubelets can be compared leaf by leaf and a difference has a place.
import type { Json } from '../admin-client.js';

export type Leaves = ReadonlyMap<string, string>;

/** Fields by which an element of a list is named, so that a missing one does not shift the others. */
const keys = ['name', 'type', 'mountPath', 'destination', 'ip', 'key', 'resource', 'nodeName', 'path'];

export function flattened(value: Json): Leaves {
  const leaves = new Map<string, string>();
  collect(value, '', leaves);
  return leaves;
}

function collect(value: Json, path: string, leaves: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) leaves.set(path, JSON.stringify(value) ?? 'undefined');
  else if (Array.isArray(value)) {
    if (value.length === 0) leaves.set(path, '[]');
    const taken = new Set<string>();
    value.forEach((one, i) => {
      const key = keyOf(one);
      const name = key === null || taken.has(key) ? String(i) : key;
      taken.add(name);
      collect(one, `${path}[${name}]`, leaves);
    });
  } else {
    const names = Object.keys(value).sort();
    if (names.length === 0) leaves.set(path, '{}');
    for (const name of names) collect(value[name], path === '' ? name : `${path} ${name}`, leaves);
  }
}

function keyOf(element: Json): string | null {
  if (typeof element !== 'object' || element === null) return null;
  const key = keys.find((one) => typeof element[one] === 'string');
  return key === undefined ? null : element[key];
}

export interface Difference {
  readonly path: string;
  /** null where it has no such leaf. */
  readonly go: string | null;
  readonly ours: string | null;
}

export function differences(go: Leaves, ours: Leaves): Difference[] {
  const paths = [...new Set([...go.keys(), ...ours.keys()])].sort();
  return paths.flatMap((path) => {
    const difference = { path, go: go.get(path) ?? null, ours: ours.get(path) ?? null };
    return difference.go === difference.ours ? [] : [difference];
  });
}

export function shown({ path, go, ours }: Difference): string {
  return `${path}\n    go:   ${go ?? '(absent)'}\n    ours: ${ours ?? '(absent)'}`;
}
