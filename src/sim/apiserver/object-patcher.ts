// Patches: the whole object that results from each of the four kinds of patch, and the refusals of each kind.
import type { PatchKind } from '../../ports/model/api-object.js';
import type { FieldValidation, JsonDraft } from './api-request.js';
import { type ApiRefusal, badRequest, invalidObject } from './api-status.js';
import type { ObjectDraft } from './kinds/kind-rules.js';
import type { StoredObject } from './object-store.js';
import { readObject } from './object-writer.js';
import { applyJsonPatch } from './patch/json-patch.js';
import { applyMergePatch } from './patch/merge-patch.js';
import { applyStrategicMergePatch } from './patch/strategic-merge-patch.js';
import type { ResourceType } from './resource-types.js';
import { isObject } from './schema/decode.js';

/** Characters of a patch in a refusal. */
const maxShownPatch = 400;

/** The object as a draft, decoded strictly; unknown fields are reported in the real server's words for a patch. */
export function patchedObject(
  object: StoredObject,
  patch: Exclude<PatchKind, 'apply-patch'>,
  body: unknown,
  type: ResourceType,
  validation: FieldValidation,
  warnings: string[],
): ObjectDraft {
  const patched = applied(object as unknown as JsonDraft, patch, body, type);
  if (!isObject(patched)) throw badRequest('the patch leaves no object');
  const refuse = (text: string): ApiRefusal => {
    if (!text.startsWith('strict decoding error')) return badRequest(text);
    const message = `patch: Invalid value: ${JSON.stringify(JSON.stringify(body)).slice(0, maxShownPatch)}: ${text}`;
    return invalidObject({ group: '' }, '', '', [{ type: 'FieldValueInvalid', field: 'patch', message }]);
  };
  return readObject(patched, type, type.kind, validation, warnings, refuse);
}

function applied(object: JsonDraft, patch: Exclude<PatchKind, 'apply-patch'>, body: unknown, type: ResourceType): unknown {
  switch (patch) {
    case 'json-patch':
      return applyJsonPatch(object, body);
    case 'merge-patch':
      return applyMergePatch(object, body);
    case 'strategic-merge-patch':
      return applyStrategicMergePatch(object, body, type.kind);
  }
}
