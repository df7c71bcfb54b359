// Keys of pods' certificates as the simulated host makes them: unique texts that resemble keys. The simulated world has no
// cryptography; its signers don't inspect the request.

import { base64Encode } from '../../domain/values/base64.js';
import { utf8Encode } from '../../domain/values/utf8.js';
import type { PodCertificateKey, PodCertificateKeyOperations } from '../../ports/outbound/pod-certificate-keys.js';
import { HostRefusal } from './refusal.js';

const keyTypes: readonly string[] = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];

/** @param number how many the host has made, this one counted */
export function simPodCertificateKey({ keyType }: PodCertificateKeyOperations['generate']['request'], number: number): PodCertificateKey {
  if (!keyTypes.includes(keyType)) throw new HostRefusal('invalid-argument', `unsupported key type ${JSON.stringify(keyType)}: ${keyTypes.join(', ')}`);
  const content = `simulated ${keyType} ${number}`;
  return { privateKey: `-----BEGIN PRIVATE KEY-----\n${base64Encode(utf8Encode(content))}\n-----END PRIVATE KEY-----\n`, request: utf8Encode(`request of ${content}`) };
}
