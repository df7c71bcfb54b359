// In-place resize (KEP-1287): which running containers have resources other than those last given to the runtime, and whether they
// can get them while they run.
// Invariant: what shrinks is applied before what grows, so that the pod's own limit holds at each step.
import type { Container, ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { mustParseQuantity, quantityMilliValue, quantityValue } from '../values/quantity.js';

/** The resources last given to the runtime. A container without an entry was given none. */
export interface ActuatedResources {
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  /** Pod-level resources; null when there were none. */
  readonly pod: ResourceRequirements | null;
}

/** 0: none. */
export interface ContainerResourceValues {
  readonly memoryLimitBytes: number;
  readonly memoryRequestBytes: number;
  readonly cpuLimitMilli: number;
  readonly cpuRequestMilli: number;
}

export interface ContainerToUpdate {
  readonly id: string;
  readonly name: string;
  readonly desired: ContainerResourceValues;
  readonly current: ContainerResourceValues;
}

export type ResizeDecision =
  | { readonly kind: 'none' }
  /** A resource that differs has the resize policy RestartContainer. */
  | { readonly kind: 'restart' }
  | { readonly kind: 'inPlace'; readonly cpu: Direction | null; readonly memory: Direction | null; readonly update: ContainerToUpdate };

/** Whether the value that decides becomes smaller or larger: the limit if it differs, else the request. */
export type Direction = 'shrink' | 'grow';

/** Compares a running container's allocated resources with its actuated ones. Limits default to the pod's. */
export function decideResize(pod: Pod, container: Container, containerId: string, actuated: ActuatedResources): ResizeDecision {
  const wanted = withPodLimits(container.resources, pod.spec.resources);
  const given = withPodLimits(actuated.containers.get(container.name), actuated.pod ?? undefined);
  if (resourceTextsEqual(wanted, given)) return { kind: 'none' };
  const desired = valuesOf(wanted);
  const current = valuesOf(given);
  const memory = directionOf(desired.memoryLimitBytes, current.memoryLimitBytes, desired.memoryRequestBytes, current.memoryRequestBytes);
  const cpu = directionOf(desired.cpuLimitMilli, current.cpuLimitMilli, desired.cpuRequestMilli, current.cpuRequestMilli);
  if (memory === null && cpu === null) return { kind: 'none' };
  if ((memory !== null && needsRestart(container, 'memory')) || (cpu !== null && needsRestart(container, 'cpu'))) return { kind: 'restart' };
  return { kind: 'inPlace', cpu, memory, update: { id: containerId, name: container.name, desired, current } };
}

/** Queues an update: what grows at the end, what shrinks in front. */
export function queueUpdate(queue: ContainerToUpdate[], update: ContainerToUpdate, direction: Direction): void {
  if (direction === 'grow') queue.push(update);
  else queue.unshift(update);
}

/** Whether the pod-level cpu or memory differs from what the pod's cgroup was last given. */
export function podLevelResourcesDiffer(pod: Pod, actuated: ActuatedResources): boolean {
  const wanted = resourceTexts(pod.spec.resources);
  const given = resourceTexts(actuated.pod ?? undefined);
  if (resourceTextsEqual(wanted, given)) return false;
  const desired = valuesOf(wanted);
  const current = valuesOf(given);
  return (
    desired.cpuLimitMilli !== current.cpuLimitMilli ||
    desired.cpuRequestMilli !== current.cpuRequestMilli ||
    desired.memoryLimitBytes !== current.memoryLimitBytes ||
    desired.memoryRequestBytes !== current.memoryRequestBytes
  );
}

/** The four amounts as text; most syncs find them equal and parse nothing. */
interface ResourceTexts {
  readonly cpuLimit: string | undefined;
  readonly cpuRequest: string | undefined;
  readonly memoryLimit: string | undefined;
  readonly memoryRequest: string | undefined;
}

function resourceTexts(resources: ResourceRequirements | undefined): ResourceTexts {
  return withPodLimits(resources, undefined);
}

function withPodLimits(own: ResourceRequirements | undefined, pod: ResourceRequirements | undefined): ResourceTexts {
  const limit = (name: string): string | undefined => amount(own?.limits, name) ?? amount(pod?.limits, name);
  return { cpuLimit: limit('cpu'), memoryLimit: limit('memory'), cpuRequest: amount(own?.requests, 'cpu'), memoryRequest: amount(own?.requests, 'memory') };
}

function amount(list: ResourceList | undefined, name: string): string | undefined {
  return list?.[name];
}

function resourceTextsEqual(a: ResourceTexts, b: ResourceTexts): boolean {
  return a.cpuLimit === b.cpuLimit && a.cpuRequest === b.cpuRequest && a.memoryLimit === b.memoryLimit && a.memoryRequest === b.memoryRequest;
}

function valuesOf(texts: ResourceTexts): ContainerResourceValues {
  return {
    memoryLimitBytes: bytes(texts.memoryLimit),
    memoryRequestBytes: bytes(texts.memoryRequest),
    cpuLimitMilli: milli(texts.cpuLimit),
    cpuRequestMilli: milli(texts.cpuRequest),
  };
}

function bytes(text: string | undefined): number {
  return text === undefined ? 0 : Number(quantityValue(mustParseQuantity(text)));
}

function milli(text: string | undefined): number {
  return text === undefined ? 0 : Number(quantityMilliValue(mustParseQuantity(text)));
}

function directionOf(desiredLimit: number, currentLimit: number, desiredRequest: number, currentRequest: number): Direction | null {
  if (desiredLimit !== currentLimit) return desiredLimit > currentLimit ? 'grow' : 'shrink';
  if (desiredRequest !== currentRequest) return desiredRequest > currentRequest ? 'grow' : 'shrink';
  return null;
}

/** The last entry for a resource counts. */
function needsRestart(container: Container, resourceName: string): boolean {
  return container.resizePolicy?.findLast((policy) => policy.resourceName === resourceName)?.restartPolicy === 'RestartContainer';
}
