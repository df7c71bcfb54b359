// Admits or refuses a request: authentication, then authorization (spec/config-and-api.md, 9).
// Invariant: everything not explicitly allowed is refused.
import type { AccessOpinion, RequestPolicy } from '../../ports/inbound/request-policy.js';
import type { Authenticator, Credentials } from './access/authenticators.js';
import type { Authorizer } from './access/authorizers.js';
import { type HttpAnswer, plainText } from './http-answer.js';

export interface AccessRules {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly authorizer: Authorizer;
}

/** null: it may pass. @param path decoded, not cleaned */
export async function refusalOf(rules: AccessRules, policy: RequestPolicy, method: string, path: string, credentials: Credentials): Promise<HttpAnswer | null> {
  const user = await rules.authenticator.authenticate(credentials);
  const checks = policy.checks(method, path);
  const opinions: AccessOpinion[] = [];
  for (;;) {
    const step = policy.next(user?.username ?? null, checks, opinions);
    if (step.kind === 'passed') return null;
    if (step.kind === 'refused') return { status: step.status, headers: { 'Content-Type': step.contentType }, body: step.body };
    if (user === null) return plainText(401, 'Unauthorized');
    opinions.push(await rules.authorizer.opinion(user, step.attributes));
  }
}
