// Subresources other than status: binding, eviction, resize, ephemeral containers, token, approval.

import { type FieldProblem, invalid } from '../../domain/pod-sources/validation/field-problem.js';
import { instantOf } from '../../domain/values/instant.js';
import { formatRfc3339, microsPerSecond } from '../../domain/values/time.js';
import type { Pod } from '../../ports/model/pod.js';
import { nodeOf } from './access/access-request.js';
import { type TokenIssuer, tokenAudience } from './access/tokens.js';
import type { FieldValidation, JsonDraft, JsonObject } from './api-request.js';
import { badRequest, conflict, forbidden, invalidObject, notFound } from './api-status.js';
import type { IdSource } from './id-source.js';
import type { ObjectDraft, WriteContext } from './kinds/kind-rules.js';
import { deleteObject } from './object-deleter.js';
import { objectKey, type StoredObject } from './object-store.js';
import { readBody } from './object-writer.js';
import { resourceTypeOf } from './resource-types.js';

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;
const defaultTokenSeconds = 3600;

export const success: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/** POST pods/x/binding: the scheduler's word. */
export function bindPod(pod: StoredObject, body: unknown, validation: FieldValidation, context: WriteContext): JsonObject {
  const type = resourceTypeOf('pods');
  const binding = readBody(body, type, 'Binding', validation, []);
  const target = (binding.target ?? {}) as { readonly kind?: string; readonly name?: string };
  const problems: FieldProblem[] = [];
  if (target.kind !== undefined && target.kind !== 'Node') invalid(problems, 'target.kind', target.kind, 'must be "Node" or empty');
  if ((target.name ?? '') === '') problems.push({ type: 'FieldValueRequired', field: 'target.name', message: 'target.name: Required value' });
  if (problems.length > 0) throw invalidObject({ group: '' }, 'Binding', pod.metadata.name, problems);
  const spec = pod.spec as Pod['spec'];
  const { name, namespace, deletionTimestamp, uid } = pod.metadata;
  if (binding.metadata.uid !== undefined && binding.metadata.uid !== uid)
    throw conflict(type, name, `Precondition failed: UID in precondition: ${binding.metadata.uid}, UID in object meta: ${uid}`);
  if (deletionTimestamp !== undefined) throw conflict(type, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  if ((spec.nodeName ?? '') !== '') throw conflict(type, name, `pod ${name} is already assigned to node "${spec.nodeName}"`);
  if ((spec.schedulingGates ?? []).length > 0) throw conflict(type, name, `pod ${name} has non-empty .spec.schedulingGates`);
  const status = (pod.status ?? {}) as { readonly conditions?: readonly { readonly type: string }[] };
  const scheduled = {
    type: 'PodScheduled',
    observedGeneration: pod.metadata.generation ?? 1,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: formatRfc3339(instantOf(context.now)),
  };
  const conditions = [...(status.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled'), withoutNull(scheduled)];
  context.store.put('pods', objectKey(namespace, name), { ...pod, spec: { ...spec, nodeName: target.name }, status: { ...status, conditions } });
  return success;
}

function withoutNull(value: JsonDraft): JsonDraft {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

/** POST pods/x/eviction: a deletion, that disruption budgets could delay if there were any. */
export function evictPod(pod: StoredObject, body: unknown, validation: FieldValidation, context: WriteContext): JsonObject {
  const eviction = readBody(body ?? {}, { ...resourceTypeOf('pods'), group: 'policy' }, 'Eviction', validation, []);
  const options = eviction.deleteOptions as
    | { readonly gracePeriodSeconds?: number; readonly dryRun?: readonly string[]; readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } }
    | undefined;
  const { uid = null, resourceVersion = null } = options?.preconditions ?? {};
  deleteObject(pod, { gracePeriodSeconds: options?.gracePeriodSeconds ?? null, uid, resourceVersion, dryRun: options?.dryRun?.includes('All') === true }, context);
  return success;
}

/** POST serviceaccounts/x/token. */
export function requestToken(account: StoredObject, body: unknown, validation: FieldValidation, context: WriteContext, issuer: TokenIssuer, ids: IdSource): ObjectDraft {
  const type = { ...resourceTypeOf('serviceaccounts'), group: 'authentication.k8s.io' };
  const request = readBody(body, type, 'TokenRequest', validation, []);
  const spec = (request.spec ?? {}) as { audiences?: string[]; expirationSeconds?: number; boundObjectRef?: { kind?: string; apiVersion?: string; name?: string; uid?: string } };
  const seconds = spec.expirationSeconds ?? defaultTokenSeconds;
  const problems: FieldProblem[] = [];
  if (seconds < minTokenSeconds) invalid(problems, 'spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > maxTokenSeconds) invalid(problems, 'spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds');
  if (problems.length > 0) throw invalidObject(type, 'TokenRequest', account.metadata.name, problems);
  const pod = boundPod(spec.boundObjectRef, account, context);
  const nodeName = (pod?.spec as Pod['spec'] | undefined)?.nodeName;
  const node = nodeName === undefined ? null : context.store.get('nodes', objectKey(null, nodeName));
  checkNodeMayAsk(pod, spec.boundObjectRef?.uid, nodeName ?? null, account, context);
  const audiences = spec.audiences ?? [tokenAudience];
  const token = issuer.issue({ account, audiences, expirationSeconds: seconds, pod, node, id: ids.uid() }, context.now);
  const expirationTimestamp = formatRfc3339(instantOf(context.now + seconds * microsPerSecond));
  const { name, namespace } = account.metadata;
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid: ids.uid(), creationTimestamp: formatRfc3339(instantOf(context.now)) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp },
  };
}

function boundPod(reference: { kind?: string; name?: string; uid?: string } | undefined, account: StoredObject, { store }: WriteContext): StoredObject | null {
  if (reference === undefined) return null;
  const pods = resourceTypeOf('pods');
  if (reference.kind !== 'Pod') throw badRequest(`cannot bind token to object of type ${reference.kind}; this server binds tokens to pods`);
  const pod = store.get('pods', objectKey(account.metadata.namespace, reference.name ?? ''));
  if (pod === null) throw notFound(pods, reference.name ?? '');
  const { uid, name } = pod.metadata;
  if (reference.uid !== undefined && reference.uid !== uid)
    throw conflict(pods, name, `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`);
  const used = (pod.spec as Pod['spec']).serviceAccountName;
  if (used !== account.metadata.name) throw badRequest(`cannot bind token for serviceaccount "${account.metadata.name}" to pod running with different serviceaccount name.`);
  return pod;
}

/** The NodeRestriction rules of tokens. */
function checkNodeMayAsk(pod: StoredObject | null, uid: string | undefined, nodeName: string | null, account: StoredObject, { user }: WriteContext): void {
  const node = nodeOf(user);
  if (node === null) return;
  const refuse = (why: string) => forbidden(resourceTypeOf('serviceaccounts'), account.metadata.name, why);
  if (pod === null) throw refuse('node requested token not bound to a pod');
  if (uid === undefined) throw refuse('node requested token with a pod binding without a uid');
  if (nodeName !== node) throw refuse('node requested token bound to a pod scheduled on a different node');
}
