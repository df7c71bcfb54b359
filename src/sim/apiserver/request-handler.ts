// One request after it was let in: the verbs, on objects and on their subresources.

import type { Micros } from '../../ports/micros.js';
import { nodeOf } from './access/access-request.js';
import type { Authorizer } from './access/authorizer.js';
import { checkNodeWrite, type NodeWrite } from './access/node-restriction.js';
import type { PodRelations } from './access/pod-relations.js';
import type { TokenIssuer } from './access/tokens.js';
import { type ApiRequest, type FieldValidation, type JsonDraft, wholeList } from './api-request.js';
import { badRequest, invalidObject, methodNotAllowed, noSuchPath, notFound, refusal } from './api-status.js';
import type { ApiserverSettings } from './apiserver-settings.js';
import { afterUpdate, applied } from './apply/managed-fields.js';
import type { IdSource } from './id-source.js';
import type { ObjectDraft, WriteContext } from './kinds/kind-rules.js';
import { checkNamespace } from './kinds/namespaces.js';
import { type DeletionOptions, deleteObject } from './object-deleter.js';
import { listObjects } from './object-lists.js';
import { patchedObject } from './object-patcher.js';
import { type ObjectStore, objectKey, type StoredObject } from './object-store.js';
import { ObjectWriter, readBody } from './object-writer.js';
import { plainCopy } from './patch/plain-copy.js';
import { admitPod } from './pod-admission.js';
import { apiVersionOf, findResourceType, type ResourceType, resourceKey, type Subresource } from './resource-types.js';
import { type ReviewContext, review } from './reviews.js';
import { isObject } from './schema/decode.js';
import { bindPod, evictPod, requestToken } from './subresources.js';

export interface Handled {
  readonly code: number;
  readonly body: unknown;
}

export interface HandlerParts {
  readonly store: ObjectStore;
  readonly relations: PodRelations;
  readonly settings: ApiserverSettings;
  readonly ids: IdSource;
  readonly authorizer: Authorizer;
  readonly tokens: TokenIssuer;
  readonly authenticate: ReviewContext['authenticate'];
  readonly inspection: Pick<NodeWrite, 'inspect'>;
}

/** Subresources that are written as the object is. */
const written: readonly Subresource[] = ['status', 'resize', 'ephemeralcontainers', 'approval'];

export function typeOf({ resource, namespace }: Pick<ApiRequest, 'resource' | 'namespace'>, { without }: ApiserverSettings): ResourceType {
  const type = findResourceType(resource);
  if (type === null || without.includes(resourceKey(resource)) || (namespace !== null && !type.namespaced)) throw noSuchPath();
  return type;
}

export class RequestHandler {
  private readonly writer: ObjectWriter;
  private readonly podsOfNode = (node: string) => this.parts.relations.objectsOf(node);

  constructor(private readonly parts: HandlerParts) {
    this.writer = new ObjectWriter(parts.ids);
  }

  /** @param staleVersions how many versions a read lags behind that is content with any. Throws `ApiRefusal`. */
  handle(request: ApiRequest, now: Micros, staleVersions: number, warnings: string[]): Handled {
    const type = typeOf(request, this.parts.settings);
    const { verb, subresource } = request;
    if (subresource !== null) {
      if (!type.subresources.includes(subresource as Subresource)) throw noSuchPath();
      if (!written.includes(subresource as Subresource)) return this.handlePart(type, request, now);
      if (!['get', 'update', 'patch'].includes(verb)) throw methodNotAllowed(type, verb);
    }
    switch (verb) {
      case 'get':
        return { code: 200, body: this.read(type, request, staleVersions) };
      case 'list':
        return { code: 200, body: this.list(type, request, staleVersions) };
      case 'create':
        return { code: 201, body: this.create(type, request, now, warnings) };
      case 'update':
        return this.update(type, request, now, warnings);
      case 'patch':
        return this.patch(type, request, now, warnings);
      case 'delete':
        return this.remove(type, request, now);
      case 'deletecollection':
        return { code: 200, body: this.removeAll(type, request, now) };
    }
  }

  private handlePart(type: ResourceType, request: ApiRequest, now: Micros): Handled {
    const { subresource, verb, body } = request;
    const streams = ['log', 'exec', 'attach', 'portforward', 'proxy'];
    if (streams.includes(subresource ?? '')) throw refusal(501, 'NotImplemented', `this server does not reach kubelets: ${type.plural}/${subresource} is not there yet`);
    if (verb !== 'create') throw methodNotAllowed(type, verb);
    const object = this.existing(type, request);
    const context = this.context(type, request, now);
    const validation = this.validationOf(request);
    switch (subresource) {
      case 'binding':
        return { code: 201, body: bindPod(object, body, validation, context) };
      case 'eviction':
        this.restrict(request, type, 'create', object, null);
        return { code: 201, body: evictPod(object, body, validation, context) };
      case 'token':
        return { code: 201, body: requestToken(object, body, validation, context, this.parts.tokens, this.parts.ids) };
      default:
        throw methodNotAllowed(type, verb);
    }
  }

  private existing(type: ResourceType, { namespace, name }: Pick<ApiRequest, 'namespace' | 'name'>): StoredObject {
    const object = this.parts.store.get(resourceKey(type), objectKey(namespace, name ?? ''));
    if (object === null) throw notFound(type, name ?? '');
    return object;
  }

  private read(type: ResourceType, request: ApiRequest, staleVersions: number): unknown {
    if (type.isReview) throw methodNotAllowed(type, 'get');
    if (staleVersions === 0 || request.options?.resourceVersion !== '0') return this.existing(type, request);
    const key = objectKey(request.namespace, request.name ?? '');
    const then = this.parts.store.ordered(resourceKey(type), this.staleRevision(staleVersions));
    const found = then?.find(([other]) => other === key)?.[1];
    if (found === undefined) throw notFound(type, request.name ?? '');
    return found;
  }

  private staleRevision(versions: number): number {
    const { revision, state } = this.parts.store;
    return Math.max(revision - versions, state.compacted - 1, 1);
  }

  private list(type: ResourceType, { namespace, options = wholeList }: ApiRequest, staleVersions: number): unknown {
    if (type.isReview) throw methodNotAllowed(type, 'list');
    const stale = staleVersions === 0 ? null : this.staleRevision(staleVersions);
    const { items, revision, continueToken, remaining } = listObjects(this.parts.store, type, namespace, options, stale, this.podsOfNode);
    const rest = { ...(continueToken === null ? {} : { continue: continueToken }), ...(remaining === null ? {} : { remainingItemCount: remaining }) };
    return { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata: { resourceVersion: String(revision), ...rest }, items };
  }

  private create(type: ResourceType, request: ApiRequest, now: Micros, warnings: string[]): unknown {
    const { namespace, body, user } = request;
    if (type.namespaced && namespace === null) throw methodNotAllowed(type, 'create');
    const draft = readBody(body, type, type.kind, this.validationOf(request), warnings);
    if (type.kind === 'Binding')
      return bindPod(
        this.existing(typeOf({ ...request, resource: { group: '', version: 'v1', plural: 'pods' } }, this.parts.settings), { namespace, name: draft.metadata.name }),
        body,
        'Ignore',
        this.context(type, request, now),
      );
    const { authorizer, authenticate } = this.parts;
    if (type.isReview) return review(draft, { now, user, type, authorizer, authenticate });
    return this.createObject(type, request, draft, now);
  }

  private createObject(type: ResourceType, request: ApiRequest, draft: ObjectDraft, now: Micros): StoredObject {
    const { namespace } = request;
    const given = draft.metadata.namespace;
    if (given !== undefined && given !== namespace) throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    if (namespace !== null) {
      checkNamespace(this.parts.store, type, namespace, draft.metadata.name ?? '');
      draft.metadata.namespace = namespace;
    }
    const context = this.context(type, request, now);
    if (type.kind === 'Pod') admitPod(draft, context, this.parts.ids);
    this.restrict({ ...request, name: draft.metadata.name ?? '' }, type, 'create', null, draft);
    return this.writer.create(draft, namespace, context, request.dryRun === true);
  }

  private update(type: ResourceType, request: ApiRequest, now: Micros, warnings: string[]): Handled {
    const draft = readBody(request.body, type, type.kind, this.validationOf(request), warnings);
    const { name, namespace } = request;
    draft.metadata.name ??= name ?? '';
    if (namespace !== null) draft.metadata.namespace ??= namespace;
    checkName(draft, request);
    const old = this.parts.store.get(resourceKey(type), objectKey(namespace, name ?? ''));
    if (old !== null) return { code: 200, body: this.change(type, request, draft, old, now, 'update') };
    if (!type.updateCreates || request.subresource !== null) throw notFound(type, name ?? '');
    return { code: 201, body: this.createObject(type, request, draft, now) };
  }

  private patch(type: ResourceType, request: ApiRequest, now: Micros, warnings: string[]): Handled {
    const { patch = 'merge-patch' } = request;
    if (patch === 'apply-patch') return this.apply(type, request, now, warnings);
    const old = this.existing(type, request);
    const draft = patchedObject(old, patch, request.body, type, this.validationOf(request), warnings);
    checkName(draft, request);
    return { code: 200, body: this.change(type, request, draft, old, now, 'patch') };
  }

  private apply(type: ResourceType, request: ApiRequest, now: Micros, warnings: string[]): Handled {
    const { name, namespace, subresource, fieldManager, force = false } = request;
    if ((fieldManager ?? '') === '') {
      const field = 'fieldManager';
      const message = `${field}: Required value: is required for apply patch`;
      throw invalidObject({ group: 'meta.k8s.io' }, 'PatchOptions', '', [{ type: 'FieldValueRequired', field, message }]);
    }
    const config = readBody(request.body, type, type.kind, this.validationOf(request), warnings);
    config.metadata.name ??= name ?? '';
    if (namespace !== null) config.metadata.namespace ??= namespace;
    if (config.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
    const old = this.parts.store.get(resourceKey(type), objectKey(namespace, name ?? ''));
    if (old === null && subresource !== null) throw notFound(type, name ?? '');
    const writer = { manager: fieldManager ?? '', apiVersion: apiVersionOf(type), subresource, now };
    const draft = plainCopy(applied(old as JsonDraft | null, config, type.kind, writer, force)) as ObjectDraft;
    if (old === null) return { code: 201, body: this.createObject(type, request, draft, now) };
    return { code: 200, body: this.change(type, request, draft, old, now, 'apply') };
  }

  private change(type: ResourceType, request: ApiRequest, draft: ObjectDraft, old: StoredObject, now: Micros, by: 'update' | 'patch' | 'apply'): StoredObject {
    this.restrict(request, type, 'update', old, draft);
    if (by !== 'apply') this.trackManagers(type, request, draft, old, now);
    return this.writer.update(draft, old, this.context(type, request, now), { dryRun: request.dryRun === true, isPatch: by !== 'update' });
  }

  private trackManagers(type: ResourceType, { fieldManager, userAgent, subresource }: ApiRequest, draft: ObjectDraft, old: StoredObject, now: Micros): void {
    if ((old.metadata as unknown as JsonDraft).managedFields === undefined) return;
    const manager = fieldManager ?? (userAgent ?? '').split('/')[0] ?? '';
    const tracked = afterUpdate(draft, old as unknown as JsonDraft, type.kind, { manager: manager === '' ? 'unknown' : manager, apiVersion: apiVersionOf(type), subresource, now });
    draft.metadata.managedFields = (tracked.metadata as JsonDraft).managedFields;
  }

  private remove(type: ResourceType, request: ApiRequest, now: Micros): Handled {
    const object = this.existing(type, request);
    this.restrict(request, type, 'delete', object, null);
    const { object: left, gone } = deleteObject(object, deletionOptions(request), this.context(type, request, now));
    if (!gone || type.kind === 'Pod') return { code: 200, body: left };
    const { name, uid } = object.metadata;
    const details = { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural, uid };
    return { code: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
  }

  private removeAll(type: ResourceType, request: ApiRequest, now: Micros): unknown {
    const { namespace, options = wholeList } = request;
    const { items, revision } = listObjects(this.parts.store, type, namespace, options, null, this.podsOfNode);
    const context = this.context(type, request, now);
    for (const item of items) {
      this.restrict({ ...request, name: item.metadata.name }, type, 'delete', item, null);
      deleteObject(item, { ...deletionOptions(request), uid: null, resourceVersion: null }, context);
    }
    return { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata: { resourceVersion: String(revision) }, items };
  }

  private restrict({ user, subresource, name }: ApiRequest, type: ResourceType, verb: 'create' | 'update' | 'delete', old: StoredObject | null, object: ObjectDraft | null): void {
    const node = this.parts.settings.authorization ? nodeOf(user) : null;
    if (node !== null) checkNodeWrite({ node, type, verb, subresource, name: name ?? '', old, object, store: this.parts.store, ...this.parts.inspection });
  }

  private context(type: ResourceType, request: ApiRequest, now: Micros): WriteContext {
    const { store, settings } = this.parts;
    return { now, user: request.user, type, subresource: request.subresource as Subresource | null, store, settings };
  }

  private validationOf({ fieldValidation }: ApiRequest): FieldValidation {
    return fieldValidation ?? this.parts.settings.fieldValidation;
  }
}

function checkName({ metadata }: ObjectDraft, { name }: ApiRequest): void {
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

function deletionOptions({ body, dryRun }: ApiRequest): DeletionOptions {
  const given = isObject(body) ? body : {};
  const preconditions = isObject(given.preconditions) ? given.preconditions : {};
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    gracePeriodSeconds: typeof given.gracePeriodSeconds === 'number' ? given.gracePeriodSeconds : null,
    uid: text(preconditions.uid),
    resourceVersion: text(preconditions.resourceVersion),
    dryRun: dryRun === true || (Array.isArray(given.dryRun) && given.dryRun.includes('All')),
  };
}
