// Questions that a server asks the agent about each request to the kubelet's port: what the request reaches, and which permission it requires.

export interface AccessAttributes {
  /** '' where the method has no verb: then only a rule for all verbs matches. */
  readonly verb: string;
  readonly apiGroup: '';
  readonly apiVersion: 'v1';
  readonly resource: 'nodes';
  readonly subresource: string;
  /** The node's name. */
  readonly name: string;
}

/** The authorizer's verdict on one check. `no-opinion` and `deny` both lead to the next check. */
export type AccessOpinion = 'allow' | 'deny' | 'no-opinion' | 'error';

export type AccessStep =
  | { readonly kind: 'ask'; readonly attributes: AccessAttributes }
  | { readonly kind: 'passed' }
  | { readonly kind: 'refused'; readonly status: 401 | 403 | 500; readonly contentType: string; readonly body: string };

export type PatternMatch = { readonly kind: 'matched'; readonly pattern: string } | { readonly kind: 'redirect'; readonly location: string } | { readonly kind: 'notFound' };

export interface RequestPolicy {
  /** The pattern that serves a request. @param path percent-encoded, without query @param query without `?`; kept by redirects */
  match(method: string, path: string, query: string): PatternMatch;
  /** The checks for a request, in order; the first that is allowed lets it through. @param path decoded, but not cleaned, without query */
  checks(method: string, path: string): readonly AccessAttributes[];
  /** The next step of a request. @param user null: not authenticated @param opinions on the first checks, in order */
  next(user: string | null, checks: readonly AccessAttributes[], opinions: readonly AccessOpinion[]): AccessStep;
}
