// Settings, state and events of the keeper of one certificate. Invariant: plain data, and no key.

import type { Micros } from '../../ports/micros.js';
import type { Flattened } from '../../ports/operation.js';
import type { ApiReaderOperations, ApiWatchEvents, ApiWriterOperations } from '../../ports/outbound/apiserver.js';
import type { CertificateFacts, CertificateOperations, CertificatePurpose, CertificateTemplate } from '../../ports/outbound/certificates.js';
import { type Clocks, instantOf } from '../values/instant.js';
import type { CsrVersion } from './signing-request.js';

export type CertificateKeeperOperations = Flattened<{
  readonly certificates: CertificateOperations;
  readonly apiReader: ApiReaderOperations;
  readonly apiWriter: ApiWriterOperations;
}>;

/** See the table in certificate-keeper.ts. */
export type CertificatePhase = 'idle' | 'loading' | 'resting' | 'making' | 'creating' | 'reading' | 'comparing' | 'looking' | 'watching' | 'storing' | 'ending';

export interface CertificateKeeperSettings {
  readonly purpose: CertificatePurpose;
  /** How long one attempt waits to be approved and issued. */
  readonly issueTimeout: Micros;
  /** The blocking start: one key and one request name until it succeeds, and nothing afterwards. */
  readonly once: boolean;
  /** The process ends when the certificate has been lacking or expired for long while the server answers. */
  readonly endsWithout: boolean;
}

export interface CertificateKeeper extends CertificateKeeperSettings {
  phase: CertificatePhase;
  /** null: the subject is not known yet. */
  template: CertificateTemplate | null;
  facts: CertificateFacts | null;
  /** When `facts` came: `deadline` is counted from then. */
  obtained: Clocks;
  /** The renewal time of the current one; null: no certificate. */
  deadline: Micros | null;
  /** Renew at once, even before the deadline. */
  forced: boolean;
  startedAt: Micros;
  /** In a row. */
  failures: number;
  /** Of this process. */
  failedAttempts: number;
  /** No attempt before this time. */
  pausedUntil: Micros;
  /** The current attempt. */
  request: string;
  csr: string;
  name: string;
  uid: string;
  version: CsrVersion;
  attemptEnds: Micros;
  watches: number;
  resourceVersion: string;
  issued: string;
  /** Whether the server answers as one that works. */
  serverHealthy: boolean;
  isDone: boolean;
  gaveUp: boolean;
}

export type CertificateKeeperEvent =
  | { readonly type: 'begin' }
  /** The subject of the certificate from now on. */
  | { readonly type: 'template'; readonly template: CertificateTemplate | null }
  | { readonly type: 'renew' }
  | ApiWatchEvents;

export function newCertificateKeeper(settings: CertificateKeeperSettings, template: CertificateTemplate | null): CertificateKeeper {
  const attempt = { request: '', csr: '', name: '', uid: '', version: 'v1' as const, attemptEnds: 0, watches: 0, resourceVersion: '', issued: '' };
  const times = { deadline: null, forced: false, startedAt: 0, failures: 0, failedAttempts: 0, pausedUntil: 0 };
  return { ...settings, phase: 'idle', template, facts: null, obtained: { now: 0, wall: instantOf(0) }, ...times, ...attempt, serverHealthy: false, isDone: false, gaveUp: false };
}
