// The kubelet's own certificates: the client certificate for the apiserver, and its serving certificate. Keys never cross this port.
import type { Instant } from '../instant.js';
import type { Operation } from '../operation.js';

export type CertificatePurpose = 'client' | 'server';

/** Whom a certificate is to be for. */
export interface CertificateTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** In their canonical form. */
  readonly ipAddresses: readonly string[];
}

/** The fields of a certificate. */
export interface CertificateFacts extends CertificateTemplate {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

export interface CertificateRequest {
  /** Names the key that the request was signed with, until a certificate is stored for it or another request is made. */
  readonly request: string;
  /** PEM. */
  readonly csr: string;
  /** A name that only this key asking for this can have; the same each time. */
  readonly name: string;
}

export interface CertificateOperations {
  /** The pair in use; null if none exists or none is usable (the adapter logs why). */
  readonly current: Operation<{ readonly purpose: CertificatePurpose }, CertificateFacts | null>;
  /**
   * A request for a certificate, with a new key; with `keepsKey` that key is written down and used by every request until a certificate is stored
   * for it. Errors: unavailable (the key can't be written).
   */
  readonly request: Operation<
    { readonly purpose: CertificatePurpose; readonly template: CertificateTemplate; readonly usages: readonly string[]; readonly keepsKey: boolean },
    CertificateRequest
  >;
  /** Why an existing request doesn't match `request`; null: it does. */
  readonly compare: Operation<{ readonly request: string; readonly csr: string; readonly certificate: string | null }, { readonly problem: string | null }>;
  /**
   * Makes this certificate (PEM, with what comes after the leaf) and its key the pair in use, whole or not at all.
   * Errors: failed-precondition (it isn't the key's), unavailable (it can't be written).
   */
  readonly store: Operation<{ readonly purpose: CertificatePurpose; readonly request: string; readonly certificate: string }, CertificateFacts>;
  /** The agent can't continue: the process ends with this line. */
  readonly giveUp: Operation<{ readonly reason: string }, null>;
}

/** The state of the kubeconfig: unusable with its reason, or the validity of its user's certificates. */
export type KubeconfigState =
  | { readonly kind: 'unusable'; readonly reason: string }
  /** @param pair `null`: it shows none; `broken`: files that are no pair; else when each certificate of its chain begins and ends */
  | { readonly kind: 'loaded'; readonly pair: null | 'broken' | readonly { readonly notBefore: Instant; readonly notAfter: Instant }[] };
