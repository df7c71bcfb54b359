// Writes of objects: strict decoding, defaults, validation, storage. Rules of single kinds are in `kinds`.
//
// Invariants: no object is stored that the schema or the kind's rules refuse; writes of the spec don't touch the status and vice
// versa; a write without a change is no write and gets no new version.

import { type FieldProblem, invalid, type Problems, required } from '../../domain/pod-sources/validation/field-problem.js';
import { validateMetadata } from '../../domain/pod-sources/validation/validate-metadata.js';
import { allStructs } from '../../domain/values/api-schema/api-schema.js';
import { instantOf } from '../../domain/values/instant.js';
import { formatRfc3339 } from '../../domain/values/time.js';
import { utf8Decode, utf8Encode } from '../../domain/values/utf8.js';
import type { ObjectMeta } from '../../ports/model/object-meta.js';
import type { FieldValidation, JsonDraft } from './api-request.js';
import { type ApiRefusal, alreadyExists, badRequest, conflict, invalidObject, modifiedMeanwhile, refusal, storedUidProblem } from './api-status.js';
import type { IdSource } from './id-source.js';
import { rulesOf } from './kinds/all-kinds.js';
import type { ObjectDraft, WriteContext } from './kinds/kind-rules.js';
import { objectKey, type StoredObject } from './object-store.js';
import { apiVersionOf, type ResourceType, resourceKey } from './resource-types.js';
import { sameJson } from './same-json.js';
import { decodeStruct, isObject, WrongType } from './schema/decode.js';
import { checkRequiredFields } from './schema/required-fields.js';

export interface UpdateOptions {
  readonly dryRun: boolean;
  /** What the client sent was a change, not the whole object. */
  readonly isPatch: boolean;
}

/** Decodes a whole object of the kind; `warnings` gets dropped fields, unless they are refused. */
export function readBody(body: unknown, type: ResourceType, struct: string, validation: FieldValidation, warnings: string[]): ObjectDraft {
  if (!isObject(body)) throw badRequest(unrecognized(struct, body === undefined ? 'unexpected end of JSON input' : notAnObject(body), JSON.stringify(body) ?? ''));
  const problem = (text: string) => badRequest(`${struct} in version "${type.version}" cannot be handled as a ${struct}: ${text}`);
  if (body.kind !== undefined && body.kind !== struct) throw badRequest(otherKind(String(body.kind), type, struct));
  return readObject(body, type, struct, validation, warnings, problem);
}

const shownBytes = 30;

/** The server's error for a body that is not an object. @param text the body */
export function unrecognized(struct: string, why: string, text: string): string {
  const bytes = utf8Encode(text);
  const shown = bytes.slice(0, shownBytes);
  const start = text.startsWith('{') ? utf8Decode(shown) : [...shown].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const quoted = bytes.length === 0 ? '<empty>' : `${start}${bytes.length > shownBytes ? ' ...' : ''}`;
  return `the object provided is unrecognized (must be of type ${struct}): couldn't get version/kind; json parse error: ${why} (${quoted})`;
}

function notAnObject(body: unknown): string {
  const type = Array.isArray(body) ? 'array' : typeof body === 'boolean' ? 'bool' : typeof body;
  return `json: cannot unmarshal ${type} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
}

/** Go names the package of a type: the version outside, the group inside. */
function otherKind(kind: string, { group, version }: ResourceType, struct: string): string {
  const inside = group === '' ? 'core' : group.split('.')[0];
  const why = allStructs().has(kind)
    ? `converting (${version}.${kind}) to (${inside}.${struct}): unknown conversion`
    : `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(version)} in scheme "pkg/api/legacyscheme/scheme.go:30"`;
  return `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${struct}: ${why}`;
}

/** @param problem the refusal for a text with the error and its field */
export function readObject(
  body: JsonDraft,
  type: ResourceType,
  struct: string,
  validation: FieldValidation,
  warnings: string[],
  problem: (text: string) => ApiRefusal,
): ObjectDraft {
  const unknown: string[] = [];
  try {
    const { metadata, kind: _kind, apiVersion: _version, ...rest } = decodeStruct(body, struct, unknown);
    if (unknown.length > 0 && validation === 'Strict') throw problem(`strict decoding error: ${unknown.map((field) => `unknown field "${field}"`).join(', ')}`);
    if (validation === 'Warn') warnings.push(...unknown.map((field) => `unknown field "${field}"`));
    // The fields that every object has come first, independent of the client's order.
    return { kind: struct, apiVersion: apiVersionOf(type), metadata: (isObject(metadata) ? metadata : {}) as unknown as ObjectDraft['metadata'], ...rest };
  } catch (error) {
    if (error instanceof WrongType) throw problem(error.message);
    throw error;
  }
}

export class ObjectWriter {
  constructor(private readonly ids: IdSource) {}

  create(draft: ObjectDraft, namespace: string | null, context: WriteContext, dryRun: boolean): StoredObject {
    const { type, store, now } = context;
    const rules = rulesOf(resourceKey(type));
    const { metadata } = draft;
    if (metadata.resourceVersion !== undefined) throw refusal(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
    if (namespace !== null) metadata.namespace = namespace;
    else delete metadata.namespace;
    if (metadata.name === undefined && metadata.generateName !== undefined) metadata.name = `${metadata.generateName}${this.ids.suffix()}`;
    for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'generation', 'selfLink'] as const) delete metadata[field];
    metadata.uid = this.ids.uid();
    metadata.creationTimestamp = formatRfc3339(instantOf(now));
    if (type.hasGeneration) metadata.generation = 1;
    rules.complete?.(draft, context);
    if (rules.begin !== undefined) rules.begin(draft, context);
    else if (type.subresources.includes('status')) delete draft.status;
    this.check(draft, context, [], (problems) => rules.check?.(problems, draft, context));
    const key = objectKey(namespace, metadata.name);
    if (store.get(resourceKey(type), key) !== null) throw alreadyExists(type, metadata.name);
    return dryRun ? (draft as StoredObject) : store.put(resourceKey(type), key, draft as StoredObject);
  }

  /** Of the object itself, or of the subresource in the context. Removes the object if the change was the last that its deletion waited for. */
  update(draft: ObjectDraft, old: StoredObject, context: WriteContext, { dryRun, isPatch }: UpdateOptions): StoredObject {
    const { type, store } = context;
    const resource = resourceKey(type);
    const rules = rulesOf(resource);
    this.checkPreconditions(draft, old, context, isPatch);
    const { metadata } = draft;
    const { uid } = metadata;
    keepMetadata(draft, old.metadata);
    rules.complete?.(draft, context);
    if (rules.change !== undefined) rules.change(draft, old, context);
    else keepOtherSide(draft, old, context);
    // Once for every object, and once more by the kind's own rules.
    const ofMetadata = metadataProblems(draft, old, uid);
    this.check(draft, context, [...ofMetadata, ...ofMetadata], (problems) => {
      if (rules.checksChangeFirst !== true) rules.check?.(problems, draft, context);
      rules.checkChange?.(problems, draft, old, context);
      if (rules.checksChangeFirst === true) rules.check?.(problems, draft, context);
    });
    if (type.hasGeneration && !sameJson(draft.spec, old.spec)) metadata.generation = (old.metadata.generation ?? 0) + 1;
    if (sameJson(draft, old)) return old;
    if (dryRun) return draft as StoredObject;
    const key = objectKey(old.metadata.namespace, old.metadata.name);
    // A deletion that has waited its time out waits for finalizers alone.
    const isLast = old.metadata.deletionTimestamp !== undefined && (old.metadata.finalizers ?? []).length > 0 && (metadata.finalizers ?? []).length === 0;
    if (isLast && (old.metadata.deletionGracePeriodSeconds ?? 0) === 0) return store.remove(resource, key, draft as StoredObject);
    return store.put(resource, key, draft as StoredObject);
  }

  /** The uid of a whole object is a condition, that of a patch is a change. */
  private checkPreconditions(draft: ObjectDraft, old: StoredObject, { type }: WriteContext, isPatch: boolean): void {
    const { uid, resourceVersion } = draft.metadata;
    const { name } = old.metadata;
    if (!isPatch && uid !== undefined && uid !== old.metadata.uid) {
      throw conflict(type, name, storedUidProblem(type, old, uid));
    }
    if (resourceVersion === undefined) {
      if (type.updatesUnconditionally) return;
      const problems: FieldProblem[] = [];
      invalid(problems, 'metadata.resourceVersion', 0, 'must be specified for an update');
      throw invalidObject(type, type.plural, name, problems);
    }
    if (resourceVersion !== old.metadata.resourceVersion) throw conflict(type, name, modifiedMeanwhile);
  }

  /** @param found what is wrong with the object already */
  private check(draft: ObjectDraft, { type }: WriteContext, found: readonly FieldProblem[], more: (problems: Problems) => void): void {
    const problems: FieldProblem[] = [];
    const { metadata } = draft;
    if ((metadata.name ?? '') === '') required(problems, 'metadata.name', 'name or generateName is required');
    else {
      const named = type.hasFreeNames ? { name: 'free' } : {};
      validateMetadata(problems, { ...metadata, ...named, namespace: metadata.namespace ?? 'none' } as ObjectMeta);
      if (/^\.\.?$|[/%]/.test(metadata.name ?? '')) invalid(problems, 'metadata.name', metadata.name, "may not be '.' or '..' and may not contain '/' or '%'");
    }
    problems.push(...found);
    const others = problems.length;
    checkRequiredFields(problems, draft, type.kind, '');
    // A kind's own rules require an object with its required fields.
    if (problems.length === others && (metadata.name ?? '') !== '') more(problems);
    if (problems.length > 0) throw invalidObject(type, type.kind, metadata.name ?? '', problems);
  }
}

/** What no writer may change. */
function keepMetadata({ metadata }: ObjectDraft, old: ObjectMeta): void {
  const fixed = ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation', 'generateName', 'resourceVersion'] as const;
  delete metadata.selfLink;
  for (const field of fixed) {
    const value = old[field];
    if (value === undefined) delete metadata[field];
    else (metadata as JsonDraft)[field] = value;
  }
}

/** A kind without rules of its own: a status has its subresource, everything else is the object's. */
function keepOtherSide(draft: ObjectDraft, old: StoredObject, { type, subresource }: WriteContext): void {
  if (!type.subresources.includes('status')) return;
  const kept = subresource === 'status' ? 'spec' : 'status';
  if (old[kept] === undefined) delete draft[kept];
  else draft[kept] = old[kept];
}

/** @param uid what the client sent */
function metadataProblems({ metadata }: ObjectDraft, old: StoredObject, uid: string | undefined): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (uid !== undefined && uid !== old.metadata.uid) invalid(problems, 'metadata.uid', uid, 'field is immutable');
  for (const field of ['name', 'namespace'] as const) {
    if (metadata[field] !== old.metadata[field]) invalid(problems, `metadata.${field}`, metadata[field], 'field is immutable');
  }
  if (old.metadata.deletionTimestamp === undefined) return problems;
  const added = (metadata.finalizers ?? []).filter((finalizer) => !(old.metadata.finalizers ?? []).includes(finalizer));
  if (added.length > 0) {
    const field = 'metadata.finalizers';
    const names = added.map((name) => JSON.stringify(name)).join(', ');
    problems.push({
      type: 'FieldValueForbidden',
      field,
      message: `${field}: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`,
    });
  }
  return problems;
}
