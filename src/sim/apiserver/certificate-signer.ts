// The signer of certificate requests. The simulated server has no cryptography of its own: its owner provides it.
import type { Micros } from '../../ports/micros.js';

export interface RequestedCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface CertificateOrder {
  /** PEM, as the client sent it. */
  readonly request: Uint8Array;
  readonly usages: readonly string[];
  readonly expirationSeconds: number;
  /** The subject; absent: the request's. */
  readonly commonName?: string;
}

export interface CertificateSigner {
  /** null: it is no certificate request, or its signature is not its key's. */
  inspect(request: Uint8Array): RequestedCertificate | null;
  /** PEM. */
  sign(order: CertificateOrder, now: Micros): Uint8Array;
}
