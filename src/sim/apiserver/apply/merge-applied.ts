// Merges an applied configuration into the live object, and removes fields that are no longer applied. Invariant: neither argument is changed.

import { structOf } from '../../../domain/values/api-schema/api-schema.js';
import { type ApiFieldType, rootType } from '../../../domain/values/api-schema/field-types.js';
import type { JsonDraft } from '../api-request.js';
import { plainCopy } from '../patch/plain-copy.js';
import { isObject } from '../schema/decode.js';
import { type FieldPath, itemSegment } from './field-set.js';

export function mergeApplied(live: JsonDraft, applied: JsonDraft, struct: string): JsonDraft {
  return merge(live, applied, rootType(struct)) as JsonDraft;
}

function memberType(type: ApiFieldType, name: string): ApiFieldType | null {
  if (type.kind === 'struct') return structOf(type.struct).get(name) ?? null;
  return type.kind === 'map' ? type.item : null;
}

function merge(live: unknown, applied: unknown, type: ApiFieldType | null): unknown {
  if (isObject(live) && isObject(applied) && (type?.kind === 'struct' || type?.kind === 'map')) {
    const merged: JsonDraft = { ...live };
    for (const [name, value] of Object.entries(applied)) merged[name] = merge(live[name], value, memberType(type, name));
    return merged;
  }
  if (Array.isArray(live) && Array.isArray(applied) && type?.kind === 'list' && type.merge.by !== 'nothing') return mergeList(live, applied, type);
  return plainCopy(applied);
}

/** In the order of the applied list; items of other managers follow. */
function mergeList(live: readonly unknown[], applied: readonly unknown[], type: Extract<ApiFieldType, { kind: 'list' }>): unknown[] {
  const identify = identifierOf(type);
  const others = live.filter((item) => !applied.some((other) => identify(other) === identify(item)));
  return [
    ...applied.map((item) =>
      merge(
        live.find((other) => identify(other) === identify(item)),
        item,
        type.item,
      ),
    ),
    ...others,
  ];
}

function identifierOf({ merge: by }: Extract<ApiFieldType, { kind: 'list' }>): (item: unknown) => string {
  return by.by === 'keys' ? (item) => itemSegment(item, by.keys) : (item) => `v:${JSON.stringify(item)}`;
}

/** Removes fields, and containers that become empty. */
export function withoutFields(object: JsonDraft, paths: readonly FieldPath[], struct: string): JsonDraft {
  let result = object;
  const root: ApiFieldType = rootType(struct);
  // Members first, then the items that they were in.
  for (const path of [...paths].sort((a, b) => b.length - a.length)) result = remove(result, path, root) as JsonDraft;
  return result;
}

function remove(value: unknown, path: FieldPath, type: ApiFieldType | null): unknown {
  const [segment = '', ...rest] = path;
  if (segment.startsWith('f:') && isObject(value)) {
    const name = segment.slice(2);
    if (!Object.hasOwn(value, name)) return value;
    const left = rest.length === 0 ? undefined : remove(value[name], rest, type === null ? null : memberType(type, name));
    const { [name]: _gone, ...others } = value;
    return left === undefined || isEmpty(left) ? others : { ...value, [name]: left };
  }
  if (!Array.isArray(value) || type?.kind !== 'list') return value;
  const identify = identifierOf(type);
  const isWhole = rest.length === 0 || (rest.length === 1 && rest[0] === '.');
  return value.flatMap((item: unknown) => {
    if (identify(item) !== segment) return [item];
    return isWhole ? [] : [remove(item, rest, type.item)];
  });
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
