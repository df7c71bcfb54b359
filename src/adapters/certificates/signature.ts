// How things are signed, by the kind of key: ECDSA or RSA, with SHA-256.
import type { KeyObject } from 'node:crypto';
import { element, oid, sequence, tags } from './der.js';

const ecdsaWithSha256 = '1.2.840.10045.4.3.2';
const rsaWithSha256 = '1.2.840.113549.1.1.11';

/** The AlgorithmIdentifier for a signature by this key. */
export function signatureAlgorithm({ asymmetricKeyType }: KeyObject): Buffer {
  if (asymmetricKeyType === 'ec') return sequence(oid(ecdsaWithSha256));
  if (asymmetricKeyType === 'rsa') return sequence(oid(rsaWithSha256), element(tags.null));
  throw new Error(`keys of type ${asymmetricKeyType} are not supported: ec or rsa`);
}
