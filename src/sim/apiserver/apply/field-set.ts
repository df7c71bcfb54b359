// Field ownership of server-side apply: leaves, and the items of lists that merge by key.
//
// | segment     | is                                                      |
// |-------------|---------------------------------------------------------|
// | `f:name`    | a member of a structure or a map                        |
// | `k:{...}`   | the item of a list with these keys                      |
// | `v:value`   | a value of a list that is a set                         |
// | `.`         | the item itself, beside its members                     |
//
// Invariant: a path names one place of the object, independent of the other contents.
import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { structOf } from '../../../domain/values/api-schema/api-schema.js';
import type { ApiFieldType } from '../../../domain/values/api-schema/field-types.js';
import type { JsonDraft } from '../api-request.js';
import { isObject } from '../schema/decode.js';

export type FieldPath = readonly string[];

export interface OwnedField {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** By the text of the path. */
export type FieldSet = ReadonlyMap<string, OwnedField>;

/** Fields with a fixed owner, or none. */
const unowned: ReadonlySet<string> = new Set(['apiVersion', 'kind']);
const unownedMetadata: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'managedFields',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generateName',
]);

export function pathText(path: FieldPath): string {
  return JSON.stringify(path);
}

/** The fields of an object of the kind; only those of its status for a write to the status. */
export function fieldsOf(object: JsonDraft, struct: string, ofStatus: boolean): FieldSet {
  const fields = new Map<string, OwnedField>();
  for (const [name, type] of structOf(struct)) {
    const value = object[name];
    if (value === undefined || unowned.has(name) || (name === 'status') !== (ofStatus && name !== 'metadata')) continue;
    if (name === 'metadata') {
      if (!ofStatus) for (const [part, partType] of structOf('ObjectMeta')) addMetadata(fields, part, (value as JsonDraft)[part], partType);
    } else collect(fields, value, type, [`f:${name}`]);
  }
  return fields;
}

function addMetadata(fields: Map<string, OwnedField>, part: string, value: unknown, type: ApiFieldType): void {
  if (value !== undefined && !unownedMetadata.has(part)) collect(fields, value, type, ['f:metadata', `f:${part}`]);
}

function add(fields: Map<string, OwnedField>, path: FieldPath, value: unknown): void {
  fields.set(pathText(path), { path, value });
}

function collect(fields: Map<string, OwnedField>, value: unknown, type: ApiFieldType | null, path: FieldPath): void {
  if (isObject(value) && (type?.kind === 'struct' || type?.kind === 'map')) {
    const members = Object.entries(value);
    if (members.length === 0) add(fields, path, value);
    const types = type.kind === 'struct' ? structOf(type.struct) : null;
    for (const [name, member] of members)
      collect(fields, member, types === null ? (type as { readonly item: ApiFieldType }).item : (types.get(name) ?? null), [...path, `f:${name}`]);
    return;
  }
  if (!Array.isArray(value) || type?.kind !== 'list' || type.merge.by === 'nothing') {
    add(fields, path, value);
    return;
  }
  for (const item of value as readonly unknown[]) {
    if (type.merge.by === 'value') add(fields, [...path, `v:${JSON.stringify(item)}`], item);
    else {
      const itemPath = [...path, itemSegment(item, type.merge.keys)];
      add(fields, [...itemPath, '.'], null);
      collect(fields, item, type.item, itemPath);
    }
  }
}

/** Absent keys have their defaults: a protocol is TCP. */
export function itemSegment(item: unknown, keys: readonly string[]): string {
  const given = isObject(item) ? item : {};
  const named = keys.map((key): [string, unknown] => [key, given[key] ?? (key === 'protocol' ? 'TCP' : null)]).filter(([, value]) => value !== null);
  return `k:${canonicalJson(Object.fromEntries(named))}`;
}

/** As `managedFields` has it. */
export function fieldsV1(paths: Iterable<FieldPath>): JsonDraft {
  const root: JsonDraft = {};
  for (const path of paths) {
    let node = root;
    for (const segment of path) {
      const next = (node[segment] ?? {}) as JsonDraft;
      node[segment] = next;
      node = next;
    }
  }
  return root;
}

export function pathsOfFieldsV1(tree: unknown, path: FieldPath = []): FieldPath[] {
  if (!isObject(tree)) return [];
  const members = Object.entries(tree);
  if (members.length === 0) return path.length === 0 ? [] : [path];
  return members.flatMap(([segment, below]) => pathsOfFieldsV1(below, [...path, segment]));
}

/** `.spec.containers[name="c"].image`, as conflicts name a field. */
export function shownPath(path: FieldPath): string {
  let text = '';
  for (const segment of path) {
    if (segment.startsWith('f:')) text += `.${segment.slice(2)}`;
    else if (segment.startsWith('k:')) {
      const keys = Object.entries(JSON.parse(segment.slice(2)) as object).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      text += `[${keys.join(',')}]`;
    } else if (segment.startsWith('v:')) text += `[=${segment.slice(2)}]`;
  }
  return text;
}
