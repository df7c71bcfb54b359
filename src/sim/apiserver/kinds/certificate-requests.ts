// Certificate requests: the server sets the requester; approvals and certificates have writers of their own. Also trust bundles.

import { invalid, type Problems, required } from '../../../domain/pod-sources/validation/field-problem.js';
import { base64Decode } from '../../../domain/values/base64.js';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import { utf8Decode } from '../../../domain/values/utf8.js';
import type { JsonDraft } from '../api-request.js';
import type { KindRules, ObjectDraft } from './kind-rules.js';

const minSeconds = 600;

/** By its first line; what is inside is its signer's business. */
export function isCertificateRequest(text: string): boolean {
  return /^-----BEGIN (NEW )?CERTIFICATE REQUEST-----/.test(text);
}

export const certificateRequestRules: KindRules = {
  begin(draft, { user }) {
    const spec = (draft.spec ?? {}) as JsonDraft;
    const extra = user.extra === undefined ? {} : { extra: user.extra };
    draft.spec = { ...spec, username: user.name, ...(user.uid === undefined ? {} : { uid: user.uid }), groups: [...user.groups], ...extra };
    delete draft.status;
  },
  check(problems, object) {
    const {
      request = '',
      signerName = '',
      usages = [],
      expirationSeconds,
    } = (object.spec ?? {}) as {
      request?: string;
      signerName?: string;
      usages?: readonly string[];
      expirationSeconds?: number;
    };
    if (!isCertificateRequest(utf8Decode(base64Decode(request) ?? new Uint8Array()))) {
      invalid(problems, 'spec.request', request.slice(0, 40), 'PEM block type must be CERTIFICATE REQUEST');
    }
    if (!/^[a-z0-9.-]+\/[A-Za-z0-9.:/-]+$/.test(signerName))
      invalid(problems, 'spec.signerName', signerName, 'must be a fully qualified domain and path of the form "example.com/signer-name"');
    if (usages.length === 0) required(problems, 'spec.usages');
    if (expirationSeconds !== undefined && expirationSeconds < minSeconds)
      invalid(problems, 'spec.expirationSeconds', expirationSeconds, 'may not specify a duration less than 600 seconds (10 minutes)');
  },
  change(draft, old, { subresource, now }) {
    draft.spec = old.spec;
    const before = (old.status ?? {}) as JsonDraft;
    const given = (draft.status ?? {}) as JsonDraft;
    if (subresource === null) draft.status = before;
    else if (subresource === 'approval') draft.status = { ...before, ...(given.conditions === undefined ? {} : { conditions: given.conditions }) };
    else draft.status = given;
    stampConditions(draft, formatRfc3339(instantOf(now)));
    if (Object.keys(draft.status as JsonDraft).length === 0) delete draft.status;
  },
  checkChange(problems: Problems, object, old) {
    const types = (from: JsonDraft) => ((from.conditions ?? []) as { readonly type: string }[]).map(({ type }) => type);
    const after = types((object.status ?? {}) as JsonDraft);
    for (const type of types((old.status ?? {}) as JsonDraft)) {
      if ((type === 'Approved' || type === 'Denied') && !after.includes(type)) {
        problems.push({ type: 'FieldValueForbidden', field: 'status.conditions', message: `status.conditions: Forbidden: updates may not remove a condition of type "${type}"` });
      }
    }
  },
};

function stampConditions(draft: ObjectDraft, time: string): void {
  for (const condition of ((draft.status as JsonDraft | undefined)?.conditions ?? []) as JsonDraft[]) {
    if (Object.isFrozen(condition)) continue;
    condition.lastUpdateTime ??= time;
    condition.lastTransitionTime ??= time;
  }
}

/** Bundles of a signer bear its name. */
export const trustBundleRules: KindRules = {
  check(problems, { metadata: { name }, spec }) {
    const { signerName = '' } = (spec ?? {}) as { readonly signerName?: string };
    const prefix = `${signerName.replaceAll('/', ':')}:`;
    if (signerName === '' && name.includes(':')) invalid(problems, 'metadata.name', name, 'ClusterTrustBundle without signer name must not have ":" in its name');
    if (signerName !== '' && !name.startsWith(prefix)) {
      invalid(problems, 'metadata.name', name, `ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`);
    }
  },
};
