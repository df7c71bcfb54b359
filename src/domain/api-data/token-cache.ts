// Service account tokens of the pods on this node: requested once, cached, and replaced before they expire.
//
// | cached             | the request for a new one | the volume gets                                |
// |--------------------|---------------------------|------------------------------------------------|
// | nothing            | fails                     | the failure                                    |
// | a valid token      | fails                     | the old token; it is requested again at the next refresh |
// | an expired token   | fails                     | the failure                                    |
// | anything           | succeeds                  | the new token                                  |
//
// Invariants: a token is replaced at four fifths of its lifetime, and after a day at the latest; one request of a kind is in flight; tokens are
// in no log; a token's age is measured from its request and answer, so that a clock which differs from the
// server's neither keeps an expired one nor requests new ones endlessly.

import type { Micros } from '../../ports/micros.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import type { Timestamp } from '../../ports/model/object-meta.js';
import type { Outcome } from '../../ports/port-error.js';
import { type Clocks, momentAhead, nowOutside } from '../values/instant.js';
import { microsPerSecond, parseRfc3339 } from '../values/time.js';
import type { TokenRequest } from '../volumes/api-data-volume.js';
import { answeredObject } from './typed-object.js';

export type TokenAnswer =
  | { readonly kind: 'found'; readonly token: string; readonly expirationTimestamp: Timestamp }
  | { readonly kind: 'failed'; readonly message: string }
  /** The request is in flight; waiting readers are notified. */
  | { readonly kind: 'pending' };

interface CachedToken {
  readonly key: string;
  readonly podUid: string;
  /** null: none yet. */
  token: string | null;
  /** As the server reports it, for the token's user. */
  expirationTimestamp: Timestamp;
  /** When it came; the two times below are counted from then. */
  obtained: Clocks;
  expiresAt: Micros;
  /** null: never. */
  refreshAt: Micros | null;
  /** null: no request in flight. */
  askingSince: Micros | null;
  /** The last request that failed. */
  failure: { readonly askedAt: Micros; readonly message: string } | null;
}

export interface TokenCache {
  readonly tokens: Map<string, CachedToken>;
}

export interface TokenAsking {
  readonly clocks: Clocks;
  /** In [0, 1), drawn for one token. */
  random(key: string): number;
  /** Requests it; `tokenAnswered` receives the answer. */
  ask(key: string, request: TokenRequest): void;
}

/** More than any node has pods and audiences for. */
export const maxTokens = 10_000;
const longest: Micros = 24 * 3600 * microsPerSecond;
const jitterSeconds = 10;
/** The part of its life after which a token is replaced. */
const refreshPart = 0.8;

export function newTokenCache(): TokenCache {
  return { tokens: new Map() };
}

export function tokenKey({ namespace, serviceAccountName, audiences, expirationSeconds, podName, podUid }: TokenRequest): string {
  return JSON.stringify([serviceAccountName, namespace, audiences, expirationSeconds, podName, podUid]);
}

/** @param since the reader's start: an earlier failure is retried */
export function lookUpToken(cache: TokenCache, request: TokenRequest, since: Micros, asking: TokenAsking): TokenAnswer {
  const key = tokenKey(request);
  let cached = cache.tokens.get(key);
  if (cached === undefined) {
    purge(cache, asking.clocks);
    cached = { key, podUid: request.podUid, token: null, expirationTimestamp: '', obtained: asking.clocks, expiresAt: 0, refreshAt: null, askingSince: null, failure: null };
    cache.tokens.set(key, cached);
  }
  if (cached.token !== null && (cached.refreshAt === null || nowOutside(cached.obtained, asking.clocks) < cached.refreshAt))
    return { kind: 'found', token: cached.token, expirationTimestamp: cached.expirationTimestamp };
  if (cached.failure !== null && cached.failure.askedAt >= since) {
    const { message } = cached.failure;
    if (cached.token === null) return { kind: 'failed', message: `failed to fetch token: ${message}` };
    if (nowOutside(cached.obtained, asking.clocks) < cached.expiresAt) return { kind: 'found', token: cached.token, expirationTimestamp: cached.expirationTimestamp };
    return { kind: 'failed', message: `token ${nameOf(request)} expired and refresh failed: ${message}` };
  }
  if (cached.askingSince === null) {
    cached.askingSince = asking.clocks.now;
    asking.ask(key, request);
  }
  return { kind: 'pending' };
}

/** The body of the request. */
export function tokenRequestBody({ audiences, expirationSeconds, podName, podUid }: TokenRequest): ApiObject {
  const spec = {
    ...(audiences === null ? {} : { audiences }),
    ...(expirationSeconds === null ? {} : { expirationSeconds }),
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUid },
  };
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec } as unknown as ApiObject;
}

/** Stores an answer; returns the uid of the waiting pod, or null. */
export function tokenAnswered(cache: TokenCache, key: string, outcome: Outcome<ApiObject>, asking: TokenAsking): string | null {
  const cached = cache.tokens.get(key);
  if (cached === undefined || cached.askingSince === null) return null;
  const askedAt = cached.askingSince;
  cached.askingSince = null;
  const response = answeredObject('tokenrequests', outcome);
  const token = response?.status?.token ?? '';
  if (!outcome.ok || token === '') {
    cached.failure = { askedAt, message: outcome.ok ? 'the answer has no token' : outcome.error.message };
    return cached.podUid;
  }
  cached.failure = null;
  cached.token = token;
  const expirationSeconds = response?.spec?.expirationSeconds ?? null;
  cached.expirationTimestamp = response?.status?.expirationTimestamp ?? '';
  cached.obtained = asking.clocks;
  const expiry = parseRfc3339(cached.expirationTimestamp);
  cached.expiresAt = expiryHere(expiry === null ? 0 : momentAhead(expiry, asking.clocks), expirationSeconds, askedAt, asking.clocks.now);
  cached.refreshAt = refreshTime(cached.expiresAt, expirationSeconds, asking.random(key));
  return cached.podUid;
}

/** The expiry by the local clock: the token was issued between the request and its answer, independent of the server's clock. */
function expiryHere(expiresAt: Micros, expirationSeconds: number | null, askedAt: Micros, answeredAt: Micros): Micros {
  if (expirationSeconds === null) return expiresAt;
  const lifetime = expirationSeconds * microsPerSecond;
  return Math.min(Math.max(expiresAt - lifetime, askedAt - microsPerSecond), answeredAt) + lifetime;
}

/** null: without a lifetime it is never replaced. */
function refreshTime(expiresAt: Micros, expirationSeconds: number | null, random: number): Micros | null {
  if (expirationSeconds === null) return null;
  const lifetime = expirationSeconds * microsPerSecond;
  const issuedAt = expiresAt - lifetime;
  const jitter = Math.floor(random * jitterSeconds) * microsPerSecond;
  // The first microsecond after the limit.
  return Math.min(issuedAt + longest, issuedAt + Math.floor(lifetime * refreshPart)) - jitter + 1;
}

/** When the first of the pod's tokens has to be replaced; null: none has. */
export function nextTokenRefresh(cache: TokenCache, podUid: string): Micros | null {
  let next: Micros | null = null;
  for (const { podUid: uid, refreshAt } of cache.tokens.values()) if (uid === podUid && refreshAt !== null && (next === null || refreshAt < next)) next = refreshAt;
  return next;
}

/** The pod is removed, with its tokens. */
export function forgetTokens(cache: TokenCache, podUid: string): void {
  for (const [key, cached] of cache.tokens) if (cached.podUid === podUid) cache.tokens.delete(key);
}

function purge(cache: TokenCache, clocks: Clocks): void {
  for (const [key, { token, obtained, expiresAt, askingSince }] of cache.tokens)
    if (token !== null && expiresAt < nowOutside(obtained, clocks) && askingSince === null) cache.tokens.delete(key);
  if (cache.tokens.size < maxTokens) return;
  const oldest = cache.tokens.keys().next();
  if (oldest.done !== true) cache.tokens.delete(oldest.value);
}

/** The Go kubelet's name in its texts. */
function nameOf({ serviceAccountName, namespace }: TokenRequest): string {
  return `${namespace}/${serviceAccountName}`;
}
