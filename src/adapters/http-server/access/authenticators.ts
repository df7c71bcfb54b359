// Authenticates a request (spec/config-and-api.md, 9.1): a client certificate, a bearer token, or anonymous if enabled.
// Invariants: all authenticators are tried; the first one that knows the sender decides; if none does and one of them found an error, the request is
// refused, even with anonymous access enabled. Tokens are kept as digests only.
import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { AccessReviews, UserInfo } from './access-reviews.js';
import type { ClientCertificate, ClientCertificates } from './client-certificates.js';
import { KeptAnswers } from './kept-answers.js';
import { websocketBearer } from './websocket-bearer.js';
import { type RetryTimes, usualRetries, withRetries } from './with-retries.js';

/** The credentials in a request. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** null: the connection shows none. */
  readonly certificate: ClientCertificate | null;
}

export interface AuthenticationOptions {
  readonly certificates: ClientCertificates | null;
  readonly tokens: { readonly reviews: Pick<AccessReviews, 'reviewToken'>; readonly cacheMillis: number } | null;
  readonly anonymous: boolean;
  /** Of the monotonic clock: how long answers are kept. */
  readonly nowMillis: () => number;
  /** Of the wall clock, which certificates go by; absent: that of the process. */
  readonly wallMillis?: () => number;
  readonly retries?: RetryTimes;
  /** Called for each request authenticated by a certificate, with the certificate's remaining validity. */
  readonly onCertificate?: (remainingMillis: number) => void;
}

const anonymousUser: UserInfo = { username: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };
const authenticated = 'system:authenticated';
const lookupMillis = 30_000;
/** Far more than a cluster's scrapers and administrators need. */
const tokensMax = 4096;
/** Any client of the port can send unknown tokens; their reviews are subject to the agent's own request rate. */
const lookupsMax = 100;

export class Authenticator {
  private readonly known: KeptAnswers<UserInfo | null>;
  private readonly digestKey = randomBytes(32);

  constructor(private readonly options: AuthenticationOptions) {
    this.known = new KeptAnswers(tokensMax, options.nowMillis, lookupsMax);
  }

  /** null: 401. */
  async authenticate({ headers, certificate }: Credentials): Promise<UserInfo | null> {
    const { certificates, tokens, anonymous, wallMillis = Date.now, onCertificate } = this.options;
    let failed = false;
    if (certificates !== null && certificate !== null) {
      const user = certificates.userOf(certificate);
      if (user !== null && user !== 'invalid') {
        onCertificate?.(certificate.validToMillis - wallMillis());
        return withGroup(user);
      }
      failed ||= user === 'invalid';
    }
    if (tokens !== null) {
      for (const token of tokensIn(headers)) {
        const user = token === null ? null : await this.ownerOf(token).catch(() => null);
        if (user !== null) return withGroup(user);
        failed = true;
      }
    }
    return anonymous && !failed ? anonymousUser : null;
  }

  private ownerOf(token: string): Promise<UserInfo | null> {
    const { tokens, retries = usualRetries } = this.options;
    if (tokens === null) return Promise.resolve(null);
    const key = createHmac('sha256', this.digestKey).update(token).digest('base64');
    return this.known.get(key, async () => {
      const signal = AbortSignal.timeout(lookupMillis);
      return { value: await withRetries(retries, signal, () => tokens.reviews.reviewToken(token, signal)), holdsMillis: tokens.cacheMillis };
    });
  }
}

function withGroup(user: UserInfo): UserInfo {
  const { groups } = user;
  if (groups.includes(authenticated) || groups.includes('system:unauthenticated')) return user;
  return { ...user, groups: [...groups, authenticated] };
}

/** Those that can't be read are null. */
function tokensIn(headers: IncomingHttpHeaders): readonly (string | null)[] {
  const [scheme = '', token = ''] = (headers.authorization ?? '').trim().split(' ');
  const found = scheme.toLowerCase() === 'bearer' && token !== '' ? [token] : [];
  const ofWebsocket = websocketBearer(headers);
  return ofWebsocket === null ? found : [...found, ofWebsocket === 'invalid' ? null : ofWebsocket.token];
}
