// Keys of pods' certificates, made by OpenSSL on libuv's pool: an RSA key takes a good part of a second, which must not block the agent.
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { PortOf } from '../../ports/operation.js';
import type { PodCertificateKey, PodCertificateKeyOperations, PodCertificateKeyType } from '../../ports/outbound/pod-certificate-keys.js';
import { PortError } from '../../ports/port-error.js';
import { certificateRequest } from './certificate-request.js';
import { pemBytes } from './pem.js';

const generate = promisify(generateKeyPair) as (type: string, options?: object) => Promise<{ readonly privateKey: KeyObject }>;

const kinds: Readonly<Record<PodCertificateKeyType, () => ReturnType<typeof generate>>> = {
  RSA3072: () => generate('rsa', { modulusLength: 3072 }),
  RSA4096: () => generate('rsa', { modulusLength: 4096 }),
  ECDSAP256: () => generate('ec', { namedCurve: 'P-256' }),
  ECDSAP384: () => generate('ec', { namedCurve: 'P-384' }),
  ECDSAP521: () => generate('ec', { namedCurve: 'P-521' }),
  ED25519: () => generate('ed25519'),
};

/** The signer decides the subject. */
const emptySubject = { commonName: '', organizations: [], dnsNames: [], ipAddresses: [] };

export class NodePodCertificateKeys implements PortOf<PodCertificateKeyOperations> {
  async generate({ keyType }: PodCertificateKeyOperations['generate']['request']): Promise<PodCertificateKey> {
    if (!Object.hasOwn(kinds, keyType)) {
      const message = `unsupported key type ${JSON.stringify(keyType)}: ${Object.keys(kinds).join(', ')}`;
      throw new PortError({ kind: 'invalid-argument', message, operation: 'podCertificateKeys.generate', subject: keyType, cause: null });
    }
    const { privateKey } = await kinds[keyType as PodCertificateKeyType]();
    const request = new Uint8Array(pemBytes(certificateRequest(emptySubject, privateKey), 'CERTIFICATE REQUEST'));
    return { privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, request };
  }
}
