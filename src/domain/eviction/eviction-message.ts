// The texts of an eviction for users: the pod's status message, and the annotations of the event.
// Invariant: each sentence ends in a full stop and a space, the last one too.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStats, PodStats } from '../../ports/model/stats-summary.js';
import { compareQuantities, mustParseQuantity, type Quantity, quantityOf, quantityText, zeroQuantity } from '../values/quantity.js';
import type { SignalObservations } from './observations.js';
import { type StarvedResource, starvedResource } from './signals.js';
import { type EvictionThreshold, thresholdQuantity } from './thresholds.js';

export interface EvictionMessage {
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** @param thresholds the actionable ones, most urgent first: the first of the resource is named */
export function evictionMessage(
  resource: StarvedResource,
  pod: Pod,
  stats: PodStats | undefined,
  thresholds: readonly EvictionThreshold[],
  observations: SignalObservations,
): EvictionMessage {
  let message = `The node was low on resource: ${resource}. ${metThresholdText(resource, thresholds, observations)}`;
  if (stats === undefined) return { message, annotations: {} };
  const annotations: Record<string, string> = {};
  const podMemory = resource === 'memory' ? podLevelMemory(pod, stats) : null;
  if (podMemory !== null) {
    message += consumptionText('Pod', pod.metadata.name, podMemory, resource);
    annotations.offending_pod = pod.metadata.name;
    annotations.offending_pod_usage = quantityText(podMemory.usage);
  }
  const offenders = offendingContainers(resource, pod, stats);
  for (const offender of offenders) message += consumptionText('Container', offender.name, offender, resource);
  annotations.offending_containers = offenders.map(({ name }) => name).join(',');
  annotations.offending_containers_usage = offenders.map(({ usage }) => quantityText(usage)).join(',');
  annotations.starved_resource = resource;
  return { message, annotations };
}

interface Consumption {
  readonly usage: Quantity;
  readonly request: Quantity;
}

function consumptionText(what: 'Pod' | 'Container', name: string, { usage, request }: Consumption, resource: StarvedResource): string {
  return `${what} ${name} was using ${quantityText(usage)}, request is ${quantityText(request)}, has larger consumption of ${resource}. `;
}

function metThresholdText(resource: StarvedResource, thresholds: readonly EvictionThreshold[], observations: SignalObservations): string {
  for (const { signal, value } of thresholds) {
    const observed = observations.get(signal);
    if (starvedResource(signal) !== resource || observed === undefined) continue;
    return `Threshold quantity: ${quantityText(thresholdQuantity(value, observed.capacity))}, available: ${quantityText(observed.available)}. `;
  }
  return '';
}

/** Exceeded or not: the pod as a whole was accounted. null if it was not measured. */
function podLevelMemory(pod: Pod, stats: PodStats): Consumption | null {
  const request = pod.spec.resources?.requests?.memory;
  const used = stats.memory?.workingSetBytes;
  return request === undefined || used === undefined ? null : { usage: quantityOf(used, 'BinarySI'), request: mustParseQuantity(request) };
}

/** In the order of the stats. Ephemeral containers have no requests, so they would always exceed them; they are skipped. */
function offendingContainers(resource: StarvedResource, pod: Pod, stats: PodStats): (Consumption & { readonly name: string })[] {
  const containers = new Map<string, Container>();
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) if (!containers.has(container.name)) containers.set(container.name, container);
  return (stats.containers ?? []).flatMap((containerStats) => {
    const container = containers.get(containerStats.name);
    const used = container === undefined ? null : containerUsage(resource, containerStats);
    if (container === undefined || used === null) return [];
    const text = container.resources?.requests?.[resource];
    const request = text === undefined ? zeroQuantity : mustParseQuantity(text);
    const usage = quantityOf(used, 'BinarySI');
    return compareQuantities(usage, request) > 0 ? [{ name: container.name, usage, request }] : [];
  });
}

/** null if unknown, or not reported per container. */
function containerUsage(resource: StarvedResource, stats: ContainerStats): number | null {
  if (resource === 'memory') return stats.memory?.workingSetBytes ?? null;
  if (resource !== 'ephemeral-storage' || stats.rootfs?.usedBytes === undefined || stats.logs?.usedBytes === undefined) return null;
  return stats.rootfs.usedBytes + stats.logs.usedBytes;
}
