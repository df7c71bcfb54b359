// Signatures by type of key: RSA with SHA-256, ECDSA with the digest of its curve's size, Ed25519.
import type { KeyObject } from 'node:crypto';
import { element, oid, sequence, tags } from './der.js';

const ecdsa: Readonly<Record<string, { readonly id: string; readonly digest: string }>> = {
  prime256v1: { id: '1.2.840.10045.4.3.2', digest: 'sha256' },
  secp384r1: { id: '1.2.840.10045.4.3.3', digest: 'sha384' },
  secp521r1: { id: '1.2.840.10045.4.3.4', digest: 'sha512' },
};
const ed25519 = '1.3.101.112';
const rsaWithSha256 = '1.2.840.113549.1.1.11';

/** The AlgorithmIdentifier for a signature by this key. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  const { asymmetricKeyType } = key;
  if (asymmetricKeyType === 'ec') return sequence(oid(curveOf(key).id));
  if (asymmetricKeyType === 'ed25519') return sequence(oid(ed25519));
  if (asymmetricKeyType === 'rsa') return sequence(oid(rsaWithSha256), element(tags.null));
  throw new Error(`keys of type ${asymmetricKeyType} are not supported: ec, rsa or ed25519`);
}

/** The digest argument of node:crypto's `sign` and `verify` for this key; null: the key type has a digest of its own. */
export function digestOf(key: KeyObject): string | null {
  if (key.asymmetricKeyType === 'ed25519') return null;
  return key.asymmetricKeyType === 'ec' ? curveOf(key).digest : 'sha256';
}

function curveOf({ asymmetricKeyDetails }: KeyObject): { readonly id: string; readonly digest: string } {
  const curve = asymmetricKeyDetails?.namedCurve ?? '';
  const known = ecdsa[curve];
  if (known === undefined) throw new Error(`keys on the curve ${curve} are not supported: P-256, P-384 or P-521`);
  return known;
}
