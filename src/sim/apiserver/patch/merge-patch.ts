// JSON merge patch (RFC 7386). Invariant: the document given is not changed.
import type { JsonDraft } from '../api-request.js';
import { isObject } from '../schema/decode.js';
import { plainCopy } from './plain-copy.js';

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return plainCopy(patch);
  const merged: JsonDraft = isObject(document) ? { ...document } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else Object.defineProperty(merged, key, { value: applyMergePatch(merged[key], value), enumerable: true, writable: true, configurable: true });
  }
  return merged;
}
