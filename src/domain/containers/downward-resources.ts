// Requests and limits of a container as environment variables and as files of downwardAPI volumes (`resourceFieldRef`).
// Invariant: an unset limit reads as the maximum that the container may use: the pod's limit, else the node's allocatable amount.
import type { Container, ResourceList } from '../../ports/model/container.js';
import type { ResourceFieldSelector } from '../../ports/model/field-selector.js';
import type { Pod } from '../../ports/model/pod.js';
import { isZeroQuantity, mustParseQuantity, type Quantity, quantityMilliValue, quantityOf, quantityValue, zeroQuantity } from '../values/quantity.js';
import { isHugePageResource } from '../values/resource-name.js';
import type { Resolved } from './namespaces.js';

const one = quantityOf(1);
/** Huge pages are never overcommitted, so a missing limit of theirs is 0. */
const defaultedLimits: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];

/** A variable's value. Limits of other containers get defaults too, unless they are init containers. @param container the one that has the variable */
export function envResourceValue(pod: Pod, container: Container, selector: ResourceFieldSelector, allocatable: ResourceList): Resolved<string> {
  const name = selector.containerName ?? '';
  if (name === '') return resourceText(withDefaults(pod, container, allocatable), selector);
  const regular = pod.spec.containers.find((candidate) => candidate.name === name);
  if (regular !== undefined) return resourceText(withDefaults(pod, regular, allocatable), selector);
  const init = pod.spec.initContainers?.find((candidate) => candidate.name === name);
  return init === undefined ? notFound(name) : resourceText(init, selector);
}

/** A file's content; every container's limits get defaults. */
export function volumeResourceValue(pod: Pod, selector: ResourceFieldSelector, allocatable: ResourceList): Resolved<string> {
  const name = selector.containerName ?? '';
  const found = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((candidate) => candidate.name === name);
  return found === undefined ? notFound(name) : resourceText(withDefaults(pod, found, allocatable), selector);
}

function notFound(name: string): Resolved<never> {
  return { ok: false, message: `container ${name} not found` };
}

function withDefaults(pod: Pod, container: Container, allocatable: ResourceList): Container {
  const limits: Record<string, string> = { ...container.resources?.limits };
  for (const name of defaultedLimits) {
    if (isSet(limits[name])) continue;
    const podLimit = pod.spec.resources?.limits?.[name];
    const fallback = isSet(podLimit) ? podLimit : allocatable[name];
    if (fallback !== undefined) limits[name] = fallback;
  }
  return { ...container, resources: { ...container.resources, limits } };
}

function isSet(amount: string | undefined): amount is string {
  return amount !== undefined && !isZeroQuantity(mustParseQuantity(amount));
}

function resourceText(container: Container, selector: ResourceFieldSelector): Resolved<string> {
  const [, side, name] = /^(limits|requests)\.(.+)$/.exec(selector.resource) ?? [];
  if (name === undefined || !(defaultedLimits.includes(name) || isHugePageResource(name))) {
    return { ok: false, message: `unsupported container resource : ${selector.resource}` };
  }
  const text = container.resources?.[side as 'limits' | 'requests']?.[name];
  const amount = text === undefined ? zeroQuantity : mustParseQuantity(text);
  const divisor = selector.divisor === undefined ? zeroQuantity : mustParseQuantity(selector.divisor);
  return { ok: true, value: quotient(amount, isZeroQuantity(divisor) ? one : divisor, name === 'cpu' ? quantityMilliValue : quantityValue) };
}

/** Rounded up, so that a small amount never reads as zero; in doubles, as in the API's reference. */
function quotient(amount: Quantity, divisor: Quantity, unit: (quantity: Quantity) => bigint): string {
  return BigInt(Math.ceil(Number(unit(amount)) / Number(unit(divisor)))).toString();
}
