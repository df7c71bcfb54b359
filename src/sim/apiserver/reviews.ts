// Review requests: TokenReview, SubjectAccessReview, SelfSubjectReview and their kin. They are not stored.
import { type FieldProblem, invalid } from '../../domain/pod-sources/validation/field-problem.js';
import { instantOf } from '../../domain/values/instant.js';
import { formatRfc3339 } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { AccessRequest } from './access/access-request.js';
import type { Authorizer } from './access/authorizer.js';
import { tokenAudience } from './access/tokens.js';
import type { ApiUser } from './api-request.js';
import { badRequest, invalidObject } from './api-status.js';
import type { ObjectDraft } from './kinds/kind-rules.js';
import type { ResourceType } from './resource-types.js';

export interface ReviewContext {
  readonly now: Micros;
  readonly user: ApiUser;
  readonly type: ResourceType;
  readonly authorizer: Authorizer;
  /** A text: why the token is none. */
  readonly authenticate: (token: string, audiences: readonly string[]) => { readonly user: ApiUser; readonly audiences: readonly string[] } | string;
}

interface Attributes {
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The object as it came, with its status. */
export function review(draft: ObjectDraft, context: ReviewContext): ObjectDraft {
  // Of all reviews this one has a time.
  const metadata = context.type.kind === 'SelfSubjectReview' ? { ...draft.metadata, creationTimestamp: formatRfc3339(instantOf(context.now)) } : draft.metadata;
  return { ...draft, metadata, status: statusOf(draft, context) };
}

function statusOf(draft: ObjectDraft, context: ReviewContext): object {
  switch (context.type.kind) {
    case 'TokenReview':
      return tokenStatus((draft.spec ?? {}) as { token?: string; audiences?: string[] }, context);
    case 'SubjectAccessReview':
    case 'SelfSubjectAccessReview':
      return accessStatus(draft, context);
    case 'SelfSubjectReview':
      return { userInfo: userInfo(context.user) };
    default:
      throw new Error(`no review ${context.type.kind}`);
  }
}

function userInfo({ name, uid, groups, extra }: ApiUser): object {
  return { username: name, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) };
}

function tokenStatus({ token = '', audiences = [tokenAudience] }: { token?: string; audiences?: string[] }, { authenticate }: ReviewContext): object {
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const found = authenticate(token, audiences);
  if (typeof found === 'string') return { user: {}, error: found };
  return { authenticated: true, user: userInfo(found.user), audiences: found.audiences };
}

function accessStatus(draft: ObjectDraft, { user, type, authorizer }: ReviewContext): object {
  const spec = (draft.spec ?? {}) as {
    resourceAttributes?: Attributes;
    nonResourceAttributes?: { path?: string; verb?: string };
    user?: string;
    groups?: string[];
    uid?: string;
  };
  const problems: FieldProblem[] = [];
  if ((spec.resourceAttributes === undefined) === (spec.nonResourceAttributes === undefined)) {
    invalid(problems, 'spec.resourceAttributes', spec.nonResourceAttributes ?? null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified');
  }
  const isOther = type.kind === 'SubjectAccessReview';
  if (isOther && (spec.user ?? '') === '' && (spec.groups ?? []).length === 0) invalid(problems, 'spec.user', spec.user ?? '', 'at least one of user or group must be specified');
  // The real server has forgotten the kind by then.
  if (problems.length > 0) throw invalidObject(type, '', '', problems);
  const subject = isOther ? { name: spec.user ?? '', groups: spec.groups ?? [] } : user;
  if (spec.nonResourceAttributes !== undefined) return { allowed: authorizer.decidePath(subject, spec.nonResourceAttributes.path ?? '').allowed };
  const { allowed, reason } = authorizer.decide(requestOf(subject, spec.resourceAttributes ?? {}));
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

function requestOf(user: ApiUser, { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' }: Attributes): AccessRequest {
  const text = (value: string): string | null => (value === '' ? null : value);
  return { user, verb, resource: { group, plural: resource }, subresource: text(subresource), namespace: text(namespace), name: text(name), fields: {} };
}
