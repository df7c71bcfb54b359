// Certificates signed locally: a kubelet's self-signed serving certificate, and those of the mock apiserver.
import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { bitString, boolean, element, explicit, octetString, oid, sequence, smallInteger, time, unsigned } from './der.js';
import { type AlternativeNames, alternativeNamesExtension, type Subject, subjectName } from './names.js';
import { pemOf } from './pem.js';
import { digestOf, signatureAlgorithm } from './signature.js';

export interface CertificateContents extends Subject, AlternativeNames {
  readonly publicKey: KeyObject;
  readonly notBeforeMillis: number;
  readonly notAfterMillis: number;
  /** Whether it may sign others. */
  readonly isAuthority: boolean;
  readonly purposes: readonly ('client' | 'server')[];
}

/** The issuer: for a self-signed certificate, its own subject and key. */
export interface Issuer extends Subject {
  readonly privateKey: KeyObject;
}

const keyUsageOid = '2.5.29.15';
const basicConstraintsOid = '2.5.29.19';
const extendedKeyUsageOid = '2.5.29.37';
const subjectKeyOid = '2.5.29.14';
const authorityKeyOid = '2.5.29.35';
const purposeOids = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const;

/** PEM. */
export function issueCertificate(contents: CertificateContents, issuer: Issuer): string {
  const algorithm = signatureAlgorithm(issuer.privateKey);
  // Positive and never 0.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40;
  const info = sequence(
    explicit(0, smallInteger(2)),
    unsigned(serial),
    algorithm,
    subjectName(issuer),
    sequence(time(contents.notBeforeMillis), time(contents.notAfterMillis)),
    subjectName(contents),
    contents.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensionsOf(contents, issuer))),
  );
  return pemOf('CERTIFICATE', sequence(info, algorithm, bitString(sign(digestOf(issuer.privateKey), info, issuer.privateKey))));
}

function extensionsOf(contents: CertificateContents, issuer: Issuer): Buffer[] {
  const { isAuthority, purposes, publicKey } = contents;
  const critical = (id: string, value: Buffer): Buffer => sequence(oid(id), boolean(true), octetString(value));
  const usual = (id: string, value: Buffer): Buffer => sequence(oid(id), octetString(value));
  const names = alternativeNamesExtension(contents);
  // Digital signature (bit 0), key encipherment (2), certificate signing (5).
  const usage = isAuthority ? bitString(Buffer.from([0xa4]), 2) : bitString(Buffer.from([0xa0]), 5);
  return [
    critical(keyUsageOid, usage),
    ...(purposes.length === 0 ? [] : [usual(extendedKeyUsageOid, sequence(...purposes.map((purpose) => oid(purposeOids[purpose]))))]),
    critical(basicConstraintsOid, isAuthority ? sequence(boolean(true)) : sequence()),
    usual(subjectKeyOid, octetString(keyId(publicKey))),
    usual(authorityKeyOid, sequence(element(0x80, keyId(createPublicKey(issuer.privateKey))))),
    ...(names === null ? [] : [names]),
  ];
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
}
