// The changes of a Node, as a strategic merge patch to its status subresource: others write to the same object, so the patch must contain only
// the kubelet's changes.
// Invariants: `spec` never gets into a patch; unknown fields are equal on both sides, so they are not touched; applying the patch to the
// original gives the updated labels, annotations and status.
import type { Node, NodeCondition, NodeStatus } from '../../ports/model/node.js';
import { canonicalJson } from '../kernel/canonical.js';
import { canonicalQuantity, parseQuantity } from '../values/quantity.js';
import { byCodeUnits } from '../values/text-order.js';

export const nodePatchType = 'application/strategic-merge-patch+json';
export const nodePatchSubresource = 'status';

type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/** `{}` when nothing that a patch may hold differs. */
export function nodeStatusPatch(original: Node, updated: Node): JsonObject {
  const metadata = {
    ...member('labels', mapPatch(original.metadata.labels ?? {}, updated.metadata.labels ?? {})),
    ...member('annotations', mapPatch(original.metadata.annotations ?? {}, updated.metadata.annotations ?? {})),
  };
  const before = canonicalStatus(original.status ?? {});
  const after = canonicalStatus(updated.status ?? {});
  const { conditions: oldConditions, addresses: oldAddresses, ...oldRest } = before;
  const { conditions: newConditions, addresses: newAddresses, ...newRest } = after;
  const status = {
    ...mapPatch(oldRest, newRest),
    ...conditionsPatch(oldConditions ?? [], newConditions ?? []),
    ...addressesPatch(oldAddresses ?? [], newAddresses ?? []),
  };
  return { ...member('metadata', metadata), ...member('status', status) };
}

/** Whether the status differs in more than heartbeats. Ignores labels, annotations, the order of conditions and empty values. */
export function nodeStatusChanged(original: NodeStatus, updated: NodeStatus): boolean {
  return comparable(original) !== comparable(updated);
}

function comparable(status: NodeStatus): string {
  const { conditions = [], ...rest } = canonicalStatus(status);
  const sorted = [...conditions].sort((a, b) => byCodeUnits(a.type, b.type)).map(({ lastHeartbeatTime: _time, ...condition }) => condition);
  return canonicalJson(withoutEmpty({ ...rest, conditions: sorted }));
}

/** Absent, null, '', 0, false and empty collections are one value on the wire of typed clients. */
function withoutEmpty(value: Json): Json {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item: Json) => withoutEmpty(item) ?? null);
  if (!isObject(value)) return value === null || value === '' || value === 0 || value === false ? undefined : value;
  const kept = Object.entries(value)
    .map(([key, item]) => [key, withoutEmpty(item)] as const)
    .filter(([, item]) => item !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Amounts in their one text; members without a value left out. */
function canonicalStatus(status: NodeStatus): NodeStatus {
  const kept = Object.fromEntries(Object.entries(status).filter(([, value]) => !isEmpty(value))) as NodeStatus;
  return {
    ...kept,
    ...(kept.capacity === undefined ? {} : { capacity: canonicalAmounts(kept.capacity) }),
    ...(kept.allocatable === undefined ? {} : { allocatable: canonicalAmounts(kept.allocatable) }),
  };
}

function canonicalAmounts(list: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(list).map(([name, text]) => {
      const parsed = parseQuantity(text);
      return [name, parsed.ok ? canonicalQuantity(parsed.quantity) : text];
    }),
  );
}

function isEmpty(value: Json): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Objects merge member by member, null removes one; anything else is replaced whole. */
function mapPatch(before: JsonObject, after: JsonObject): JsonObject {
  const patch: Record<string, Json> = {};
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const old = before[key];
    if (isObject(old) && isObject(value)) Object.assign(patch, member(key, mapPatch(old, value)));
    else if (canonicalJson(old) !== canonicalJson(value)) patch[key] = value;
  }
  for (const key of Object.keys(before)) if (before[key] !== undefined && after[key] === undefined) patch[key] = null;
  return patch;
}

/** Conditions merge by type: another writer's condition of another type stays. */
function conditionsPatch(before: readonly NodeCondition[], after: readonly NodeCondition[]): JsonObject {
  if (canonicalJson(before) === canonicalJson(after)) return {};
  // Without an old list no merge and no order is needed.
  if (before.length === 0) return { conditions: after };
  if (after.length === 0) return { conditions: null };
  const changed: JsonObject[] = [];
  for (const condition of after) {
    const old = before.find(({ type }) => type === condition.type);
    const patch = mapPatch({ ...old }, { ...condition });
    if (Object.keys(patch).length > 0) changed.push({ ...patch, type: condition.type });
  }
  const removed = before.filter(({ type }) => !after.some((condition) => condition.type === type)).map(({ type }) => ({ $patch: 'delete', type }));
  const conditions = [...changed, ...removed];
  return { '$setElementOrder/conditions': after.map(({ type }) => ({ type })), ...(conditions.length === 0 ? {} : { conditions }) };
}

/** Addresses merge by type, which loses one of two addresses of a type. So the patch replaces the whole list. */
function addressesPatch(before: readonly Json[], after: readonly Json[]): JsonObject {
  if (canonicalJson(before) === canonicalJson(after)) return {};
  return { addresses: before.length === 0 ? after : [...after, { $patch: 'replace' }] };
}

function member(key: string, value: JsonObject): JsonObject {
  return Object.keys(value).length === 0 ? {} : { [key]: value };
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
