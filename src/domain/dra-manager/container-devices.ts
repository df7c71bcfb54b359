// The devices that a container has of its pod's claims, by their names in the Container Device Interface.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { View } from '../kernel/view.js';
import { type ClaimRecord, claimKey, type DraManager } from './dra-state.js';
import { claimUses } from './pod-claims.js';

/** Each once, in the order of the pod's claims. */
export function cdiDevicesOf(
  { claims }: View<DraManager>,
  pod: Pod,
  container: Container,
): { readonly ok: true; readonly value: readonly string[] } | { readonly ok: false; readonly message: string } {
  const uses = claimUses(pod, container);
  if (!uses.ok) return uses;
  const namespace = pod.metadata.namespace ?? '';
  const names = new Set<string>();
  for (const { claimName, request } of uses.value) {
    const claim = claims.get(claimKey(namespace, claimName));
    if (claim === undefined || !claim.podUids.has(pod.metadata.uid ?? ''))
      return { ok: false, message: `unable to get claim info for claim ${claimName} in namespace ${namespace}` };
    for (const name of devicesFor(claim, request)) names.add(name);
  }
  return { ok: true, value: [...names] };
}

/** @param request '': of all requests */
function devicesFor({ drivers }: View<ClaimRecord>, request: string): readonly string[] {
  const devices = [...drivers.values()].flat();
  const meant = devices.filter(({ requestNames }) => request === '' || requestNames === null || requestNames.length === 0 || requestNames.includes(request));
  return meant.flatMap(({ cdiDeviceIds }) => cdiDeviceIds ?? []);
}
