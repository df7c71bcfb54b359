// Authentication and authorization by the apiserver (TokenReview, SubjectAccessReview; spec/config-and-api.md, 9).
// Invariant: a token is only in the request's body, never in errors or logs.
import type { AccessAttributes } from '../../../ports/inbound/request-policy.js';
import type { ApiObject, ApiResource } from '../../../ports/model/api-object.js';
import type { PortOf } from '../../../ports/operation.js';
import type { ApiWriterOperations } from '../../../ports/outbound/apiserver.js';
import { PortError } from '../../../ports/port-error.js';

export interface UserInfo {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface AccessReviews {
  /** The token's user; null: not authenticated. Throws PortError if the review fails. */
  reviewToken(token: string, signal: AbortSignal): Promise<UserInfo | null>;
  /** Throws PortError when it can't be known. */
  reviewAccess(user: UserInfo, attributes: AccessAttributes, signal: AbortSignal): Promise<boolean>;
}

const tokenReviews: ApiResource = { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' };
const accessReviews: ApiResource = { group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews' };

export interface AnsweredReview {
  readonly of: 'authn' | 'authz';
  /** The apiserver answered with a review, whatever it says. */
  readonly worked: boolean;
  readonly tookMillis: number;
}

/** Both reviews through the agent's own client. */
export class ApiAccessReviews implements AccessReviews {
  constructor(
    private readonly writer: Pick<PortOf<ApiWriterOperations>, 'create'>,
    private readonly onReview: (review: AnsweredReview) => void = () => {},
  ) {}

  async reviewToken(token: string, signal: AbortSignal): Promise<UserInfo | null> {
    const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: { name: '' }, spec: { token } };
    const { status } = await this.review<{ readonly authenticated?: boolean; readonly user?: Partial<UserInfo>; readonly error?: string }>(tokenReviews, object, signal);
    if (status?.authenticated !== true) {
      if (status?.error !== undefined && status.error !== '') throw refusal('tokenreviews', 'unauthenticated', status.error.replaceAll(token, '<token>'));
      return null;
    }
    const { username = '', uid = '', groups = [], extra = {} } = status.user ?? {};
    return { username, uid, groups, extra };
  }

  async reviewAccess(user: UserInfo, { verb, apiGroup, apiVersion, resource, subresource, name }: AccessAttributes, signal: AbortSignal): Promise<boolean> {
    const resourceAttributes = { verb, group: apiGroup, version: apiVersion, resource, subresource, name };
    const { username, uid, groups, extra } = user;
    const spec = { user: username, groups, resourceAttributes, ...(uid === '' ? {} : { uid }), ...(Object.keys(extra).length === 0 ? {} : { extra }) };
    const object = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: { name: '' }, spec };
    const { status } = await this.review<{ readonly allowed?: boolean; readonly denied?: boolean; readonly evaluationError?: string }>(accessReviews, object, signal);
    if (status === undefined) throw refusal('subjectaccessreviews', 'internal', 'the answer has no status');
    if (status.allowed === true && status.denied === true) throw refusal('subjectaccessreviews', 'internal', 'the answer both allows and denies');
    return status.allowed === true;
  }

  private async review<Status>(resource: ApiResource, object: ApiObject, signal: AbortSignal): Promise<{ readonly status?: Status }> {
    const { metadata: _metadata, ...rest } = object;
    const request = { resource, namespace: null, name: null, subresource: null, client: 'main' as const, object: { ...rest, metadata: {} } as unknown as ApiObject };
    const began = performance.now();
    const answered = (worked: boolean) => this.onReview({ of: resource === tokenReviews ? 'authn' : 'authz', worked, tookMillis: performance.now() - began });
    try {
      const review = await this.writer.create(request, { signal, timeoutMicros: reviewTimeoutMicros });
      answered(true);
      return review as { readonly status?: Status };
    } catch (error) {
      answered(false);
      throw error;
    }
  }
}

const reviewTimeoutMicros = 10_000_000;

function refusal(subject: string, kind: 'unauthenticated' | 'internal', message: string): PortError {
  return new PortError({ kind, message, operation: 'apiWriter.create', subject });
}
