// Requests for pods' certificates: the spec is immutable, and the status is set once and completely.

import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { forbidden, invalid, type Problems, required } from '../../../domain/pod-sources/validation/field-problem.js';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339, parseRfc3339 } from '../../../domain/values/time.js';
import type { JsonDraft } from '../api-request.js';
import type { StoredObject } from '../object-store.js';
import type { KindRules, ObjectDraft } from './kind-rules.js';

const minSeconds = 3_600;
const maxSeconds = 7_862_400;
const dayInSeconds = 86_400;
const verdicts: readonly string[] = ['Issued', 'Denied', 'Failed'];
const issuedParts = ['certificateChain', 'notBefore', 'beginRefreshAt', 'notAfter'] as const;

interface Condition {
  readonly type: string;
  readonly status: string;
}

export const podCertificateRequestRules: KindRules = {
  complete(draft) {
    const spec = draft.spec as JsonDraft | undefined;
    if (spec !== undefined && !Object.isFrozen(spec)) spec.maxExpirationSeconds ??= dayInSeconds;
  },
  begin(draft) {
    delete draft.status;
  },
  check(problems, object) {
    const spec = (object.spec ?? {}) as JsonDraft;
    const signerName = String(spec.signerName ?? '');
    if (signerName !== '' && !/^[a-z0-9.-]+\/[A-Za-z0-9.:/-]+$/.test(signerName)) {
      invalid(problems, 'spec.signerName', signerName, 'must be a fully qualified domain and path of the form "example.com/signer-name"');
    }
    checkSeconds(problems, signerName, spec.maxExpirationSeconds as number);
    checkStatus(problems, (object.status ?? {}) as JsonDraft);
  },
  change(draft, old, { subresource, now }) {
    draft.spec = old.spec;
    if (subresource === null) draft.status = old.status ?? {};
    const status = (draft.status ?? {}) as JsonDraft;
    for (const condition of (status.conditions ?? []) as JsonDraft[]) if (!Object.isFrozen(condition)) condition.lastTransitionTime ??= formatRfc3339(instantOf(now));
    if (Object.keys(status).length === 0) delete draft.status;
  },
  checkChange(problems, object, old) {
    const before = verdictOf(old);
    if (before !== null && canonicalJson(object.status ?? {}) !== canonicalJson(old.status ?? {})) {
      forbidden(problems, 'status', `the request is ${before.toLowerCase()} already, its status is immutable`);
    }
  },
};

function checkSeconds(problems: Problems, signerName: string, seconds: number): void {
  const most = signerName.startsWith('kubernetes.io/') ? dayInSeconds : maxSeconds;
  if (seconds < minSeconds || seconds > most) invalid(problems, 'spec.maxExpirationSeconds', seconds, `must be in the range [${minSeconds}, ${most}]`);
}

function checkStatus(problems: Problems, status: JsonDraft): void {
  const conditions = (status.conditions ?? []) as readonly Condition[];
  for (const [i, { type, status: value }] of conditions.entries()) {
    if (!verdicts.includes(type)) invalid(problems, `status.conditions[${i}].type`, type, 'must be one of Issued, Denied, Failed');
    else if (value !== 'True') invalid(problems, `status.conditions[${i}].status`, value, 'must be True');
  }
  if (conditions.length > 1) invalid(problems, 'status.conditions', conditions.length, 'there may be one condition at most');
  const isIssued = conditions.some(({ type }) => type === 'Issued');
  for (const part of issuedParts) {
    const isThere = (status[part] ?? '') !== '';
    if (isIssued && !isThere) required(problems, `status.${part}`);
    else if (!isIssued && isThere) forbidden(problems, `status.${part}`, 'may only be set when the request is issued');
  }
  if (isIssued) checkTimes(problems, status);
}

function checkTimes(problems: Problems, status: JsonDraft): void {
  const [notBefore, beginRefreshAt, notAfter] = issuedParts.slice(1).map((part) => parseRfc3339(String(status[part] ?? '')));
  if (notBefore == null || beginRefreshAt == null || notAfter == null) return;
  if (beginRefreshAt < notBefore || beginRefreshAt > notAfter) invalid(problems, 'status.beginRefreshAt', status.beginRefreshAt, 'must be between notBefore and notAfter');
  if (!String(status.certificateChain).includes('-----BEGIN CERTIFICATE-----')) invalid(problems, 'status.certificateChain', '', 'must consist of PEM blocks of type CERTIFICATE');
}

/** null: not decided yet. */
export function verdictOf({ status }: StoredObject | ObjectDraft): string | null {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions.find(({ type }) => verdicts.includes(type))?.type ?? null;
}
