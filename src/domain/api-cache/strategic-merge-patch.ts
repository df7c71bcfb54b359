// The strategic merge patch from one version of an object to another: the API merges maps member by member, some lists by a key
// of their items, and replaces everything else.
//
// Invariants: equal versions give an empty patch; equal parts are not in the patch, so that concurrent changes of others stay;
// applying the patch to the old version gives the new one, lists in its order; a member that is null counts as absent.
type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/** Lists that are merged, by the name of the member that holds them: the key of their items. All others are replaced whole. */
export type MergeKeys = Readonly<Record<string, string>>;

export function strategicMergePatch(before: JsonObject, after: JsonObject, mergeKeys: MergeKeys): JsonObject {
  const patch: Record<string, Json> = {};
  for (const name of Object.keys(after)) {
    const value = after[name] ?? undefined;
    const old = before[name] ?? undefined;
    if (value === undefined || isSameJson(old, value)) continue;
    const key = mergeKeys[name];
    if (key !== undefined && Array.isArray(old) && Array.isArray(value)) Object.assign(patch, listPatch(name, key, old as JsonObject[], value as JsonObject[], mergeKeys));
    else if (isObject(old) && isObject(value)) patch[name] = strategicMergePatch(old, value, mergeKeys);
    else patch[name] = value;
  }
  for (const name of Object.keys(before)) if (!isAbsent(before[name]) && isAbsent(after[name])) patch[name] = null;
  return patch;
}

/** Omits equal items, but lists the order of all. */
function listPatch(name: string, key: string, before: readonly JsonObject[], after: readonly JsonObject[], mergeKeys: MergeKeys): JsonObject {
  if (after.length === 0) return { [name]: null };
  if (before.length === 0) return { [name]: after };
  const changed: JsonObject[] = [];
  for (const item of after) {
    const old = before.find((candidate) => candidate[key] === item[key]);
    if (old === undefined) changed.push(item);
    else if (!isSameJson(old, item)) changed.push({ ...strategicMergePatch(old, item, mergeKeys), [key]: item[key] });
  }
  for (const old of before) if (!after.some((item) => item[key] === old[key])) changed.push({ $patch: 'delete', [key]: old[key] });
  return { [`$setElementOrder/${name}`]: after.map((item) => ({ [key]: item[key] })), ...(changed.length === 0 ? {} : { [name]: changed }) };
}

/** Deep equality; a member without a value is none, key order doesn't matter. */
export function isSameJson(a: Json, b: Json): boolean {
  if (a === b || (isAbsent(a) && isAbsent(b))) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSameJson(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  for (const name of Object.keys(a)) if (!isSameJson(a[name], b[name])) return false;
  for (const name of Object.keys(b)) if (!isAbsent(b[name]) && isAbsent(a[name])) return false;
  return true;
}

/** Servers write some members that have no value as null. */
function isAbsent(value: Json): boolean {
  return value === undefined || value === null;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
