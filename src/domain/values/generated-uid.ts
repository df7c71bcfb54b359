// UIDs of static pods whose manifests have none: 32 hex digits over the defaulted object and its source, like the Go kubelet's, but
// with check digits at the end, to distinguish this agent's from another kubelet's (except for one in 65536, which is then taken
// for this agent's).
import { fnv1aHash32, fnv1aHash128Hex } from './fnv.js';
import { utf8Encode } from './utf8.js';

const digits = 32;
const checkDigits = 4;

export function generatedUid(text: string): string {
  const digest = fnv1aHash128Hex(utf8Encode(text)).slice(0, digits - checkDigits);
  return digest + checkOf(digest);
}

/** Whether this agent made it. */
export function isOwnGeneratedUid(uid: string): boolean {
  return isGeneratedUid(uid) && checkOf(uid.slice(0, digits - checkDigits)) === uid.slice(digits - checkDigits);
}

/** Whether a kubelet made it, this one or another. */
export function isGeneratedUid(uid: string): boolean {
  return /^[0-9a-f]{32}$/.test(uid);
}

function checkOf(digest: string): string {
  const hash = fnv1aHash32(utf8Encode(digest));
  return (((hash >>> 16) ^ hash) & 0xffff).toString(16).padStart(checkDigits, '0');
}
