// Keys of the certificates in pods' projected volumes: made for one request each, and visible to the pod only.
// Invariant: a key is in no log, error or metric; it crosses this port since the volume's files contain it, like those of a secret.
import type { Operation } from '../operation.js';

export type PodCertificateKeyType = 'RSA3072' | 'RSA4096' | 'ECDSAP256' | 'ECDSAP384' | 'ECDSAP521' | 'ED25519';

export interface PodCertificateKey {
  /** PKCS #8, as PEM. */
  readonly privateKey: string;
  /** A certificate request (PKCS #10, DER) with an empty subject that the key has signed. */
  readonly request: Uint8Array;
}

export interface PodCertificateKeyOperations {
  /** A new one each time. Errors: invalid-argument (no such type of key). */
  readonly generate: Operation<{ readonly keyType: string }, PodCertificateKey>;
}
