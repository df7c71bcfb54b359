// The certificate authority of a mock apiserver: created for each server, it signs the server's own certificate, clients' and kubelets'.
import { createPublicKey, generateKeyPairSync, type KeyObject, type X509Certificate } from 'node:crypto';
import type { CertificateOrder, CertificateSigner, RequestedCertificate } from '../../sim/index.js';
import { issueCertificate, readCertificateRequest } from '../certificates/index.js';

const dayMs = 86_400_000;
/** Clocks of clients may be a little behind. */
const backdatedMs = 300_000;
const authorityDays = 3650;
const servingDays = 365;
/** The server's names. */
const serviceNames = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];

export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

export interface ClientIdentity {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** The validity; default one year. Negative: expired already. */
  readonly seconds?: number;
}

export class Authority implements CertificateSigner {
  /** PEM. */
  readonly certificate: string;
  private readonly subject = { commonName: 'kubernetes', organizations: [] };
  private readonly key: KeyObject;
  private readonly publicKey: KeyObject;

  /** @param offsetMillis how far its clock is ahead of the wall clock; the server's own certificate is valid by the wall clock */
  constructor(private readonly offsetMillis = 0) {
    this.key = newKey();
    this.publicKey = createPublicKey(this.key);
    this.certificate = issueCertificate(
      { ...this.subject, dnsNames: [], ipAddresses: [], publicKey: this.publicKey, ...validity(authorityDays * dayMs, Date.now()), isAuthority: true, purposes: [] },
      { ...this.subject, privateKey: this.key },
    );
  }

  /** The server's own certificate, for these addresses. */
  serving(hosts: readonly string[]): KeyAndCertificate {
    const isAddress = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(':');
    const ipAddresses = [...new Set(['127.0.0.1', '::1', ...hosts.filter(isAddress)])];
    const dnsNames = [...new Set([...serviceNames, ...hosts.filter((host) => !isAddress(host))])];
    return this.issue({ commonName: 'kube-apiserver', organizations: [], dnsNames, ipAddresses }, ['server'], servingDays * dayMs, Date.now());
  }

  client({ commonName, organizations, seconds = servingDays * 86_400 }: ClientIdentity): KeyAndCertificate {
    return this.issue({ commonName, organizations, dnsNames: [], ipAddresses: [] }, ['client'], seconds * 1000, this.nowMillis);
  }

  inspect(request: Uint8Array): RequestedCertificate | null {
    try {
      const { commonName, organizations, dnsNames, ipAddresses } = readCertificateRequest(Buffer.from(request).toString('utf8'));
      return { commonName, organizations, dnsNames, ipAddresses };
    } catch {
      return null;
    }
  }

  /** The wall clock with an offset, independent of the server's own speed. */
  get nowMillis(): number {
    return Date.now() + this.offsetMillis;
  }

  hasSigned(certificate: X509Certificate): boolean {
    return certificate.verify(this.publicKey);
  }

  sign({ request, usages, expirationSeconds, commonName }: CertificateOrder): Uint8Array {
    const { publicKey, organizations, dnsNames, ipAddresses, ...asked } = readCertificateRequest(Buffer.from(request).toString('utf8'));
    const purposes = (['client', 'server'] as const).filter((purpose) => usages.includes(`${purpose} auth`));
    const contents = { commonName: commonName ?? asked.commonName, organizations, dnsNames, ipAddresses, publicKey, isAuthority: false, purposes };
    const pem = issueCertificate({ ...contents, ...validity(expirationSeconds * 1000, this.nowMillis) }, { ...this.subject, privateKey: this.key });
    return Buffer.from(pem, 'utf8');
  }

  private issue(wanted: RequestedCertificate, purposes: readonly ('client' | 'server')[], forMs: number, nowMs: number): KeyAndCertificate {
    const key = newKey();
    const contents = { ...wanted, publicKey: createPublicKey(key), isAuthority: false, purposes, ...validity(forMs, nowMs) };
    return { key: key.export({ type: 'sec1', format: 'pem' }) as string, certificate: issueCertificate(contents, { ...this.subject, privateKey: this.key }) };
  }
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

function validity(forMs: number, nowMs: number): { readonly notBeforeMillis: number; readonly notAfterMillis: number } {
  return { notBeforeMillis: nowMs - backdatedMs + Math.min(0, forMs), notAfterMillis: nowMs + forMs };
}
