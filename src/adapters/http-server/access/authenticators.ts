// Who sends a request (spec/config-and-api.md, 9.1): a client certificate, a bearer token, or nobody in particular where that is allowed.
// Invariants: all are tried; the first that knows the sender counts; when none does and one of them found something wrong, nobody is let
// in, not even as anonymous. Tokens are kept as digests only.
import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { AccessReviews, UserInfo } from './access-reviews.js';
import type { ClientCertificate, ClientCertificates } from './client-certificates.js';
import { KeptAnswers } from './kept-answers.js';
import { websocketBearer } from './websocket-bearer.js';
import { type RetryTimes, usualRetries, withRetries } from './with-retries.js';

/** What a request shows of its sender. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** null: the connection shows none. */
  readonly certificate: ClientCertificate | null;
}

export interface AuthenticationOptions {
  readonly certificates: ClientCertificates | null;
  readonly tokens: { readonly reviews: Pick<AccessReviews, 'reviewToken'>; readonly cacheMillis: number } | null;
  readonly anonymous: boolean;
  readonly nowMillis: () => number;
  readonly retries?: RetryTimes;
  /** Told, of each request that a certificate lets in, how long that one is valid for yet. */
  readonly onCertificate?: (remainingMillis: number) => void;
}

const anonymousUser: UserInfo = { username: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };
const authenticated = 'system:authenticated';
const lookupMillis = 30_000;
/** As many as a cluster's scrapers and administrators have by far. */
const tokensMax = 4096;
/** Whoever reaches the port can send tokens that nobody has seen; looking them up goes by the rate that the agent has for its own requests. */
const lookupsMax = 100;

export class Authenticator {
  private readonly known: KeptAnswers<UserInfo | null>;
  private readonly digestKey = randomBytes(32);

  constructor(private readonly options: AuthenticationOptions) {
    this.known = new KeptAnswers(tokensMax, options.nowMillis, lookupsMax);
  }

  /** null: 401. */
  async authenticate({ headers, certificate }: Credentials): Promise<UserInfo | null> {
    const { certificates, tokens, anonymous, nowMillis, onCertificate } = this.options;
    let failed = false;
    if (certificates !== null && certificate !== null) {
      const user = certificates.userOf(certificate);
      if (user !== null && user !== 'invalid') {
        onCertificate?.(certificate.validToMillis - nowMillis());
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
