// API data for the node's pods: which pods refer to which objects, what they get, and which of them must sync again after
// a change.
//
// | event                                    | then                                                                 |
// |------------------------------------------|----------------------------------------------------------------------|
// | a pod is synced                          | it is registered: its objects are read from now on                   |
// | an object changes                        | pods that refer to it are outdated and synced; waiting runs resume   |
// | a token is due for refresh               | its pod is outdated and synced                                       |
// | volumes could not be updated             | the pod is outdated and synced again after the usual time            |
// | a pod has ended and its volumes are gone | it is unregistered                                                   |

import type { Micros } from '../../../ports/micros.js';
import type { ApiObject } from '../../../ports/model/api-object.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { ObjectChange, ReflectorState } from '../../api-cache/reflector.js';
import { isSameJson } from '../../api-cache/strategic-merge-patch.js';
import type { ApiData, TrustBundlesAnswer } from '../../api-data/api-data.js';
import { defaultObjectTtl, isShown, lookUpObject, type ObjectReading, objectFetched, podsOf, registerPod, releaseIdle, unregisterPod } from '../../api-data/object-manager.js';
import { lookUpServiceAccount, serviceAccountRead } from '../../api-data/service-accounts.js';
import { forgetTokens, lookUpToken, nextTokenRefresh, type TokenAsking, tokenAnswered, tokenRequestBody } from '../../api-data/token-cache.js';
import type { Address } from '../../kernel/machine.js';
import { microsPerSecond } from '../../values/time.js';
import { apiDataSource, showsTrustBundles } from '../../volumes/api-data-volume.js';
import { usedVolumes } from '../../volumes/node-volumes.js';
import { type ClusterTrustBundle, noTrustBundles, trustBundlesNotSynced } from '../../volumes/trust-bundles.js';
import type { AgentContext } from '../agent-context.js';
import { pullIdentityArrived } from '../image-manager/requests.js';
import type { AnswerOf } from '../part.js';
import { podCertificateOf, releasePodCertificates } from '../pod-certificate-manager/pod-certificates.js';
import { unwatchObjects, watchObjects } from '../reflectors/api-objects.js';
import { ownNode } from '../reflectors/api-state.js';
import { notifyPods } from './outdated-pods.js';
import { asObjectManager, type ObjectApi, type ObjectManagerContext } from './slice.js';

export const objectMachine = 'object';
export const idleObjects: Address = { machine: 'idle-objects', key: '' };
export const tokenMachine = 'token';
export const pluginTokenMachine = 'plugin-token';
export const serviceAccountMachine = 'service-account';
export const tokenRefreshMachine = 'token-refresh';
const ttlAnnotation = 'node.alpha.kubernetes.io/ttl';
export const trustBundleReflector = 'clustertrustbundles';
const trustBundlePatience: Micros = 10 * microsPerSecond;
const requestTimeout: Micros = 30 * microsPerSecond;
const serviceAccounts = { group: '', version: 'v1', plural: 'serviceaccounts' } as const;

/** The API data for pods of an agent with an apiserver; null: standalone. */
export function apiDataOf(caller: AgentContext): ApiData | null {
  const context = asObjectManager(caller);
  const { api } = context.state;
  if (api === null) return null;
  return {
    object: (kind, namespace, name, since) => lookUpObject(api.objects, kind, namespace, name, since, readingOf(context, api)),
    token: (request, since) => lookUpToken(api.tokens, request, since, askingOf(context, tokenMachine)),
    pluginToken: (request, since) => lookUpToken(api.pluginTokens, request, since, askingOf(context, pluginTokenMachine)),
    serviceAccount: (namespace, name, since) => {
      const { turn } = context;
      const key = `${namespace}/${name}`;
      const place = { client: 'main', resource: serviceAccounts, namespace, name, resourceVersion: null } as const;
      return lookUpServiceAccount(api.serviceAccounts, key, since, turn.now, () =>
        turn.ask('apiReader.get', { machine: serviceAccountMachine, key }, 'get', place, requestTimeout),
      );
    },
    trustBundles: (since) => trustBundlesOf(context, api, since),
    podCertificate: (order) => podCertificateOf(context, order),
    takeChanged: (uid) => api.outdated.delete(uid),
  };
}

/** Read from the first pod on that shows them. */
function trustBundlesOf(context: ObjectManagerContext, api: ObjectApi, since: Micros): TrustBundlesAnswer {
  if (!context.state.settings.trustBundleProjection) return { kind: 'failed', message: noTrustBundles };
  const resource = { group: 'certificates.k8s.io', version: 'v1beta1', plural: trustBundleReflector };
  if (!api.reflectors.has(trustBundleReflector)) watchObjects(context, trustBundleReflector, { resource, namespace: null, fieldSelector: null, labelSelector: null });
  const reflector = api.reflectors.get(trustBundleReflector);
  if (reflector?.synced === true) return { kind: 'found', bundles: [...reflector.objects.values()] as ClusterTrustBundle[] };
  const until = since + trustBundlePatience;
  return context.turn.now < until ? { kind: 'pending', until } : { kind: 'failed', message: trustBundlesNotSynced };
}

/** Syncs the pods that mount trust bundles. */
export function trustBundlesChanged(caller: AgentContext): void {
  const context = asObjectManager(caller);
  const { api, volumes } = context.state;
  if (api === null) return;
  const uids = [...volumes.pods.values()].flatMap(({ uid, pod }) => (usedVolumes(pod).some(showsTrustBundles) ? [uid] : []));
  notifyPods(context, uids, true);
}

/** A pod must run: reads the objects that it refers to. */
export function registerObjects(caller: AgentContext, uid: string, pod: Pod): void {
  const context = asObjectManager(caller);
  const { api } = context.state;
  if (api !== null) registerPod(api.objects, uid, pod, readingOf(context, api));
}

/** The pod is completely removed. */
export function unregisterObjects(caller: AgentContext, uid: string): void {
  const context = asObjectManager(caller);
  const { api } = context.state;
  if (api === null) return;
  unregisterPod(api.objects, uid, readingOf(context, api));
  forgetTokens(api.tokens, uid);
  forgetTokens(api.pluginTokens, uid);
  releasePodCertificates(context, uid);
  api.outdated.delete(uid);
  context.turn.end({ machine: tokenRefreshMachine, key: uid });
}

/** The work on its volumes has ended. @param outdated some don't have the API's current content */
export function volumesWorkedOn(caller: AgentContext, uid: string, pod: Pod, outdated: boolean): void {
  const context = asObjectManager(caller);
  const { api } = context.state;
  if (api === null) return;
  const { now } = context.turn;
  const refresh = nextTokenRefresh(api.tokens, uid);
  // A token that could not be replaced is requested again at the next refresh, and so are objects without a watch.
  const looks = outdated || (refresh !== null && refresh <= now) || (api.objects.strategy !== 'Watch' && showsObjects(pod));
  const look = looks ? now + Math.floor(context.state.settings.syncFrequency * (1 + 0.5 * context.turn.random('refresh', uid))) : null;
  const next = refresh !== null && refresh > now ? refresh : null;
  context.turn.wakeAt({ machine: tokenRefreshMachine, key: uid }, look === null ? next : next === null ? look : Math.min(look, next));
}

export function objectChanged(caller: AgentContext, { name: key }: ReflectorState, changes: readonly ObjectChange[], replaced: boolean): void {
  const context = asObjectManager(caller);
  const { api } = context.state;
  if (api === null) return;
  const saysOther = changes.some(isOtherContent);
  if (saysOther || replaced) notifyPods(context, podsOf(api.objects, key), saysOther && isShown(api.objects, key));
}

/** Ignores the metadata of a secret or config map, such as labels, which no pod uses. */
function isOtherContent(change: ObjectChange): boolean {
  if (change.type === 'delete' || change.previous === null) return true;
  const { metadata: _, ...content } = change.object;
  const { metadata: __, ...before } = change.previous;
  return !isSameJson(content, before);
}

export function objectReplied(context: ObjectManagerContext, key: string, { outcome }: AnswerOf<'apiReader.get'>): void {
  const { api } = context.state;
  if (api === null) return;
  objectFetched(api.objects, key, outcome);
  notifyPods(context, podsOf(api.objects, key), false);
}

export function tokenReplied(context: ObjectManagerContext, key: string, { outcome }: AnswerOf<'apiWriter.create'>): void {
  const { api } = context.state;
  if (api === null) return;
  const uid = tokenAnswered(api.tokens, key, outcome, askingOf(context, tokenMachine));
  if (!outcome.ok) context.turn.log('error', "Couldn't update token", { podUID: uid ?? '', err: outcome.error.message });
  if (uid !== null) notifyPods(context, [uid], false);
}

/** A token or a service account for credential provider plugins. */
export function serviceAccountReplied(context: ObjectManagerContext, key: string, { outcome }: AnswerOf<'apiReader.get'>): void {
  const { api } = context.state;
  if (api === null) return;
  serviceAccountRead(api.serviceAccounts, key, outcome);
  pullIdentityArrived(context);
}

/** The token of a service account, for a credential provider plugin. */
export function pluginTokenReplied(context: ObjectManagerContext, key: string, { outcome }: AnswerOf<'apiWriter.create'>): void {
  const { api } = context.state;
  if (api === null) return;
  tokenAnswered(api.pluginTokens, key, outcome, askingOf(context, pluginTokenMachine));
  pullIdentityArrived(context);
}

export function tokenDue(context: ObjectManagerContext, uid: string): void {
  const { api } = context.state;
  if (api !== null) notifyPods(context, [uid], true);
}

export function releaseIdleObjects(context: ObjectManagerContext): void {
  const { api } = context.state;
  if (api === null) return;
  const next = releaseIdle(api.objects, readingOf(context, api));
  api.idleLookPlanned = next !== null;
  context.turn.wakeAt(idleObjects, next);
}

/** A secret or config map in a volume, which strategies without a watch refresh periodically. */
function showsObjects(pod: Pod): boolean {
  return usedVolumes(pod).some((volume) => ['secret', 'configMap', 'projected'].includes(apiDataSource(volume) ?? ''));
}

function readingOf(context: ObjectManagerContext, api: ObjectApi): ObjectReading {
  const { turn } = context;
  return {
    now: turn.now,
    ttl: ttlOf(api),
    watched: (key) => {
      const reflector = api.reflectors.get(key);
      if (reflector === undefined) return null;
      const name = key.slice(key.indexOf(':') + 1);
      return { synced: reflector.synced, object: reflector.objects.get(name) ?? null, problem: reflector.unusable.get(name)?.problem ?? null };
    },
    watch: (key, selection) => {
      watchObjects(context, key, selection);
      if (api.idleLookPlanned) return;
      api.idleLookPlanned = true;
      turn.wakeAt(idleObjects, turn.now + api.objects.idleAfter);
    },
    unwatch: (key) => unwatchObjects(context, key),
    fetch: (key, resource, namespace, name, resourceVersion) =>
      turn.ask('apiReader.get', { machine: objectMachine, key }, 'get', { client: 'main', resource, namespace, name, resourceVersion }, requestTimeout),
  };
}

/** In a large cluster the Node has the maximum age of cached objects. */
function ttlOf(api: ObjectApi): Micros {
  const text = ownNode(api)?.metadata.annotations?.[ttlAnnotation] ?? '';
  return /^\d+$/.test(text) ? Number(text) * microsPerSecond : defaultObjectTtl;
}

function askingOf(context: ObjectManagerContext, machine: string): TokenAsking {
  const { turn } = context;
  return {
    clocks: { now: turn.now, wall: turn.wall },
    random: (key) => turn.random('token', key),
    ask: (key, request) => {
      const object: ApiObject = tokenRequestBody(request);
      const place = { client: 'main', resource: serviceAccounts, namespace: request.namespace } as const;
      turn.ask('apiWriter.create', { machine, key }, 'create', { ...place, name: request.serviceAccountName, subresource: 'token', object }, requestTimeout);
    },
  };
}
