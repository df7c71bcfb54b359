// Strategic merge patch: as a merge patch, but lists merge by the key that the schema names, and directives remove items.
//
// | directive                        | where               | does                                             |
// |----------------------------------|---------------------|--------------------------------------------------|
// | `$patch: replace`                | map, item of a list | the given value replaces the map, or the list    |
// | `$patch: delete`                 | map, item of a list | empties the map, removes the item                |
// | `$deleteFromPrimitiveList/x`     | beside x            | removes these values from x                      |
// | `$setElementOrder/x`             | beside x            | the order of x's items, by key or by value; without it the patch's items have the order of the patch |
// | `$retainKeys`                    | map                 | removes other keys of the map                    |
//
// Invariant: the document given is not changed, and no directive gets into the result.
import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { structOf } from '../../../domain/values/api-schema/api-schema.js';
import { type ApiFieldType, rootType } from '../../../domain/values/api-schema/field-types.js';
import { byCodeUnits } from '../../../domain/values/text-order.js';
import type { JsonDraft } from '../api-request.js';
import { badRequest, unexpected } from '../api-status.js';
import { isObject } from '../schema/decode.js';
import { plainCopy } from './plain-copy.js';

const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

export function applyStrategicMergePatch(document: JsonDraft, patch: unknown, struct: string): JsonDraft {
  if (!isObject(patch)) throw badRequest('error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}');
  return mergeMap(document, patch, rootType(struct));
}

/** The type of a map's member, by the schema; null: not in the schema. */
function memberType(type: ApiFieldType | null, name: string): ApiFieldType | null {
  if (type?.kind === 'struct') return structOf(type.struct).get(name) ?? null;
  return type?.kind === 'map' ? type.item : null;
}

function mergeMap(original: JsonDraft, patch: JsonDraft, type: ApiFieldType | null): JsonDraft {
  const directive = patch.$patch;
  if (directive === 'replace') return withoutDirectives(patch, type) as JsonDraft;
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') throw badRequest(`Unknown patch type found: ${String(directive)}`);
  const merged: JsonDraft = { ...original };
  if (Array.isArray(patch.$retainKeys)) for (const key of Object.keys(merged)) if (!patch.$retainKeys.includes(key)) delete merged[key];
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deletePrefix) || key.startsWith(orderPrefix)) {
      const name = key.slice(key.indexOf('/') + 1);
      if (!Object.hasOwn(patch, name)) changeList(merged, name, [], patch, memberType(type, name));
    } else if (!key.startsWith('$')) mergeMember(merged, key, value, patch, memberType(type, key));
  }
  return merged;
}

function mergeMember(merged: JsonDraft, key: string, value: unknown, patch: JsonDraft, type: ApiFieldType | null): void {
  if (value === null) {
    delete merged[key];
    return;
  }
  const old = merged[key];
  if (Array.isArray(value) && type?.kind === 'list' && type.merge.by !== 'nothing') changeList(merged, key, value, patch, type);
  else if (isObject(value) && isObject(old)) setMember(merged, key, mergeMap(old, value, type));
  else setMember(merged, key, withoutDirectives(value, type));
}

function changeList(merged: JsonDraft, key: string, given: readonly unknown[], patch: JsonDraft, type: ApiFieldType | null): void {
  if (type?.kind !== 'list') return;
  const old = Array.isArray(merged[key]) ? (merged[key] as readonly unknown[]) : [];
  const order = patch[`${orderPrefix}${key}`];
  const { merge } = type;
  const list = merge.by === 'keys' ? mergeItems(old, given, merge.keys[0] as string, type.item) : mergeValues(old, given, patch[`${deletePrefix}${key}`]);
  const identify = (item: unknown): string => canonicalJson(merge.by === 'keys' ? ((item as JsonDraft)?.[merge.keys[0] as string] ?? null) : item);
  // Without an order of its own the patch's items are in the patch's order.
  const asked = Array.isArray(order) ? order : given.filter((item) => !isObject(item) || item.$patch === undefined);
  setMember(merged, key, inOrder(list, asked.map(identify), old.map(identify), identify));
}

function mergeValues(old: readonly unknown[], given: readonly unknown[], gone: unknown): unknown[] {
  const list = Array.isArray(gone) ? old.filter((item) => !gone.includes(item)) : [...old];
  for (const item of given) if (!list.includes(item)) list.push(item);
  return list;
}

function mergeItems(old: readonly unknown[], given: readonly unknown[], mergeKey: string, item: ApiFieldType): unknown[] {
  if (given.some((entry) => isObject(entry) && entry.$patch === 'replace')) {
    return given.filter((entry) => !isObject(entry) || entry.$patch === undefined).map((entry) => withoutDirectives(entry, item));
  }
  let list = [...old];
  for (const entry of given) {
    if (!isObject(entry)) throw badRequest(`expected a map in a list merged by ${mergeKey}`);
    const key = entry[mergeKey];
    if (key === undefined) throw unexpected(`map: ${goValue(entry)} does not contain declared merge key: ${mergeKey}`);
    const is = (other: unknown): boolean => isObject(other) && other[mergeKey] === key;
    if (entry.$patch === 'delete') {
      list = list.filter((other) => !is(other));
      continue;
    }
    const at = list.findIndex(is);
    if (at < 0) list.push(withoutDirectives(entry, item));
    else list[at] = mergeMap(list[at] as JsonDraft, entry, item);
  }
  return list;
}

/** Sorts items by the given order; other items of the server keep their place among them as far as possible. */
function inOrder(list: readonly unknown[], order: readonly string[], serverOrder: readonly string[], identify: (item: unknown) => string): unknown[] {
  const named = list.filter((item) => order.includes(identify(item))).sort((a, b) => order.indexOf(identify(a)) - order.indexOf(identify(b)));
  const others = list.filter((item) => !order.includes(identify(item)));
  const result: unknown[] = [];
  while (named.length > 0 || others.length > 0) {
    const place = (item: unknown): number => serverOrder.indexOf(identify(item));
    const [left, right] = [named[0], others[0]];
    const takesOther = named.length === 0 || (others.length > 0 && place(left) >= 0 && place(right) >= 0 && place(right) < place(left));
    result.push(takesOther ? right : left);
    (takesOther ? others : named).shift();
  }
  return result;
}

/** A new value: removes null members and items to be deleted. */
function withoutDirectives(value: unknown, type: ApiFieldType | null): unknown {
  if (Array.isArray(value)) {
    const item = type?.kind === 'list' ? type.item : null;
    return value.filter((entry) => !isObject(entry) || entry.$patch === undefined || entry.$patch === 'merge').map((entry) => withoutDirectives(entry, item));
  }
  if (!isObject(value)) return plainCopy(value);
  const clean: JsonDraft = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== null && !key.startsWith('$')) setMember(clean, key, withoutDirectives(member, memberType(type, key)));
  }
  return clean;
}

/** As Go prints it. */
function goValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (!isObject(value)) return value === null ? '<nil>' : String(value);
  const members = Object.entries(value).sort(([a], [b]) => byCodeUnits(a, b));
  return `map[${members.map(([key, member]) => `${key}:${goValue(member)}`).join(' ')}]`;
}

function setMember(target: JsonDraft, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
