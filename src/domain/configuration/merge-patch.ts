// JSON merge patch (RFC 7386): how drop-in files change a configuration.
// Invariant: maps merge key by key, everything else replaces, null removes; neither argument is changed.
import type { ParsedValue } from '../../ports/outbound/configuration-source.js';
import { isMap } from './value-kind.js';

export function mergePatch(target: ParsedValue, patch: ParsedValue): ParsedValue {
  if (!isMap(patch)) return patch;
  const merged = new Map<string, ParsedValue>(isMap(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key) ?? null, value));
  }
  return Object.fromEntries(merged);
}
