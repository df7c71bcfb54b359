// Client certificate authentication (spec/config-and-api.md, 9.1): the common name is the user, the organizations are the groups.
//
// The handshake requests a certificate and accepts any, so that an expired one is answered with 401 and not with an alert. OpenSSL's
// verification in the handshake (issuer, purpose, signatures) is valid while the authorities are the same; each request checks
// the validity times again, and after a change of the authorities the client must reconnect.

import { createHash } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { epochMicros } from '../../../domain/values/instant.js';
import { factsOf } from '../../certificates/index.js';
import type { UserInfo } from './access-reviews.js';

export interface ClientCertificate {
  readonly user: UserInfo | null;
  readonly validFromMillis: number;
  readonly validToMillis: number;
  /** OpenSSL found the chain good. */
  readonly trusted: boolean;
  /** Which authorities it was held against. */
  readonly authorities: number;
}

const uidOid = '1.3.6.1.4.1.57683.2';

export class ClientCertificates {
  private generation = 0;

  constructor(
    private authorityPems: string,
    private readonly nowMillis: () => number,
  ) {}

  /** PEM; for the server's context. */
  get authorities(): string {
    return this.authorityPems;
  }

  /** Open connections must authenticate again, which requires a reconnect. */
  replace(authorityPems: string): void {
    this.authorityPems = authorityPems;
    this.generation++;
  }

  /** A client's certificate; null: none. Call it right after the handshake, once. */
  shownBy(socket: TLSSocket): ClientCertificate | null {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return null;
    const { notBefore, notAfter, commonName, organizations } = factsOf(certificate);
    // Any error at all: OpenSSL reports only the last one, so an expired certificate may also be untrusted.
    const trusted = socket.authorized;
    const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${createHash('sha256').update(certificate.raw).digest('hex')}`] };
    const uids = uidsIn(certificate.subject);
    const [uid = ''] = uids;
    const user = commonName === '' ? null : { username: commonName, uid, groups: [...organizations], extra };
    const validFromMillis = epochMicros(notBefore) / 1000;
    return { user: uids.length > 1 ? null : user, validFromMillis, validToMillis: epochMicros(notAfter) / 1000, trusted: trusted && uids.length < 2, authorities: this.generation };
  }

  /** Whether it was shown to authorities that were replaced since. */
  isOutdated(certificate: ClientCertificate): boolean {
    return certificate.authorities !== this.generation;
  }

  /** null: the certificate names no user. 'invalid': it is not trusted. */
  userOf(certificate: ClientCertificate): UserInfo | 'invalid' | null {
    const now = this.nowMillis();
    const { trusted, authorities, validFromMillis, validToMillis, user } = certificate;
    if (!trusted || authorities !== this.generation || now < validFromMillis || now > validToMillis) return 'invalid';
    return user;
  }
}

/** Values of the attribute with a user's UID; Node prints attributes without a known name by their number. */
function uidsIn(subject: string): string[] {
  return subject.split('\n').flatMap((line) => (line.startsWith(`${uidOid}=`) ? [line.slice(uidOid.length + 1)] : []));
}
