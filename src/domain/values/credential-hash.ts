// The hash by which records of image pulls name a login.
import type { PullCredentials } from '../../ports/outbound/container-runtime.js';
import { hexOfBytes } from './hex.js';
import { sha256 } from './sha256.js';
import { utf8Encode } from './utf8.js';

/** Hash of the credentials for the registry, so that a renamed secret with the same content counts as the same. */
export function credentialHash({ username, password, serverAddress, identityToken, registryToken }: PullCredentials): string {
  const members = Object.entries({ username, password, serverAddress, identityToken, registryToken }).filter(([, value]) => value !== '');
  return hexOfBytes(sha256(utf8Encode(jsonText(Object.fromEntries(members)))));
}

/** JSON as Go writes it: characters that mean something in HTML are escaped. */
function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
