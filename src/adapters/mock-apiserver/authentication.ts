// Authenticates requests: a client certificate of the server's authority, a token, or anonymous.

import { createHash, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { instantOf } from '../../domain/values/instant.js';
import { type ApiUser, refusal, type SimApiserver } from '../../sim/index.js';
import { factsOf } from '../certificates/index.js';
import type { Authority } from './authority.js';

export const administrator: ApiUser = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };
const credentialId = 'authentication.kubernetes.io/credential-id';
const anonymous: ApiUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export interface AuthenticationOptions {
  /** A request without credentials is anonymous, otherwise refused. */
  readonly anonymous: boolean;
  /** Without TLS and without a token the user is the administrator: for tests and scripts on this machine. */
  readonly openWithoutTls: boolean;
  /** The signer of clients' certificates, by whose clock they are valid. */
  readonly authority: Pick<Authority, 'nowMillis' | 'hasSigned'>;
}

/** null: 401. Throws 403 for a forbidden impersonation. */
export function userOf(request: IncomingMessage, server: SimApiserver, options: AuthenticationOptions): ApiUser | null {
  const user = ownUser(request, server, options);
  const [name] = [request.headers['impersonate-user']].flat();
  if (user === null || name === undefined) return user;
  if (!user.groups.includes('system:masters')) {
    throw refusal(
      403,
      'Forbidden',
      `users ${JSON.stringify(name)} is forbidden: User ${JSON.stringify(user.name)} cannot impersonate resource "users" in API group "" at the cluster scope`,
    );
  }
  const groups = [request.headers['impersonate-group'] ?? []].flat().flatMap((text) => text.split(', '));
  return { name, groups: [...groups, 'system:authenticated'] };
}

function ownUser(request: IncomingMessage, server: SimApiserver, options: AuthenticationOptions): ApiUser | null {
  const { socket, headers } = request;
  if (socket instanceof TLSSocket) {
    const certificate = socket.getPeerX509Certificate();
    if (certificate !== undefined) {
      const { commonName, organizations, notBefore, notAfter } = factsOf(certificate);
      const now = instantOf(options.authority.nowMillis * 1000);
      if (now < notBefore || now > notAfter || !isSignedByAuthority(socket, certificate, options)) return null;
      if (commonName !== '') return { name: commonName, groups: [...organizations, 'system:authenticated'], extra: { [credentialId]: [`X509SHA256=${digestOf(certificate)}`] } };
    }
  }
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined) {
    const found = server.authenticate(bearer);
    return typeof found === 'string' ? null : found.user;
  }
  if (!(socket instanceof TLSSocket) && options.openWithoutTls) return administrator;
  return options.anonymous ? anonymous : null;
}

function digestOf(certificate: X509Certificate): string {
  return createHash('sha256').update(certificate.raw).digest('hex');
}

/** TLS verified against the wall clock; if only the validity time fails, checks it against the server's clock. */
function isSignedByAuthority(socket: TLSSocket, certificate: X509Certificate, { authority }: AuthenticationOptions): boolean {
  if (socket.authorized) return true;
  const isOfAnotherTime = ['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED'].includes(String(socket.authorizationError));
  return isOfAnotherTime && authority.hasSigned(certificate);
}
