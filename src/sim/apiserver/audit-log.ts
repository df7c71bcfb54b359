// The audit log: the newest requests to the server with their answers, for tests and diagnosis.
import type { Micros } from '../../ports/micros.js';
import type { ApiTarget, ApiUser } from './api-request.js';
import { resourceKey } from './resource-types.js';

export interface AuditEntry {
  readonly at: Micros;
  readonly user: string;
  readonly verb: string;
  /** With the subresource: `pods/status`. */
  readonly resource: string;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly code: number;
  /** Of a refusal; null: none. */
  readonly message: string | null;
}

export type AuditedAnswer = Pick<AuditEntry, 'code' | 'message'>;
export const auditedSuccess: AuditedAnswer = { code: 200, message: null };

export class AuditLog {
  constructor(
    private readonly kept: AuditEntry[],
    private readonly limit: number,
  ) {}

  /** Oldest first. */
  get entries(): readonly AuditEntry[] {
    return this.kept.slice(-this.limit);
  }

  add({ user, verb, resource, subresource, namespace, name }: ApiTarget & { readonly user: ApiUser; readonly verb: string }, { code, message }: AuditedAnswer, at: Micros): void {
    const what = subresource === null ? resourceKey(resource) : `${resourceKey(resource)}/${subresource}`;
    this.kept.push({ at, user: user.name, verb, resource: what, namespace, name, code, message });
    // Half of it at once, so that a request doesn't cost a move of the whole list.
    if (this.kept.length > 2 * this.limit) this.kept.splice(0, this.kept.length - this.limit);
  }
}
