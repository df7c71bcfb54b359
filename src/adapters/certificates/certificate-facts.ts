// Facts read from certificates: their validity, their subject, whether a key matches them.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { instantOf } from '../../domain/values/instant.js';
import { formatIp, parseIp } from '../../domain/values/ip-address.js';
import { microsPerMillisecond } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { CertificateFacts } from '../../ports/outbound/certificates.js';

const block = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM text, the leaf first; other blocks are passed over. Throws on one that is no certificate. */
export function certificatesOf(pem: string): X509Certificate[] {
  return (pem.match(block) ?? []).map((text) => new X509Certificate(text));
}

export function factsOf(certificate: X509Certificate): CertificateFacts {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | readonly string[]>>;
  const names = (certificate.subjectAltName ?? '').split(', ');
  const withPrefix = (prefix: string): string[] => names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  return {
    notBefore: instantFrom(certificate.validFrom),
    notAfter: instantFrom(certificate.validTo),
    commonName: listOf(subject.CN)[0] ?? '',
    organizations: listOf(subject.O),
    dnsNames: withPrefix('DNS:'),
    ipAddresses: withPrefix('IP Address:').map((text) => {
      const ip = parseIp(text);
      return ip === null ? text : formatIp(ip);
    }),
  };
}

/** Why these two are no pair that a client can show; null when they are one. Names no content. */
export function pairProblem(certificatePem: string, keyPem: string): string | null {
  try {
    const [leaf] = certificatesOf(certificatePem);
    if (leaf === undefined) return 'tls: failed to find any PEM data in certificate input';
    if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(keyPem)) return 'tls: failed to find any PEM data in key input';
    return leaf.checkPrivateKey(createPrivateKey(keyPem)) ? null : 'tls: private key does not match public key';
  } catch {
    return 'tls: failed to parse the certificate or its private key';
  }
}

function instantFrom(text: string): Instant {
  return instantOf(Date.parse(text) * microsPerMillisecond);
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
