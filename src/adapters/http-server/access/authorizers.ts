// Authorizes requests to this node (spec/config-and-api.md, 9.3): always allow, or by the apiserver's review.
// Invariant: an undecidable request is `error`, never `allow`.
import type { AccessAttributes, AccessOpinion } from '../../../ports/inbound/request-policy.js';
import type { AccessReviews, UserInfo } from './access-reviews.js';
import { KeptAnswers } from './kept-answers.js';
import { type RetryTimes, usualRetries, withRetries } from './with-retries.js';

export interface Authorizer {
  opinion(user: UserInfo, attributes: AccessAttributes): Promise<AccessOpinion>;
}

export const alwaysAllow: Authorizer = { opinion: () => Promise.resolve('allow') };

export interface WebhookOptions {
  readonly reviews: Pick<AccessReviews, 'reviewAccess'>;
  readonly allowedMillis: number;
  readonly deniedMillis: number;
  /** Of the monotonic clock. */
  readonly nowMillis: () => number;
  readonly onError: (error: unknown) => void;
  readonly retries?: RetryTimes;
}

const answersMax = 8192;
/** Decisions for requests longer than this aren't cached, so that long names can't fill the memory. */
const keptLengthMax = 10_000;
const lookupMillis = 30_000;
/** For authenticated users, with a few requests each. */
const lookupsMax = 1024;

export class WebhookAuthorizer implements Authorizer {
  private readonly known: KeptAnswers<boolean>;

  constructor(private readonly options: WebhookOptions) {
    this.known = new KeptAnswers(answersMax, options.nowMillis, lookupsMax);
  }

  async opinion(user: UserInfo, attributes: AccessAttributes): Promise<AccessOpinion> {
    const { reviews, allowedMillis, deniedMillis, onError, retries = usualRetries } = this.options;
    const key = JSON.stringify([user, attributes]);
    const ask = async () => {
      const signal = AbortSignal.timeout(lookupMillis);
      const allowed = await withRetries(retries, signal, () => reviews.reviewAccess(user, attributes, signal));
      return { value: allowed, holdsMillis: key.length >= keptLengthMax ? 0 : allowed ? allowedMillis : deniedMillis };
    };
    try {
      return (await this.known.get(key, ask)) ? 'allow' : 'no-opinion';
    } catch (error) {
      onError(error);
      return 'error';
    }
  }
}
