// The notation for API fields in the tables beside this file, and their types. It is the notation of the table of pod fields (pod-schema.ts) with additions for a
// server:
//
//   [name]T     a list merged by that key; [port,protocol]T: server-side apply identifies items by both
//   [=]T        a list that is a set           T!          required and not empty
//
// Invariant: an invalid notation is an error when the module is loaded.
import { type FieldType, type Presence, readPresence, type Scalar } from './pod-schema.js';

export type ApiFieldType = Presence & { readonly required: boolean } & (
    | { readonly kind: 'scalar'; readonly scalar: ApiScalar }
    | { readonly kind: 'struct'; readonly struct: string }
    | { readonly kind: 'list'; readonly item: ApiFieldType; readonly merge: ListMerge }
    | { readonly kind: 'map'; readonly item: ApiFieldType }
  );

/** `microTime` has six digits of a second; `bytes` is base64. */
export type ApiScalar = Scalar | 'microTime' | 'bytes';

export type ListMerge = { readonly by: 'nothing' } | { readonly by: 'value' } | { readonly by: 'keys'; readonly keys: readonly string[] };

export type ApiStruct = ReadonlyMap<string, ApiFieldType>;
export type StructTable = Readonly<Record<string, Readonly<Record<string, string>>>>;

const scalars: ReadonlySet<string> = new Set<ApiScalar>(['string', 'bool', 'int32', 'int64', 'quantity', 'time', 'microTime', 'bytes', 'intOrString', 'any']);

export function readFieldType(text: string, known: ReadonlySet<string>): ApiFieldType {
  const required = text.endsWith('!');
  const { bare, ...presence } = readPresence(required ? text.slice(0, -1) : text);
  const common = { required, ...presence, isAlways: presence.isAlways || (required && !presence.isPointer) };
  const list = /^\[([^\]]*)\](.*)$/.exec(bare);
  if (list !== null) return { kind: 'list', item: readFieldType(list[2] as string, known), merge: mergeOf(list[1] as string), ...common };
  if (bare.startsWith('map:')) return { kind: 'map', item: readFieldType(bare.slice(4), known), ...common };
  if (scalars.has(bare)) return { kind: 'scalar', scalar: bare as ApiScalar, ...common };
  if (!known.has(bare)) throw new Error(`API schema: no type ${bare}`);
  return { kind: 'struct', struct: bare, ...common };
}

function mergeOf(text: string): ListMerge {
  if (text === '') return { by: 'nothing' };
  return text === '=' ? { by: 'value' } : { by: 'keys', keys: text.split(',') };
}

/** A field of the table of pod fields; `merge` is missing in that table. */
export function fromPodField(type: FieldType, merge: ListMerge): ApiFieldType {
  const { isPointer, isAlways, omitsZero } = type;
  const common = { isPointer, isAlways, omitsZero, required: false };
  switch (type.kind) {
    case 'list':
      return { kind: 'list', item: fromPodField(type.item, { by: 'nothing' }), merge, ...common };
    case 'map':
      return { kind: 'map', item: fromPodField(type.item, { by: 'nothing' }), ...common };
    default:
      return { ...type, required: false };
  }
}

/** A whole object as if it were a field. */
export function rootType(struct: string): ApiFieldType {
  return { kind: 'struct', struct, isPointer: true, isAlways: false, omitsZero: false, required: false };
}
