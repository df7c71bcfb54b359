// A request as an authorizer sees it, and the authorizer's decision.
import type { ApiResource } from '../../../ports/model/api-object.js';
import type { ApiUser } from '../api-request.js';

export interface AccessRequest {
  readonly user: ApiUser;
  /** get, list, watch, create, update, patch, delete, deletecollection, or another word of a review. */
  readonly verb: string;
  readonly resource: Omit<ApiResource, 'version'>;
  readonly subresource: string | null;
  readonly namespace: string | null;
  readonly name: string | null;
  /** `path=value` pairs that a list or watch is limited to. */
  readonly fields: Readonly<Record<string, string>>;
}

/** `reason` goes into the refusal; '' says nothing more. */
export type AccessDecision = { readonly allowed: boolean; readonly reason: string };

export const yes: AccessDecision = { allowed: true, reason: '' };
export const no: AccessDecision = { allowed: false, reason: '' };

const nodePrefix = 'system:node:';

/** The node that the user is; null: it is none. */
export function nodeOf(user: ApiUser): string | null {
  return user.groups.includes('system:nodes') && user.name.startsWith(nodePrefix) ? user.name.slice(nodePrefix.length) : null;
}
