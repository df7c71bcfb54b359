// A copy of JSON that its owner may change. Invariant: a key like `__proto__` stays a key.

export function plainCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainCopy);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) Object.defineProperty(copy, key, { value: plainCopy(member), enumerable: true, writable: true, configurable: true });
  return copy;
}
