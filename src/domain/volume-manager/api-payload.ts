// The current content of an API data volume, collected from the agent's copies. It is complete before anything on disk is
// touched: a failure leaves the current content unchanged.
import type { Micros } from '../../ports/micros.js';
import type { ConfigMap, Secret } from '../../ports/model/config-objects.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Volume } from '../../ports/model/volume.js';
import type { ApiData } from '../api-data/api-data.js';
import type { ObjectAnswer, ObjectKind } from '../api-data/object-manager.js';
import { apiDataPayload, apiDataSource, certificateOrders, objectsOfVolume, podFsUser, showsTrustBundles, type TokenLookup, tokenRequests } from '../volumes/api-data-volume.js';
import type { Lookup } from '../volumes/object-payload.js';
import type { PayloadResult } from '../volumes/volume-payload.js';
import type { VolumeContext } from './volume-kind.js';

/** `until`: the latest time of the next check. */
export interface PayloadPending {
  readonly pending: true;
  readonly until: Micros | null;
}

const standalone = 'not supported due to running kubelet in standalone mode';

/** @param since when the work on the volume began */
export function payloadOf(pod: Pod, volume: Volume, since: Micros, { apiData, nodeFacts }: VolumeContext): PayloadResult | PayloadPending {
  const { secrets, configMaps } = objectsOfVolume(volume);
  const requests = tokenRequests(volume, pod);
  const orders = certificateOrders(volume, pod);
  if (apiData === null && apiDataSource(volume) === 'projected' && secrets.length + configMaps.length + requests.length + orders.length > 0) {
    return { ok: false, message: `cannot setup projected volume ${volume.name} because kube client is not configured` };
  }
  const namespace = pod.metadata.namespace ?? '';
  const waits = new Waits();
  const facts = {
    secrets: lookups<Secret>(apiData, 'secret', namespace, secrets, since, waits),
    configMaps: lookups<ConfigMap>(apiData, 'configMap', namespace, configMaps, since, waits),
    tokens: requests.map((request): TokenLookup => {
      const answer = apiData?.token(request, since) ?? { kind: 'failed', message: 'cannot use TokenManager when kubelet is in standalone mode' };
      if (answer.kind === 'pending') waits.add(null);
      return answer.kind === 'found' ? { ok: true, token: answer.token } : { ok: false, message: answer.kind === 'failed' ? answer.message : '' };
    }),
  };
  const bundles = showsTrustBundles(volume) ? (apiData?.trustBundles(since) ?? null) : null;
  if (bundles?.kind === 'pending') waits.add(bundles.until);
  if (waits.any) return { pending: true, until: waits.until };
  if (bundles?.kind === 'failed') return { ok: false, message: bundles.message };
  const certificates = orders.map((order) => apiData?.podCertificate(order) ?? { kind: 'failed' as const, message: standalone });
  const trustBundles = bundles?.kind === 'found' ? bundles.bundles : null;
  const fsGroup = pod.spec.securityContext?.fsGroup ?? null;
  return apiDataPayload(volume, pod, { ...facts, trustBundles, certificates, nodeAllocatable: nodeFacts.allocatable, fsGroup, fsUser: podFsUser(pod) });
}

function lookupOf<T>(answer: ObjectAnswer): Lookup<T> {
  if (answer.kind === 'found') return { kind: 'found', object: answer.object as unknown as T };
  return answer.kind === 'pending' ? { kind: 'absent' } : answer;
}

function lookups<T>(apiData: ApiData | null, kind: ObjectKind, namespace: string, names: readonly string[], since: Micros, waits: Waits): ReadonlyMap<string, Lookup<T>> {
  return new Map(
    names.map((name) => {
      const answer = apiData?.object(kind, namespace, name, since) ?? { kind: 'failed', message: standalone };
      if (answer.kind === 'pending') waits.add(answer.until);
      return [name, lookupOf<T>(answer)];
    }),
  );
}

/** The pending objects, and the earliest time of the next check. */
class Waits {
  any = false;
  until: Micros | null = null;

  add(until: Micros | null): void {
    this.any = true;
    if (until !== null && (this.until === null || until < this.until)) this.until = until;
  }
}
