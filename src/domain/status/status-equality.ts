// Whether two pod statuses are equal for the kubelet, so that no update is needed.
// Invariant: ignores what others own (foreign conditions, claim statuses) and observation times.
import type { PodCondition, PodStatus } from '../../ports/model/pod-status.js';
import { compareQuantities, parseQuantity } from '../values/quantity.js';
import { isKubeletOwnedCondition, isSharedCondition } from './conditions.js';

const ownedByOthers: ReadonlySet<string> = new Set(['conditions', 'resourceClaimStatuses', 'extendedResourceClaimStatus', 'nodeAllocatableResourceClaimStatuses']);
/** Members that the API's types hold by value, so that empty and absent are equal. In contrast, `waiting: {}` has a meaning. */
const heldByValue: ReadonlySet<string> = new Set(['state', 'lastState', 'allocatedResources', 'limits', 'requests']);
const quantityLists: ReadonlySet<string> = new Set(['allocatedResources', 'limits', 'requests']);

/** Of normalized statuses. */
export function isPodStatusEqual(a: PodStatus, b: PodStatus): boolean {
  return areConditionsEqual(a.conditions ?? [], b.conditions ?? []) && areMembersEqual(a as Members, b as Members, ownedByOthers);
}

type Members = Readonly<Record<string, unknown>>;

function areConditionsEqual(a: readonly PodCondition[], b: readonly PodCondition[]): boolean {
  if (a.length === b.length && a.every((condition, i) => condition === b[i])) return true;
  const first = byType(a);
  const second = byType(b);
  if (first.size !== second.size) return false;
  return [...first].every(([type, condition]) => {
    const other = second.get(type);
    return other !== undefined && condition.status === other.status && (condition.reason ?? '') === (other.reason ?? '') && (condition.message ?? '') === (other.message ?? '');
  });
}

function byType(conditions: readonly PodCondition[]): ReadonlyMap<string, PodCondition> {
  return new Map(conditions.filter(({ type }) => isKubeletOwnedCondition(type) || isSharedCondition(type)).map((condition) => [condition.type, condition]));
}

function areMembersEqual(a: Members, b: Members, ignored: ReadonlySet<string>): boolean {
  for (const name in a) if (!ignored.has(name) && !areEqual(name, a[name], b[name])) return false;
  for (const name in b) if (!(name in a) && !ignored.has(name) && !areEqual(name, undefined, b[name])) return false;
  return true;
}

const nothingIgnored: ReadonlySet<string> = new Set();

function areEqual(name: string, a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (isEmpty(name, a) && isEmpty(name, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => areEqual('', item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  if (quantityLists.has(name)) return areQuantitiesEqual(a, b);
  return areMembersEqual(a, b, nothingIgnored);
}

function areQuantitiesEqual(a: Members, b: Members): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => isSameAmount(a[name], b[name]));
}

function isSameAmount(a: unknown, b: unknown): boolean {
  // Mostly so, and reading quantities is the dearest of a comparison.
  if (a === b) return true;
  if (typeof a !== 'string' || typeof b !== 'string') return Object.is(a, b);
  const [left, right] = [parseQuantity(a), parseQuantity(b)];
  return left.ok && right.ok ? compareQuantities(left.quantity, right.quantity) === 0 : a === b;
}

/** Whether a member equals its absence. */
function isEmpty(name: string, value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0) return true;
  if (value === false) return name !== 'started';
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && heldByValue.has(name) && Object.keys(value).length === 0;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
