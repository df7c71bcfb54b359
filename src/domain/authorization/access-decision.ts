// Admission of a request to the kubelet's port: authentication, then the checks of its attributes one after the other.
// Invariant: nothing passes without an `allow`; a failing authorizer ends the request at once, since a later `allow` could be wrong.
import type { AccessAttributes, AccessOpinion, AccessStep } from '../../ports/inbound/request-policy.js';

/** The next step of a request. @param user null: not authenticated, or the authenticator failed @param opinions on the first checks, in order */
export function nextAccessStep(user: string | null, checks: readonly AccessAttributes[], opinions: readonly AccessOpinion[]): AccessStep {
  if (user === null) return refused(401, 'Unauthorized');
  for (const [i, check] of checks.entries()) {
    const opinion = opinions[i];
    if (opinion === undefined) return { kind: 'ask', attributes: check };
    if (opinion === 'allow') return { kind: 'passed' };
    if (opinion === 'error') return refused(500, `Authorization error (user=${user}, verb=${check.verb}, resource=${check.resource}, subresource=${check.subresource})`);
  }
  const first = checks[0];
  if (first === undefined) return refused(403, 'Authorization error: could not determine attributes for request');
  const asked = checks.map(({ subresource }) => subresource).join(' ');
  return refused(403, `Forbidden (user=${user}, verb=${first.verb}, resource=${first.resource}, subresource(s)=[${asked}])\n`);
}

function refused(status: 401 | 403 | 500, body: string): AccessStep {
  return { kind: 'refused', status, contentType: 'text/plain; charset=utf-8', body };
}
