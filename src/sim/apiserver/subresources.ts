// Subresources other than status: binding, eviction, resize, ephemeral containers, token, approval.

import { type FieldProblem, invalid } from '../../domain/pod-sources/validation/field-problem.js';
import { instantOf } from '../../domain/values/instant.js';
import { formatRfc3339, microsPerSecond } from '../../domain/values/time.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodCondition } from '../../ports/model/pod-status.js';
import { nodeOf } from './access/access-request.js';
import { tokenAudiences } from './access/token-audiences.js';
import { type TokenIssuer, tokenAudience } from './access/tokens.js';
import type { FieldValidation, JsonObject } from './api-request.js';
import { badRequest, conflict, forbidden, invalidObject, notFound, storedUidProblem } from './api-status.js';
import type { IdSource } from './id-source.js';
import type { ObjectDraft, WriteContext } from './kinds/kind-rules.js';
import { checkPreconditions, deleteObject } from './object-deleter.js';
import { objectKey, type StoredObject } from './object-store.js';
import { readBody } from './object-writer.js';
import { resourceTypeOf } from './resource-types.js';
import { sameJson } from './same-json.js';

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;
const defaultTokenSeconds = 3600;

export const success: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/** POST pods/x/binding: the scheduler's word. */
export function bindPod(pod: StoredObject, body: unknown, validation: FieldValidation, context: WriteContext): JsonObject {
  const type = resourceTypeOf('pods');
  const binding = readBody(body, type, 'Binding', validation, []);
  const target = (binding.target ?? {}) as { readonly kind?: string; readonly name?: string };
  const bindings = { ...type, plural: 'pods/binding' };
  const problems: FieldProblem[] = [];
  if (target.kind !== undefined && target.kind !== 'Node') invalid(problems, 'target.kind', target.kind, 'must be "Node" or empty');
  if ((target.name ?? '') === '') problems.push({ type: 'FieldValueRequired', field: 'target.name', message: 'target.name: Required value' });
  if (problems.length > 0) throw invalidObject({ group: '' }, 'Binding', pod.metadata.name, problems);
  const spec = pod.spec as Pod['spec'];
  const { name, namespace, deletionTimestamp, uid } = pod.metadata;
  if (binding.metadata.uid !== undefined && binding.metadata.uid !== uid) throw conflict(bindings, name, storedUidProblem(type, pod, binding.metadata.uid));
  if (deletionTimestamp !== undefined) throw conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  if ((spec.nodeName ?? '') !== '') throw conflict(bindings, name, `pod ${name} is already assigned to node "${spec.nodeName}"`);
  if ((spec.schedulingGates ?? []).length > 0) throw conflict(bindings, name, `pod ${name} has non-empty .spec.schedulingGates`);
  const bound = withCondition(pod, { type: 'PodScheduled', status: 'True' }, context);
  context.store.put('pods', objectKey(namespace, name), { ...bound, spec: { ...spec, nodeName: target.name } });
  return success;
}

/** In the place of the condition of that type, or after the others; the time of the last change is kept where nothing changes. */
function withCondition(pod: StoredObject, condition: PodCondition, { now }: WriteContext): StoredObject {
  const status = (pod.status ?? {}) as { readonly conditions?: readonly PodCondition[] };
  const conditions = [...(status.conditions ?? [])];
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[at];
  const isSame = before?.status === condition.status && before.lastTransitionTime !== undefined;
  const changed = { ...condition, lastTransitionTime: isSame ? before.lastTransitionTime : formatRfc3339(instantOf(now)) };
  conditions.splice(at < 0 ? conditions.length : at, at < 0 ? 0 : 1, changed);
  return { ...pod, status: { ...status, conditions } };
}

/** POST pods/x/eviction: a deletion, that disruption budgets could delay if there were any. */
export function evictPod(pod: StoredObject, body: unknown, validation: FieldValidation, context: WriteContext): JsonObject {
  const eviction = readBody(body ?? {}, { ...resourceTypeOf('pods'), group: 'policy' }, 'Eviction', validation, []);
  const options = eviction.deleteOptions as
    | { readonly gracePeriodSeconds?: number; readonly dryRun?: readonly string[]; readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } }
    | undefined;
  const { uid = null, resourceVersion = null } = options?.preconditions ?? {};
  const deletion = { gracePeriodSeconds: options?.gracePeriodSeconds ?? null, uid, resourceVersion, dryRun: options?.dryRun?.includes('All') === true };
  if (deletion.dryRun) {
    deleteObject(pod, deletion, context);
    return success;
  }
  checkPreconditions(pod, deletion, context);
  const evicted = withCondition(pod, { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' }, context);
  const stored = sameJson(evicted, pod) ? pod : context.store.put('pods', objectKey(pod.metadata.namespace, pod.metadata.name), evicted);
  // The condition has given it another version.
  deleteObject(stored, { ...deletion, resourceVersion: null }, context);
  return success;
}

interface TokenSpec {
  readonly audiences?: string[];
  readonly expirationSeconds?: number;
  readonly boundObjectRef?: { readonly kind?: string; readonly apiVersion?: string; readonly name?: string; readonly uid?: string };
}

/** POST serviceaccounts/x/token. */
export function requestToken(account: StoredObject, body: unknown, validation: FieldValidation, context: WriteContext, issuer: TokenIssuer, ids: IdSource): ObjectDraft {
  const type = { ...resourceTypeOf('serviceaccounts'), group: 'authentication.k8s.io' };
  const request = readBody(body, type, 'TokenRequest', validation, []);
  const spec = (request.spec ?? {}) as TokenSpec;
  checkNodeMayAsk(spec, account, context);
  const seconds = spec.expirationSeconds ?? defaultTokenSeconds;
  const problems: FieldProblem[] = [];
  if (seconds < minTokenSeconds) invalid(problems, 'spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > maxTokenSeconds) invalid(problems, 'spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds');
  if (problems.length > 0) throw invalidObject(type, 'TokenRequest', '', problems);
  const pod = boundPod(spec.boundObjectRef, account, context);
  const nodeName = (pod?.spec as Pod['spec'] | undefined)?.nodeName;
  const node = nodeName === undefined ? null : context.store.get('nodes', objectKey(null, nodeName));
  const audiences = spec.audiences ?? [tokenAudience];
  const token = issuer.issue({ account, audiences, expirationSeconds: seconds, pod, node, id: ids.uid() }, context.now);
  const expirationTimestamp = formatRfc3339(instantOf(context.now + seconds * microsPerSecond));
  const { name, namespace, uid = '' } = account.metadata;
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, creationTimestamp: formatRfc3339(instantOf(context.now)) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp },
  };
}

function otherUid(uid: string | undefined): string {
  return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
}

function boundPod(reference: TokenSpec['boundObjectRef'], account: StoredObject, { store }: WriteContext): StoredObject | null {
  if (reference === undefined) return null;
  const pods = resourceTypeOf('pods');
  if (reference.kind !== 'Pod') throw badRequest(`cannot bind token to object of type ${reference.kind}; this server binds tokens to pods`);
  const pod = store.get('pods', objectKey(account.metadata.namespace, reference.name ?? ''));
  if (pod === null) throw notFound(pods, reference.name ?? '');
  const { uid, name } = pod.metadata;
  if (reference.uid !== undefined && reference.uid !== uid) throw conflict(pods, name, otherUid(reference.uid));
  const used = (pod.spec as Pod['spec']).serviceAccountName;
  if (used !== account.metadata.name) throw badRequest(`cannot bind token for serviceaccount "${account.metadata.name}" to pod running with different serviceaccount name.`);
  return pod;
}

/** The NodeRestriction rules of tokens: for a pod of its own, and for whom that pod's volumes name. They come before all others. */
function checkNodeMayAsk({ audiences = [], boundObjectRef: bound }: TokenSpec, account: StoredObject, { user, store, settings }: WriteContext): void {
  const node = nodeOf(user);
  if (node === null || !settings.authorization) return;
  const refuse = (why: string) => forbidden(resourceTypeOf('serviceaccounts'), account.metadata.name, why);
  if (bound?.kind !== 'Pod' || (bound.name ?? '') === '') throw refuse('node requested token not bound to a pod');
  if ((bound.uid ?? '') === '') throw refuse('node requested token with a pod binding without a uid');
  const pod = store.get('pods', objectKey(account.metadata.namespace, bound.name ?? '')) as (StoredObject & Pick<Pod, 'spec'>) | null;
  if (pod === null) throw notFound(resourceTypeOf('pods'), bound.name ?? '');
  if (bound.uid !== pod.metadata.uid) throw refuse(otherUid(bound.uid));
  if (pod.spec.nodeName !== node) throw refuse('node requested token bound to a pod scheduled on a different node');
  if (audiences.length > 1) throw refuse('node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  if (tokenAudiences(pod as unknown as Pod, store).includes(audience) || settings.nodeTokenAudiences.includes(audience)) return;
  throw refuse(`audience ${JSON.stringify(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`);
}
