// A service account for a credential provider plugin's call, and the keys of its cached answers.
// Invariants: an answer for one service account is never used for another; no key holds a token.
import { hexOfBytes } from '../values/hex.js';
import { sha256 } from '../values/sha256.js';
import { utf8Encode } from '../values/utf8.js';

export interface PluginIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The account's configured annotations, sorted by name. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly token: string;
}

/** Identifies the account and the inputs of an answer; texts of different identities differ, and hold no token. Empty: the node. */
export function identityKey(identity: PluginIdentity | null, cacheType: 'Token' | 'ServiceAccount' | null): string {
  if (identity === null) return '';
  const { namespace, name, uid, annotations, token } = identity;
  return hashOf(JSON.stringify([namespace, name, uid, Object.entries(annotations), cacheType === 'Token' ? hashOf(token) : '']));
}

/** Runs with the same key share one run of the plugin: the same account with the same token. */
export function runKey(identity: PluginIdentity | null): string {
  return identityKey(identity, 'Token');
}

function hashOf(text: string): string {
  return hexOfBytes(sha256(utf8Encode(text)));
}
