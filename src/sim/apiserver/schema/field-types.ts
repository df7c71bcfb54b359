// How a field of the API is written in the tables beside this file, and what it is read as. The notation is that of the domain's table of
// pod fields, with what a server has to know on top:
//
//   *T          tells unset from zero          []T         a list that is replaced whole
//   map:T       a map with text keys           [name]T     a list merged by that key; [port,protocol]T: server-side apply knows items by both
//   [=]T        a list that is a set           T!          must be there, and must not be empty
//
// Invariant: what isn't understood is an error when the module is loaded.
import type { FieldType, Scalar } from '../../../domain/pod-sources/pod-schema.js';

export type ApiFieldType =
  | { readonly kind: 'scalar'; readonly scalar: ApiScalar; readonly keepsZero: boolean; readonly required: boolean }
  | { readonly kind: 'struct'; readonly struct: string; readonly keepsZero: boolean; readonly required: boolean }
  | { readonly kind: 'list'; readonly item: ApiFieldType; readonly merge: ListMerge; readonly required: boolean }
  | { readonly kind: 'map'; readonly item: ApiFieldType; readonly required: boolean };

/** `microTime` has six digits of a second; `bytes` is base64. */
export type ApiScalar = Scalar | 'microTime' | 'bytes';

export type ListMerge = { readonly by: 'nothing' } | { readonly by: 'value' } | { readonly by: 'keys'; readonly keys: readonly string[] };

export type ApiStruct = ReadonlyMap<string, ApiFieldType>;
export type StructTable = Readonly<Record<string, Readonly<Record<string, string>>>>;

const scalars: ReadonlySet<string> = new Set<ApiScalar>(['string', 'bool', 'int32', 'int64', 'quantity', 'time', 'microTime', 'bytes', 'intOrString', 'any']);

export function readFieldType(text: string, known: ReadonlySet<string>): ApiFieldType {
  const required = text.endsWith('!');
  const bare = required ? text.slice(0, -1) : text;
  const list = /^\[([^\]]*)\](.*)$/.exec(bare);
  if (list !== null) return { kind: 'list', item: readFieldType(list[2] as string, known), merge: mergeOf(list[1] as string), required };
  if (bare.startsWith('map:')) return { kind: 'map', item: readFieldType(bare.slice(4), known), required };
  const keepsZero = bare.startsWith('*');
  const name = keepsZero ? bare.slice(1) : bare;
  if (scalars.has(name)) return { kind: 'scalar', scalar: name as ApiScalar, keepsZero, required };
  if (!known.has(name)) throw new Error(`API schema: no type ${name}`);
  return { kind: 'struct', struct: name, keepsZero, required };
}

function mergeOf(text: string): ListMerge {
  if (text === '') return { by: 'nothing' };
  return text === '=' ? { by: 'value' } : { by: 'keys', keys: text.split(',') };
}

/** A field of the domain's table; `merge` is what that table doesn't say. */
export function fromPodField(type: FieldType, merge: ListMerge): ApiFieldType {
  switch (type.kind) {
    case 'list':
      return { kind: 'list', item: fromPodField(type.item, { by: 'nothing' }), merge, required: false };
    case 'map':
      return { kind: 'map', item: fromPodField(type.item, { by: 'nothing' }), required: false };
    default:
      return { ...type, required: false };
  }
}
