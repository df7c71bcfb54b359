// The API state of an agent with an apiserver, and queries on it. A standalone agent has none.
import type { Micros } from '../../../ports/micros.js';
import type { ApiObject } from '../../../ports/model/api-object.js';
import type { Node } from '../../../ports/model/node.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { Service } from '../../../ports/model/service.js';
import { objectKey, type ReflectorState } from '../../api-cache/reflector.js';
import { type ChangeDetection, newObjectManager, type ObjectManager } from '../../api-data/object-manager.js';
import type { ServiceAccounts } from '../../api-data/service-accounts.js';
import { newTokenCache, type TokenCache } from '../../api-data/token-cache.js';
import type { View } from '../../kernel/view.js';
import type { PodCertificates } from '../../pod-certificates/pod-certificates.js';
import { newStatusWrites, type StatusWrites } from '../../status/status-write.js';
import { type MirrorPods, newMirrorPods } from '../mirror-client/mirror-pods-state.js';

export interface ApiState {
  readonly nodeName: string;
  /** By name; the part up to the first `:` is the owner (see api-objects). */
  readonly reflectors: Map<string, ReflectorState>;
  readonly statusWrites: StatusWrites;
  readonly mirrors: MirrorPods;
  /** Pods whose sandbox and network came up in this step. */
  readonly connected: Map<string, Pod>;
  /** All pods are withdrawn, even if the API has them. */
  withdrawn: boolean;
  /** Secrets and config maps of the node's pods. */
  readonly objects: ObjectManager;
  readonly tokens: TokenCache;
  /** Tokens and service accounts for credential provider plugins. */
  readonly pluginTokens: TokenCache;
  readonly serviceAccounts: ServiceAccounts;
  readonly podCertificates: PodCertificates;
  /** Pods whose volumes may have outdated content. */
  readonly outdated: Set<string>;
  /** The check for unused watches is scheduled. */
  idleLookPlanned: boolean;
}

export function newApiState(nodeName: string, strategy: ChangeDetection, syncFrequency: Micros): ApiState {
  return {
    nodeName,
    reflectors: new Map(),
    statusWrites: newStatusWrites(),
    mirrors: newMirrorPods(),
    connected: new Map(),
    withdrawn: false,
    objects: newObjectManager(strategy, syncFrequency),
    tokens: newTokenCache(),
    pluginTokens: newTokenCache(),
    serviceAccounts: new Map(),
    podCertificates: new Map(),
    outdated: new Set(),
    idleLookPlanned: false,
  };
}

/** The copy of an object; null: it isn't there, or nothing is known yet. */
export function cachedObject(api: View<ApiState> | null, reflector: string, namespace: string, name: string): ApiObject | null {
  return api?.reflectors.get(reflector)?.objects.get(objectKey(namespace, name)) ?? null;
}

/** The agent's own Node in the API; null if absent, or without an API. */
export function ownNode(api: View<ApiState> | null): Node | null {
  return api === null ? null : (cachedObject(api, 'node', '', api.nodeName) as Node | null);
}

/** The same, with the version up to which it is known to be absent. */
export function watchedNode(api: View<ApiState> | null): { readonly node: Node | null; readonly absentUpTo: number | null } {
  const node = ownNode(api);
  const reflector = api?.reflectors.get('node');
  const absentUpTo = node === null && reflector?.synced === true && reflector.resourceVersion !== null ? Number(reflector.resourceVersion) : null;
  return { node, absentUpTo };
}

/** `services` is null without an API. */
export function servicesOf(api: View<ApiState>): { readonly services: readonly Service[] | null; readonly servicesSynced: boolean } {
  const reflector = api.reflectors.get('services');
  if (reflector === undefined) return { services: [], servicesSynced: false };
  return { services: [...reflector.objects.values()] as Service[], servicesSynced: reflector.synced };
}
