// JSON patch (RFC 6902). Invariant: all operations or none; the document given is not changed.

import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { badRequest, refusal } from '../api-status.js';
import { isObject } from '../schema/decode.js';
import { plainCopy } from './plain-copy.js';

/** The server's limit. */
const maxOperations = 10_000;

type Operation = { readonly op?: unknown; readonly path?: unknown; readonly from?: unknown; readonly value?: unknown };

export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp');
  if (patch.length > maxOperations) throw refusal(413, 'RequestEntityTooLarge', `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`);
  let result = plainCopy(document);
  for (const operation of patch as readonly unknown[]) {
    if (!isObject(operation)) throw badRequest('error decoding patch: json: cannot unmarshal into Go value of type handlers.jsonPatchOp');
    result = applyOne(result, operation);
  }
  return result;
}

function applyOne(document: unknown, operation: Operation): unknown {
  const { op, path, from, value } = operation;
  if (typeof path !== 'string') throw unprocessable('missing path');
  switch (op) {
    case 'add':
      return add(document, path, plainCopy(value));
    case 'remove':
      return remove(document, path);
    case 'replace':
      if (path === '') return plainCopy(value);
      valueAt(document, path);
      return put(document, path, plainCopy(value));
    case 'test':
      if (canonicalJson(valueAt(document, path, true) ?? null) !== canonicalJson(value ?? null)) throw unprocessable(`testing value ${path} failed`);
      return document;
    case 'copy':
    case 'move': {
      if (typeof from !== 'string') throw unprocessable('missing from');
      const moved = plainCopy(valueAt(document, from));
      return add(op === 'move' ? remove(document, from) : document, path, moved);
    }
    default:
      throw unprocessable(`Unexpected kind: ${String(op)}`);
  }
}

/** The answer hides the reason; only the error's cause has it. */
function unprocessable(why: string) {
  return Object.assign(refusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {}), { cause: why });
}

function segmentsOf(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) throw unprocessable(`the path ${path} does not begin with /`);
  return path
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function parentOf(document: unknown, path: string): { readonly parent: unknown; readonly last: string } {
  const segments = segmentsOf(path);
  const last = segments.pop();
  if (last === undefined) throw unprocessable('the whole document can not be meant');
  let parent = document;
  for (const segment of segments) {
    parent = memberOf(parent, segment);
    if (parent === undefined) throw unprocessable(`doc is missing path: ${path}: missing value`);
  }
  return { parent, last };
}

function memberOf(value: unknown, segment: string): unknown {
  if (Array.isArray(value)) return /^\d+$/.test(segment) ? value[Number(segment)] : undefined;
  return isObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
}

function valueAt(document: unknown, path: string, mayMiss = false): unknown {
  let value = document;
  for (const segment of segmentsOf(path)) value = memberOf(value, segment);
  if (value === undefined && !mayMiss) throw unprocessable(`doc is missing key: ${path}: missing value`);
  return value;
}

function add(document: unknown, path: string, value: unknown): unknown {
  if (path === '') return value;
  const { parent, last } = parentOf(document, path);
  if (Array.isArray(parent)) {
    const at = last === '-' ? parent.length : Number(last);
    if (!Number.isInteger(at) || at < 0 || at > parent.length) throw unprocessable(`Unable to access invalid index: ${last}: invalid index referenced`);
    parent.splice(at, 0, value);
    return document;
  }
  return put(document, path, value);
}

function put(document: unknown, path: string, value: unknown): unknown {
  const { parent, last } = parentOf(document, path);
  if (Array.isArray(parent)) parent[Number(last)] = value;
  else if (isObject(parent)) Object.defineProperty(parent, last, { value, enumerable: true, writable: true, configurable: true });
  else throw unprocessable(`doc is missing path: ${path}: missing value`);
  return document;
}

function remove(document: unknown, path: string): unknown {
  valueAt(document, path);
  const { parent, last } = parentOf(document, path);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isObject(parent)) delete parent[last];
  return document;
}
