// Service account tokens: JSON web tokens, signed with a key of the server; the text holds the identity and the expiry.
//
// Invariants: a token is valid only while its account and its bound pod are those that it was issued for; a modified token is invalid.

import { base64Decode, base64Encode } from '../../../domain/values/base64.js';
import { hmacSha256 } from '../../../domain/values/hmac-sha256.js';
import { microsPerSecond } from '../../../domain/values/time.js';
import { utf8Decode, utf8Encode } from '../../../domain/values/utf8.js';
import type { Micros } from '../../../ports/micros.js';
import type { ApiUser } from '../api-request.js';
import { type ObjectStore, objectKey, type StoredObject } from '../object-store.js';

const tokenIssuer = 'https://kubernetes.default.svc.cluster.local';
export const tokenAudience = tokenIssuer;
const accountPrefix = 'system:serviceaccount:';

interface BoundObject {
  readonly name: string;
  readonly uid: string;
}

interface Claims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly iss: string;
  readonly jti: string;
  readonly nbf: number;
  readonly sub: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly serviceaccount: BoundObject;
    readonly pod?: BoundObject;
    readonly node?: BoundObject;
    readonly secret?: BoundObject;
    readonly warnafter?: number;
  };
}

export interface TokenWanted {
  readonly account: StoredObject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly pod: StoredObject | null;
  readonly node: StoredObject | null;
  readonly id: string;
}

export interface VerifiedToken {
  readonly user: ApiUser;
  readonly audiences: readonly string[];
}

function serviceAccountUser(namespace: string, name: string, uid: string): ApiUser {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return { name: `${accountPrefix}${namespace}:${name}`, uid, groups };
}

export class TokenIssuer {
  private readonly key: Uint8Array;

  constructor(
    secret: string,
    private readonly store: ObjectStore,
  ) {
    this.key = utf8Encode(secret);
  }

  issue({ account, audiences, expirationSeconds, pod, node, id }: TokenWanted, now: Micros): string {
    const seconds = Math.floor(now / microsPerSecond);
    const { name, namespace = '', uid = '' } = account.metadata;
    const bound = (object: StoredObject): BoundObject => ({ name: object.metadata.name, uid: object.metadata.uid ?? '' });
    const own = { namespace, ...(node === null ? {} : { node: bound(node) }), ...(pod === null ? {} : { pod: bound(pod) }), serviceaccount: { name, uid } };
    const times = { exp: seconds + expirationSeconds, iat: seconds, iss: tokenIssuer, jti: id };
    const claims: Claims = { aud: audiences, ...times, 'kubernetes.io': own, nbf: seconds, sub: `${accountPrefix}${namespace}:${name}` };
    const body = `${encode({ alg: 'HS256', kid: 'mock' })}.${encode(claims)}`;
    return `${body}.${this.signature(body)}`;
  }

  /** A text: why the token is unknown or no longer valid. `audiences`: the token must have at least one of them. */
  verify(token: string, audiences: readonly string[], now: Micros): VerifiedToken | string {
    const [header = '', payload = '', signature = '', ...more] = token.split('.');
    if (more.length > 0 || signature !== this.signature(`${header}.${payload}`)) return 'invalid bearer token';
    const claims = JSON.parse(decode(payload)) as Claims;
    const seconds = Math.floor(now / microsPerSecond);
    if (claims.exp <= seconds) return 'service account token has expired';
    if (claims.nbf > seconds) return 'service account token is not valid yet';
    const shared = claims.aud.filter((audience) => audiences.includes(audience));
    if (shared.length === 0) return `token audiences ${JSON.stringify(claims.aud)} is invalid for the target audiences ${JSON.stringify(audiences)}`;
    const { namespace, serviceaccount, pod, node } = claims['kubernetes.io'];
    if (!this.isStill('serviceaccounts', namespace, serviceaccount)) return 'service account token has been invalidated';
    if (pod !== undefined && !this.isStill('pods', namespace, pod)) return 'service account token has been invalidated';
    const extra: Record<string, readonly string[]> = { 'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`] };
    if (pod !== undefined) {
      extra['authentication.kubernetes.io/pod-name'] = [pod.name];
      extra['authentication.kubernetes.io/pod-uid'] = [pod.uid];
    }
    if (node !== undefined) {
      extra['authentication.kubernetes.io/node-name'] = [node.name];
      if (node.uid !== '') extra['authentication.kubernetes.io/node-uid'] = [node.uid];
    }
    return { user: { ...serviceAccountUser(namespace, serviceaccount.name, serviceaccount.uid), extra }, audiences: shared };
  }

  private isStill(resource: string, namespace: string, { name, uid }: BoundObject): boolean {
    return this.store.get(resource, objectKey(namespace, name))?.metadata.uid === uid;
  }

  private signature(body: string): string {
    return urlSafe(base64Encode(hmacSha256(this.key, utf8Encode(body))));
  }
}

function urlSafe(text: string): string {
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function encode(value: unknown): string {
  return urlSafe(base64Encode(utf8Encode(JSON.stringify(value))));
}

function decode(text: string): string {
  const padded = text.replaceAll('-', '+').replaceAll('_', '/');
  return utf8Decode(base64Decode(padded.padEnd(Math.ceil(padded.length / 4) * 4, '=')) ?? new Uint8Array());
}
