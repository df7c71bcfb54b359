// The simulated apiserver: a store of objects with the real server's rules, on the caller's time. It answers every request at once;
// events of a watch wait until its owner takes them. A world of nodes, a real HTTP server and a test use the same class.
//
// Invariants: its whole memory is in `state`, which is data; the same requests at the same times get the same answers.
import { streamOf } from '../../domain/kernel/random.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiResource } from '../../ports/model/api-object.js';
import type { FaultPlanData } from '../faults/fault-plan.js';
import { nodeOf } from './access/access-request.js';
import { Authorizer } from './access/authorizer.js';
import { bootstrapUser } from './access/bootstrap-tokens.js';
import { PodRelations } from './access/pod-relations.js';
import { TokenIssuer, tokenAudience, type VerifiedToken } from './access/tokens.js';
import { type ApiFaultAction, type ApiFaultRule, ApiFaults, type Struck, unstruck } from './api-faults.js';
import type { ApiRequest, ApiResponse, ApiTarget, ApiUser, ApiVerb, JsonDraft, JsonObject, WatchRequest } from './api-request.js';
import { ApiRefusal, forbiddenToUser, notFound } from './api-status.js';
import { type ApiserverSettings, defaultApiserverSettings } from './apiserver-settings.js';
import { type AuditEntry, AuditLog, auditedSuccess } from './audit-log.js';
import type { CertificateSigner } from './certificate-signer.js';
import { ownService } from './control/automatic-objects.js';
import { type ControlContext, type ControlState, emptyControlState } from './control/control-context.js';
import { controllerUser } from './control/controller-user.js';
import { Controllers } from './control/controllers.js';
import { IdSource, type IdSourceState } from './id-source.js';
import { firstNamespaces } from './kinds/namespaces.js';
import { parseRevision } from './object-lists.js';
import { emptyStoreState, ObjectStore, type ObjectStoreState, objectKey, type StoredObject } from './object-store.js';
import { RequestHandler, typeOf } from './request-handler.js';
import { findResourceType, type ResourceType, resourceKey, resourceTypes } from './resource-types.js';
import { encodeAnswer } from './schema/encode.js';
import { readSelection } from './selection.js';
import { emptyWatchState, WatchHub, type WatchHubState, type WatchRecord } from './watch-hub.js';

export interface SimApiserverState {
  readonly store: ObjectStoreState;
  readonly watches: WatchHubState;
  readonly ids: IdSourceState;
  readonly control: ControlState;
  readonly audit: AuditEntry[];
  faults: FaultPlanData<ApiFaultAction> | null;
  /** Faults apply only to requests of nodes. */
  faultsOfNodes: boolean;
}

export function emptyApiserverState(): SimApiserverState {
  return { store: emptyStoreState(), watches: emptyWatchState(), ids: { drawn: 0 }, control: emptyControlState(), audit: [], faults: null, faultsOfNodes: false };
}

export class SimApiserver {
  readonly settings: ApiserverSettings;
  readonly store: ObjectStore;
  readonly watches: WatchHub;
  readonly authorizer: Authorizer;
  readonly audit: AuditLog;
  /** Called when something is due sooner than `nextAt` said: the driver requests `nextAt` again. */
  dueSooner: () => void = () => {};
  private readonly faults: ApiFaults;
  private readonly handler: RequestHandler;
  private readonly controllers: Controllers;
  private readonly tokens: TokenIssuer;
  private now: Micros;
  private announcedWake: Micros = Number.POSITIVE_INFINITY;

  /** @param now when it begins: a new one makes what every cluster has */
  constructor(
    settings: Partial<ApiserverSettings>,
    now: Micros,
    readonly state: SimApiserverState = emptyApiserverState(),
    signer: CertificateSigner | null = null,
  ) {
    this.settings = { ...defaultApiserverSettings, ...settings };
    this.now = this.clockAt(now);
    const { historyLimit, watchQueueLimit: queueLimit, bookmarkMicros, seed, tokenSecret, authorization, auditLimit } = this.settings;
    for (const name of this.settings.without) {
      if (!resourceTypes.some((type) => resourceKey(type) === name))
        throw new Error(`apiserver settings: without: ${JSON.stringify(name)} is no collection; expected one as "leases.coordination.k8s.io"`);
    }
    const isNew = state.store.objects.size === 0;
    this.store = new ObjectStore(state.store, historyLimit, (change) => {
      relations.changed(change);
      this.watches.changed(change);
      this.controllers.changed(change);
    });
    const relations = new PodRelations(this.store);
    const ids = new IdSource(seed, state.ids);
    this.watches = new WatchHub(state.watches, this.store, { queueLimit, bookmarkMicros });
    this.authorizer = new Authorizer(relations, this.store, !authorization);
    this.audit = new AuditLog(state.audit, auditLimit);
    this.faults = new ApiFaults(seed, state.faults ?? ApiFaults.none(streamOf(seed, 'api faults', '')));
    state.faults = this.faults.data();
    this.tokens = new TokenIssuer(tokenSecret, this.store);
    const authenticate = (token: string, audiences: readonly string[]) => this.authenticate(token, audiences, this.now);
    const inspection = signer === null ? {} : { inspect: (request: Uint8Array) => signer.inspect(request) };
    const { store, settings: all, authorizer, tokens } = this;
    this.handler = new RequestHandler({ store, relations, settings: all, ids, authorizer, tokens, authenticate, inspection });
    const context = (): ControlContext => ({ store: this.store, settings: this.settings, ids, signer, state: state.control, now: this.now });
    this.controllers = new Controllers(context, relations);
    if (!isNew) return;
    for (const name of firstNamespaces) this.createNamespace(name, now);
    if (this.settings.ownServicePort !== null) this.create('services', 'default', ownService(this.settings.ownServicePort), now);
  }

  /** The server's own time for a time of its driver. */
  clockAt(now: Micros): Micros {
    return now + this.settings.clockOffsetMicros;
  }

  /** Its collections. */
  get resourceTypes(): readonly ResourceType[] {
    return resourceTypes.filter((type) => !this.settings.without.includes(resourceKey(type)));
  }

  /** Refusals are answers too: a Status, with its code. */
  handle(request: ApiRequest, now: Micros): ApiResponse {
    this.now = this.clockAt(now);
    const struck = this.strike(request.user, request.verb, request);
    const warnings: string[] = [];
    const response = this.answer(request, struck, warnings);
    this.audit.add(request, { code: response.code, message: response.code < 400 ? null : (response.body as { readonly message: string }).message }, this.now);
    this.deliverDue();
    return { code: response.code, body: response.body as JsonObject, warnings, latencyMicros: struck.latencyMicros, lost: struck.lost };
  }

  /** Opens a watch, or refuses it. Take events from `watches`; a `listen` there under the owner's name is notified of new ones. */
  watch(owner: string, request: WatchRequest, now: Micros): { readonly watch: WatchRecord } | { readonly refused: ApiResponse } {
    this.now = this.clockAt(now);
    const { user, target } = request;
    const struck = this.strike(user, 'watch', target);
    const audited = { ...target, user, verb: 'watch' as const };
    try {
      if (struck.refusal !== null) throw struck.refusal;
      const watch = this.open(owner, request, struck);
      this.audit.add(audited, auditedSuccess, this.now);
      return { watch };
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      this.audit.add(audited, error, this.now);
      return { refused: { code: error.code, body: error.status, warnings: [], latencyMicros: struck.latencyMicros, lost: struck.lost } };
    } finally {
      this.deliverDue();
    }
  }

  /** Authorizes and audits a request that another server performs for this one (logs, commands). Throws `ApiRefusal`. */
  permit(user: ApiUser, verb: ApiVerb, target: ApiTarget, now: Micros): void {
    this.now = this.clockAt(now);
    try {
      this.authorize(user, verb, target, null);
      this.audit.add({ ...target, user, verb }, auditedSuccess, this.now);
    } catch (error) {
      if (error instanceof ApiRefusal) this.audit.add({ ...target, user, verb }, error, this.now);
      throw error;
    }
  }

  /** An object as it is stored. Throws `ApiRefusal` if it is absent. */
  object(resource: ApiResource, namespace: string | null, name: string): StoredObject {
    const type = findResourceType(resource);
    const object = type === null ? null : this.store.get(resourceKey(type), objectKey(namespace, name));
    if (object === null) throw notFound(resource, name);
    return object;
  }

  /** The user of the token; a text: why it is invalid. */
  authenticate(token: string, audiences: readonly string[] = [tokenAudience], now: Micros = this.now): VerifiedToken | string {
    const known = this.settings.tokens.get(token);
    if (known !== undefined) return { user: withAuthenticated(known), audiences };
    const bootstrap = bootstrapUser(token, this.store, now);
    if (bootstrap !== null) return { user: bootstrap, audiences };
    return this.tokens.verify(token, audiences, now);
  }

  /** Replaces the faults from now on. @param ofNodes they apply only to requests of nodes, not of users and the control plane */
  setFaults(rules: readonly ApiFaultRule[], now: Micros, ofNodes = false): void {
    this.faults.set(rules, this.clockAt(now));
    this.state.faultsOfNodes = ofNodes;
    this.state.faults = this.faults.data();
  }

  /** How often each fault struck, in the order of the rules: one at 0 tested nothing. */
  get faultCounts(): readonly number[] {
    return this.faults.counts;
  }

  /** When something happens by itself next; null: nothing will. */
  nextAt(): Micros | null {
    const times = [this.watches.nextAt(), this.controllers.nextAt()].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times) - this.settings.clockOffsetMicros;
  }

  advance(now: Micros): void {
    this.now = this.clockAt(now);
    this.controllers.advance();
    this.watches.advance(this.now);
    this.announcedWake = this.nextAt() ?? Number.POSITIVE_INFINITY;
  }

  private answer(request: ApiRequest, struck: Struck, warnings: string[]): { readonly code: number; readonly body: unknown } {
    try {
      if (struck.refusal !== null) throw struck.refusal;
      this.authorize(request.user, request.verb, request, request.options?.fieldSelector ?? null);
      const { code, body } = this.handler.handle(request, this.now, struck.staleVersions, warnings);
      return { code, body: encodeAnswer(body as JsonObject) };
    } catch (error) {
      if (error instanceof ApiRefusal) return { code: error.code, body: error.status };
      throw error;
    }
  }

  private open(owner: string, request: WatchRequest, struck: Struck): WatchRecord {
    const { user, target } = request;
    const byName = target.name === null ? request.fieldSelector : `metadata.name=${target.name}`;
    this.authorize(user, 'watch', target, byName);
    const type = typeOf(target, this.settings);
    const selection = readSelection(type, target.namespace, byName, request.labelSelector);
    const asked = request.resourceVersion;
    const revision = asked === null || asked === '' || asked === '0' ? null : parseRevision(asked);
    const { bookmarks, sendInitialEvents: initialEvents, timeoutSeconds } = request;
    const { cutAfterMicros, silent } = struck;
    return this.watches.open(owner, type, selection, revision, { bookmarks, initialEvents, timeoutSeconds, cutAfterMicros, silent }, this.now);
  }

  private authorize(user: ApiUser, verb: string, target: Pick<ApiRequest, 'resource' | 'namespace' | 'name' | 'subresource'>, fieldSelector: string | null): void {
    const { resource, namespace, name, subresource } = target;
    const fields = Object.fromEntries((fieldSelector ?? '').split(',').map((term) => term.split(/==?/) as [string, string]));
    const { allowed, reason } = this.authorizer.decide({ user, verb, resource, subresource, namespace, name, fields });
    if (!allowed) throw forbiddenToUser(user, verb, resource, subresource, namespace, name ?? '', reason);
  }

  private strike(user: ApiUser, verb: string, { resource, subresource }: Pick<ApiRequest, 'resource' | 'subresource'>): Struck {
    if (this.state.faultsOfNodes && nodeOf(user) === null) return unstruck;
    return this.faults.strike(`${verb}.${resource.plural}${subresource === null ? '' : `/${subresource}`}`, this.now);
  }

  private deliverDue(): void {
    const next = this.nextAt() ?? Number.POSITIVE_INFINITY;
    if (next >= this.announcedWake) return;
    this.announcedWake = next;
    this.dueSooner();
  }

  private createNamespace(name: string, now: Micros): void {
    this.create('namespaces', null, { metadata: { name } }, now);
  }

  private create(plural: string, namespace: string | null, body: JsonDraft, now: Micros): void {
    this.handle({ user: controllerUser, verb: 'create', resource: { group: '', version: 'v1', plural }, namespace, name: null, subresource: null, body }, now);
  }
}

function withAuthenticated(user: ApiUser): ApiUser {
  return user.groups.includes('system:authenticated') ? user : { ...user, groups: [...user.groups, 'system:authenticated'] };
}
