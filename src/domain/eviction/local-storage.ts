// Pods that use more local disk than they may: an emptyDir beyond its size limit, the pod or a container beyond its ephemeral-storage limit.
// Invariant: "more" is strict, and a critical pod is spared.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStats } from '../../ports/model/stats-summary.js';
import { podLimits } from '../qos/pod-resources.js';
import { goQuote } from '../values/go-text.js';
import { isCriticalPod } from '../values/pod-kind.js';
import { compareQuantities, mustParseQuantity, type Quantity, quantityOf, quantitySign, quantityText, quantityValue } from '../values/quantity.js';
import { type Eviction, immediateGracePeriodSeconds } from './eviction.js';

interface Excess {
  readonly message: string;
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
}

/**
 * All pods beyond a limit, in the order given.
 * @param stats by uid
 * @param judged whose own limits count: those of all containers, or, as in the Go kubelet, of the regular ones alone
 */
export function localStorageEvictions(pods: readonly Pod[], stats: ReadonlyMap<string, PodStats>, dedicatedImageFs: boolean, judged: 'all' | 'regular' = 'all'): Eviction[] {
  return pods.flatMap((pod) => {
    const podStats = stats.get(pod.metadata.uid ?? '');
    if (podStats === undefined || isCriticalPod(pod)) return [];
    const excess =
      emptyDirExcess(pod, podStats) ?? podExcess(pod, podStats) ?? containerExcess(judged === 'all' ? resourceContainers(pod) : pod.spec.containers, podStats, dedicatedImageFs);
    return excess === null ? [] : [{ pod, gracePeriodSeconds: immediateGracePeriodSeconds, annotations: {}, condition: null, ...excess }];
  });
}

/** Any medium; a limit of 0 is none. Volumes whose usage wasn't measured can't be judged. */
function emptyDirExcess(pod: Pod, stats: PodStats): Excess | null {
  const used = new Map((stats.volume ?? []).flatMap(({ name, usedBytes }) => (usedBytes === undefined ? [] : [[name, usedBytes] as const])));
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const bytes = used.get(name);
    if (emptyDir?.sizeLimit === undefined || bytes === undefined) continue;
    const limit = mustParseQuantity(emptyDir.sizeLimit);
    if (quantitySign(limit) <= 0 || !isAbove(bytes, limit)) continue;
    return { message: `Usage of EmptyDir volume ${goQuote(name)} exceeds the limit ${goQuote(quantityText(limit))}. `, signal: 'emptydirfs.limit' };
  }
  return null;
}

/** One container with a limit is enough to give the pod one, and then all that the pod uses counts. */
function podExcess(pod: Pod, stats: PodStats): Excess | null {
  const limit = podLimits(pod).get('ephemeral-storage');
  if (limit === undefined || !isAbove(stats['ephemeral-storage']?.usedBytes ?? 0, limit)) return null;
  return { message: `Pod ephemeral local storage usage exceeds the total limit of containers ${quantityText(limit)}. `, signal: 'ephemeralpodfs.limit' };
}

/** Ephemeral containers have no resources. */
function resourceContainers({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function containerExcess(containers: readonly Container[], stats: PodStats, dedicatedImageFs: boolean): Excess | null {
  const limits = new Map<string, Quantity>();
  for (const { name, resources } of containers) {
    const text = resources?.limits?.['ephemeral-storage'];
    const limit = text === undefined ? null : mustParseQuantity(text);
    if (limit !== null && quantityValue(limit) !== 0n) limits.set(name, limit);
  }
  for (const { name, rootfs, logs } of stats.containers ?? []) {
    const limit = limits.get(name);
    const used = (logs?.usedBytes ?? 0) + (dedicatedImageFs ? 0 : (rootfs?.usedBytes ?? 0));
    if (limit === undefined || !isAbove(used, limit)) continue;
    return { message: `Container ${name} exceeded its local ephemeral storage limit ${goQuote(quantityText(limit))}. `, signal: 'ephemeralcontainerfs.limit' };
  }
  return null;
}

function isAbove(bytes: number, limit: Quantity): boolean {
  return compareQuantities(quantityOf(bytes), limit) > 0;
}
