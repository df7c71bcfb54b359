// A map with a maximum size that evicts the least recently used entry. A plain map, so that states stay cloneable.

/** The entry's value, which becomes the newest; null: no entry. */
export function touch<V>(map: Map<string, V>, key: string): V | null {
  const value = map.get(key);
  if (value === undefined) return null;
  map.delete(key);
  map.set(key, value);
  return value;
}

/** Adds the entry as the newest; evicts the oldest if there are more than `max`. */
export function putBounded<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
