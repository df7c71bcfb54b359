// Strict comparison of a driver's answer with a vector's `want`, as readable differences.
// Invariant: `{}` and a missing value differ, unless a driver normalizes both sides first.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface Difference {
  readonly path: string;
  readonly got: unknown;
  readonly want: unknown;
}

/** Places where `got` and `want` differ; empty if they are equal. Text in `want` may contain `<detail>`, which matches any text. */
export function differences(got: unknown, want: unknown, path = ''): Difference[] {
  if (Array.isArray(want) && Array.isArray(got)) {
    const found: Difference[] = [];
    for (let i = 0; i < Math.max(got.length, want.length); i++) found.push(...differences(got[i], want[i], `${path}[${i}]`));
    return found;
  }
  if (isObject(want) && isObject(got)) {
    const found: Difference[] = [];
    for (const key of [...new Set([...Object.keys(want), ...Object.keys(got)])].sort()) found.push(...differences(got[key], want[key], path === '' ? key : `${path}.${key}`));
    return found;
  }
  if (typeof want === 'string' && typeof got === 'string') return matchesText(got, want) ? [] : [{ path, got, want }];
  return Object.is(got, want) || (got === 0 && want === 0) ? [] : [{ path, got, want }];
}

function matchesText(got: string, want: string): boolean {
  if (!want.includes('<detail>')) return got === want;
  const parts = want.split('<detail>').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`).test(got);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy of `want` with exactly one value changed, chosen by `seed`: what `--self-check` feeds to a driver's comparison. */
export function altered(want: Json, seed: string): Json {
  const paths: (string | number)[][] = [];
  leaves(want, [], paths);
  const chosen = paths[hash(seed) % paths.length] ?? [];
  return change(want, chosen);
}

function leaves(value: Json, at: (string | number)[], out: (string | number)[][]): void {
  const keys = Array.isArray(value) ? value.map((_, i) => i) : isObject(value) ? Object.keys(value).sort() : [];
  if (keys.length === 0) out.push(at);
  for (const key of keys) leaves((value as Record<string | number, Json>)[key] as Json, [...at, key], out);
}

function change(value: Json, path: readonly (string | number)[]): Json {
  const [key, ...rest] = path;
  if (key !== undefined) {
    if (Array.isArray(value)) return value.map((item: Json, i) => (i === key ? change(item, rest) : item));
    return { ...(value as Record<string, Json>), [key]: change((value as Record<string, Json>)[key] as Json, rest) };
  }
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return `altered ${value}`;
  if (typeof value === 'boolean') return !value;
  if (value === null) return 'altered';
  return Array.isArray(value) ? ['altered'] : { altered: true };
}

function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
  return h;
}
