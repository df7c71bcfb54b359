// Fields that the schema requires. Further requirements of a kind are in its rules.
import { type Problems, required } from '../../../domain/pod-sources/validation/field-problem.js';
import { structOf } from '../../../domain/values/api-schema/api-schema.js';
import type { ApiFieldType } from '../../../domain/values/api-schema/field-types.js';
import type { JsonDraft } from '../api-request.js';
import { isObject } from './decode.js';

export function checkRequiredFields(problems: Problems, value: JsonDraft, struct: string, path: string): void {
  for (const [name, type] of fieldsToLookAt(struct)) {
    const at = path === '' ? name : `${path}.${name}`;
    const given = value[name];
    if (given === undefined) {
      if (type.required) required(problems, at);
      continue;
    }
    checkField(problems, given, type, at);
  }
}

function checkField(problems: Problems, value: unknown, type: ApiFieldType, path: string): void {
  if (type.required && value === '') required(problems, path);
  if (type.kind === 'struct' && isObject(value)) checkRequiredFields(problems, value, type.struct, path);
  if (type.kind === 'list' && type.item.kind === 'struct') for (const [i, item] of (value as readonly unknown[]).entries()) checkField(problems, item, type.item, `${path}[${i}]`);
  if (type.kind === 'map' && type.item.kind === 'struct') for (const [key, item] of Object.entries(value as JsonDraft)) checkField(problems, item, type.item, `${path}[${key}]`);
}

const lookedAt = new Map<string, readonly (readonly [string, ApiFieldType])[]>();

/** The fields of a struct that are required, or that hold something that is. */
function fieldsToLookAt(struct: string): readonly (readonly [string, ApiFieldType])[] {
  let fields = lookedAt.get(struct);
  if (fields === undefined) {
    // Ends the recursion of a struct that contains itself.
    lookedAt.set(struct, [...structOf(struct)]);
    fields = [...structOf(struct)].filter(([, type]) => type.required || holdsRequired(type));
    lookedAt.set(struct, fields);
  }
  return fields;
}

function holdsRequired(type: ApiFieldType): boolean {
  if (type.kind === 'struct') return fieldsToLookAt(type.struct).length > 0;
  return type.kind !== 'scalar' && holdsRequired(type.item);
}
