// Create validation of resource requirements: names, amounts, requests against limits.
import type { ResourceList, ResourceRequirements } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import { isPodLevelResource, parsedList, podRequests } from '../../qos/pod-resources.js';
import { qualifiedNameProblems } from '../../values/dns-names.js';
import { compareQuantities, mustParseQuantity, parseQuantity, type Quantity, quantityMilliValue, quantitySign, quantityText, zeroQuantity } from '../../values/quantity.js';
import { hugePagesPrefix, isExtendedResource, isHugePageResource, isNativeResource } from '../../values/resource-name.js';
import { duplicate, forbidden, invalid, invalidFor, notFound, type Problems, required } from './field-problem.js';

const standardNames: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
const mustBeContainerResource = 'must be a standard resource for containers';

/** Only these may be overcommitted; for all others the request equals the limit. */
function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePageResource(name);
}

/** Problems of an amount of huge pages: whole pages, of a size that is one. */
function hugePagesProblem(name: string, quantity: Quantity): string | null {
  const size = parseQuantity(name.slice(hugePagesPrefix.length));
  if (!size.ok || quantitySign(size.quantity) <= 0) return `${name} has no valid page size`;
  const isWhole = quantityMilliValue(quantity) % quantityMilliValue(size.quantity) === 0n;
  return isWhole ? null : `${quantityText(quantity)} is not positive integer multiple of ${name}`;
}

export function validateRequirements(problems: Problems, field: string, resources: ResourceRequirements, claimNames: ReadonlySet<string>): void {
  const limits = validateAmounts(problems, `${field}.limits`, resources.limits ?? {});
  const requests = validateAmounts(problems, `${field}.requests`, resources.requests ?? {});
  for (const [name, request] of requests) validateRequest(problems, field, name, request, limits.get(name));
  const names = [...limits.keys(), ...requests.keys()];
  if (names.some(isHugePageResource) && !names.includes('cpu') && !names.includes('memory')) forbidden(problems, field, 'HugePages require cpu or memory');
  validateClaims(problems, `${field}.claims`, resources, claimNames);
}

/** Pod-level resources must cover the sum of the containers' requests, and each container's limits. */
export function validatePodLevelResources(problems: Problems, pod: Pod): void {
  const { resources } = pod.spec;
  if (resources === undefined) return;
  const field = 'spec.resources';
  if (resources.claims !== undefined) forbidden(problems, `${field}.claims`, 'claims cannot be set for Resources at pod-level');
  validateRequirements(problems, field, { ...(resources.limits && { limits: resources.limits }), ...(resources.requests && { requests: resources.requests }) }, new Set());
  const requests = parsedList(resources.requests);
  for (const [name, together] of podRequests(pod, { skipPodLevel: true, excludeOverhead: true })) {
    const given = requests.get(name) ?? zeroQuantity;
    if (!isPodLevelResource(name) || compareQuantities(together, given) <= 0) continue;
    invalid(problems, `${field}.requests[${name}]`, quantityText(given), `must be greater than or equal to aggregate container requests of ${quantityText(together)}`);
  }
  const limits = parsedList(resources.limits);
  for (const [i, container] of pod.spec.containers.entries()) {
    for (const [name, limit] of parsedList(container.resources?.limits)) {
      const whole = limits.get(name);
      if (whole === undefined || compareQuantities(limit, whole) <= 0) continue;
      invalid(problems, `${field}.containers[${i}][${name}].limits`, quantityText(limit), `must be less than or equal to pod limits of ${quantityText(whole)}`);
    }
  }
}

export function validateAmounts(problems: Problems, field: string, amounts: ResourceList): Map<string, Quantity> {
  const parsed = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(amounts)) {
    const at = `${field}[${name}]`;
    const quantity = mustParseQuantity(text);
    parsed.set(name, quantity);
    invalidFor(problems, at, name, qualifiedNameProblems(name));
    if (!name.includes('/') && !standardNames.has(name) && !isHugePageResource(name)) invalid(problems, at, name, mustBeContainerResource);
    if (quantitySign(quantity) < 0) invalid(problems, at, quantityText(quantity), 'must be greater than or equal to 0');
    if (isExtendedResource(name) && quantityMilliValue(quantity) % 1000n !== 0n) invalid(problems, at, quantityText(quantity), 'must be an integer');
    const hugePages = isHugePageResource(name) ? hugePagesProblem(name, quantity) : null;
    if (hugePages !== null) invalid(problems, at, quantityText(quantity), hugePages);
  }
  return parsed;
}

function validateRequest(problems: Problems, field: string, name: string, request: Quantity, limit: Quantity | undefined): void {
  const at = `${field}.requests`;
  if (limit === undefined) {
    if (!isOvercommitAllowed(name)) required(problems, `${field}.limits`, 'Limit must be set for non overcommitable resources');
    return;
  }
  const order = compareQuantities(request, limit);
  if (!isOvercommitAllowed(name) && order !== 0) invalid(problems, at, quantityText(request), `must be equal to ${name} limit of ${quantityText(limit)}`);
  else if (order > 0) invalid(problems, at, quantityText(request), `must be less than or equal to ${name} limit of ${quantityText(limit)}`);
}

function validateClaims(problems: Problems, field: string, resources: ResourceRequirements, claimNames: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const [i, claim] of (resources.claims ?? []).entries()) {
    const key = claim.request === undefined ? claim.name : `${claim.name}/${claim.request}`;
    if ((claim.name ?? '') === '') required(problems, `${field}[${i}]`);
    else if (!claimNames.has(claim.name)) notFound(problems, `${field}[${i}]`, claim.name);
    if (seen.has(key)) duplicate(problems, `${field}[${i}]`, key);
    seen.add(key);
  }
}
