// Whether two sets of requests and limits are equal by amount, not by spelling.
import type { ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import { compareQuantities, mustParseQuantity } from '../values/quantity.js';

export function isSameRequirements(a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean {
  return a === b || (isSameList(a?.limits, b?.limits) && isSameList(a?.requests, b?.requests));
}

function isSameList(a: ResourceList | undefined, b: ResourceList | undefined): boolean {
  if (a === b) return true;
  const names = Object.keys(a ?? {});
  return names.length === Object.keys(b ?? {}).length && names.every((name) => isSameAmount(a?.[name], b?.[name]));
}

function isSameAmount(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || compareQuantities(mustParseQuantity(a), mustParseQuantity(b)) === 0;
}
