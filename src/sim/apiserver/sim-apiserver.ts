// The simulated apiserver: a store of objects with the real server's rules, on the time of whoever asks. Every request is answered at once;
// what a watch is to hear waits until its owner takes it. A world of nodes, a real HTTP server and a test use it alike.
//
// Invariants: all that it knows is in `state`, which is data; the same requests at the same times get the same answers.
import type { Micros } from '../../ports/micros.js';
import { type ApiRequest, type ApiResponse, type JsonObject, type WatchRequest, wholeList } from './api-request.js';
import { ApiRefusal, badRequest, methodNotAllowed, noSuchPath, notFound } from './api-status.js';
import { type ApiserverSettings, defaultApiserverSettings } from './apiserver-settings.js';
import { IdSource, type IdSourceState } from './id-source.js';
import type { WriteContext } from './kinds/kind-rules.js';
import { checkNamespace, firstNamespaces } from './kinds/namespaces.js';
import { type DeletionOptions, deleteObject } from './object-deleter.js';
import { listObjects, parseRevision } from './object-lists.js';
import { patchedObject } from './object-patcher.js';
import { emptyStoreState, ObjectStore, type ObjectStoreState, objectKey, type StoredObject } from './object-store.js';
import { ObjectWriter, readBody } from './object-writer.js';
import { apiVersionOf, findResourceType, type ResourceType, resourceKey, type Subresource } from './resource-types.js';
import { isObject } from './schema/decode.js';
import { readSelection } from './selection.js';
import { emptyWatchState, WatchHub, type WatchHubState, type WatchRecord } from './watch-hub.js';

export interface SimApiserverState {
  readonly store: ObjectStoreState;
  readonly watches: WatchHubState;
  readonly ids: IdSourceState;
}

export function emptyApiserverState(): SimApiserverState {
  return { store: emptyStoreState(), watches: emptyWatchState(), ids: { drawn: 0 } };
}

const server = { name: 'system:apiserver', groups: ['system:masters'] };

export class SimApiserver {
  readonly settings: ApiserverSettings;
  readonly store: ObjectStore;
  readonly watches: WatchHub;
  /** Called when something is due sooner than was said: whoever drives the server asks `nextAt` again. */
  dueSooner: () => void = () => {};
  private readonly writer: ObjectWriter;
  private told: Micros = Number.POSITIVE_INFINITY;

  /** @param now when it begins: a new one makes what every cluster has */
  constructor(
    settings: Partial<ApiserverSettings>,
    now: Micros,
    readonly state: SimApiserverState = emptyApiserverState(),
  ) {
    this.settings = { ...defaultApiserverSettings, ...settings };
    const { historyLimit, watchQueueLimit: queueLimit, bookmarkMicros } = this.settings;
    this.store = new ObjectStore(state.store, historyLimit, (change) => this.watches.changed(change));
    this.watches = new WatchHub(state.watches, this.store, { queueLimit, bookmarkMicros });
    this.writer = new ObjectWriter(new IdSource(this.settings.seed, state.ids));
    if (state.store.objects.size === 0) for (const name of firstNamespaces) this.createNamespace(name, now);
  }

  /** Refusals are answers too: a Status, with its code. */
  handle(request: ApiRequest, now: Micros): ApiResponse {
    const warnings: string[] = [];
    try {
      const { code, body } = this.perform(request, now, warnings);
      return { code, body: body as unknown as JsonObject, warnings };
    } catch (error) {
      if (error instanceof ApiRefusal) return { code: error.code, body: error.status, warnings };
      throw error;
    } finally {
      this.tellDue();
    }
  }

  /** Opens a watch, or answers why not. Events are taken from `watches`; whoever `listen`s there under the owner's name hears of them. */
  watch(owner: string, request: WatchRequest, now: Micros): { readonly watch: WatchRecord } | { readonly refused: ApiResponse } {
    try {
      const type = this.typeOf(request.target);
      const { namespace, name } = request.target;
      const byName = name === null ? request.fieldSelector : `metadata.name=${name}`;
      const selection = readSelection(type, namespace, byName, request.labelSelector);
      const asked = request.resourceVersion;
      const revision = asked === null || asked === '' || asked === '0' ? null : parseRevision(asked);
      const { bookmarks, sendInitialEvents: initialEvents, timeoutSeconds } = request;
      return { watch: this.watches.open(owner, type, selection, revision, { bookmarks, initialEvents, timeoutSeconds }, now) };
    } catch (error) {
      if (error instanceof ApiRefusal) return { refused: { code: error.code, body: error.status, warnings: [] } };
      throw error;
    } finally {
      this.tellDue();
    }
  }

  /** When something happens by itself next; null: nothing will. */
  nextAt(): Micros | null {
    return this.watches.nextAt();
  }

  advance(now: Micros): void {
    this.watches.advance(now);
    this.told = this.nextAt() ?? Number.POSITIVE_INFINITY;
  }

  private tellDue(): void {
    const next = this.nextAt() ?? Number.POSITIVE_INFINITY;
    if (next >= this.told) return;
    this.told = next;
    this.dueSooner();
  }

  private perform(request: ApiRequest, now: Micros, warnings: string[]): { readonly code: number; readonly body: unknown } {
    const type = this.typeOf(request);
    switch (request.verb) {
      case 'get':
        return { code: 200, body: this.existing(type, request) };
      case 'list':
        return { code: 200, body: this.list(type, request) };
      case 'create':
        return { code: 201, body: this.create(type, request, now, warnings) };
      case 'update':
        return this.update(type, request, now, warnings);
      case 'patch':
        return this.patch(type, request, now, warnings);
      case 'delete':
        return { code: 200, body: this.remove(type, request, now) };
      case 'deletecollection':
        return { code: 200, body: this.removeAll(type, request, now) };
    }
  }

  private typeOf({ resource, namespace }: Pick<ApiRequest, 'resource' | 'namespace'>): ResourceType {
    const type = findResourceType(resource);
    if (type === null || (namespace !== null && !type.namespaced)) throw noSuchPath();
    return type;
  }

  private existing(type: ResourceType, { namespace, name }: Pick<ApiRequest, 'namespace' | 'name'>): StoredObject {
    const object = this.store.get(resourceKey(type), objectKey(namespace, name ?? ''));
    if (object === null) throw notFound(type, name ?? '');
    return object;
  }

  private list(type: ResourceType, { namespace, options = wholeList }: ApiRequest): unknown {
    const { items, revision, continueToken, remaining } = listObjects(this.store, type, namespace, options, null);
    const rest = { ...(continueToken === null ? {} : { continue: continueToken }), ...(remaining === null ? {} : { remainingItemCount: remaining }) };
    return { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata: { resourceVersion: String(revision), ...rest }, items };
  }

  private create(type: ResourceType, request: ApiRequest, now: Micros, warnings: string[]): StoredObject {
    const { namespace, body } = request;
    if (type.namespaced && namespace === null) throw methodNotAllowed(type, 'create');
    const draft = readBody(body, type, type.kind, this.validationOf(request), warnings);
    const given = draft.metadata.namespace;
    if (namespace !== null && given !== undefined && given !== namespace) {
      throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
    }
    if (namespace !== null) checkNamespace(this.store, type, namespace, draft.metadata.name ?? '');
    return this.writer.create(draft, namespace, this.context(type, request, now), request.dryRun === true);
  }

  private update(type: ResourceType, request: ApiRequest, now: Micros, warnings: string[]): { readonly code: number; readonly body: unknown } {
    const draft = readBody(request.body, type, type.kind, this.validationOf(request), warnings);
    const { name, namespace } = request;
    if (draft.metadata.name === undefined && name !== null) draft.metadata.name = name;
    if (draft.metadata.namespace === undefined && namespace !== null) draft.metadata.namespace = namespace;
    if (draft.metadata.name !== name) throw badRequest(`the name of the object (${draft.metadata.name}) does not match the name on the URL (${name})`);
    const old = this.store.get(resourceKey(type), objectKey(namespace, name ?? ''));
    const context = this.context(type, request, now);
    if (old !== null) return { code: 200, body: this.writer.update(draft, old, context, request.dryRun === true) };
    if (!type.updateCreates || request.subresource !== null) throw notFound(type, name ?? '');
    return { code: 201, body: this.writer.create(draft, namespace, context, request.dryRun === true) };
  }

  private patch(type: ResourceType, request: ApiRequest, now: Micros, warnings: string[]): { readonly code: number; readonly body: unknown } {
    const { patch = 'merge-patch' } = request;
    if (patch === 'apply-patch') throw badRequest('server-side apply is not there yet');
    const old = this.existing(type, request);
    const draft = patchedObject(old, patch, request.body, type, this.validationOf(request), warnings);
    return { code: 200, body: this.writer.update(draft, old, this.context(type, request, now), request.dryRun === true) };
  }

  private remove(type: ResourceType, request: ApiRequest, now: Micros): unknown {
    const object = this.existing(type, request);
    return deleteObject(object, deletionOptions(request), this.context(type, request, now)).object;
  }

  private removeAll(type: ResourceType, request: ApiRequest, now: Micros): unknown {
    const { namespace, options = wholeList } = request;
    const { items, revision } = listObjects(this.store, type, namespace, options, null);
    const context = this.context(type, request, now);
    for (const item of items) deleteObject(item, { ...deletionOptions(request), uid: null, resourceVersion: null }, context);
    return { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata: { resourceVersion: String(revision) }, items };
  }

  private context(type: ResourceType, request: ApiRequest, now: Micros): WriteContext {
    return { now, user: request.user, type, subresource: request.subresource as Subresource | null, store: this.store, settings: this.settings };
  }

  private validationOf({ fieldValidation }: ApiRequest) {
    return fieldValidation ?? this.settings.fieldValidation;
  }

  private createNamespace(name: string, now: Micros): void {
    const resource = { group: '', version: 'v1', plural: 'namespaces' };
    this.handle({ user: server, verb: 'create', resource, namespace: null, name: null, subresource: null, body: { metadata: { name } } }, now);
  }
}

function deletionOptions({ body, dryRun }: ApiRequest): DeletionOptions {
  const given = isObject(body) ? body : {};
  const preconditions = isObject(given.preconditions) ? given.preconditions : {};
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    gracePeriodSeconds: typeof given.gracePeriodSeconds === 'number' ? given.gracePeriodSeconds : null,
    uid: text(preconditions.uid),
    resourceVersion: text(preconditions.resourceVersion),
    dryRun: dryRun === true,
  };
}
