// A map that holds at most so many entries: the one that was used longest ago goes first. Plain data beneath, so that states stay cloneable.

/** What is there, and from now on the newest; null: nothing. */
export function touch<V>(map: Map<string, V>, key: string): V | null {
  const value = map.get(key);
  if (value === undefined) return null;
  map.delete(key);
  map.set(key, value);
  return value;
}

/** Puts it in as the newest; the oldest goes when there are more than `max`. */
export function putBounded<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
