// Converts a parsed manifest to static pods: decode, API defaults, static-pod defaults, validation, API references, in this order.
// Invariant: a manifest is accepted completely or not at all; the error is one line that names the fields.
import type { Pod } from '../../ports/model/pod.js';
import { apiReferenceProblem } from './api-references.js';
import { DecodeError, decodeObject, isPlainObject, type PlainObject } from './decode-object.js';
import type { PodDraft } from './draft.js';
import { applyPodDefaults } from './pod-defaults.js';
import { applyStaticPodDefaults, type ManifestOrigin } from './static-pod-defaults.js';
import { type FieldProblem, fieldProblemsText } from './validation/field-problem.js';
import { validatePod } from './validation/validate-pod.js';

export interface ManifestContext {
  readonly nodeName: string;
  readonly origin: ManifestOrigin;
  /** The feature PreventStaticPodAPIReferences. */
  readonly preventApiReferences: boolean;
}

export type ManifestRejection =
  /** Not a pod at all: wrong kind, wrong types. */
  | { readonly kind: 'unparsable'; readonly message: string }
  | { readonly kind: 'name-missing'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string; readonly problems: readonly FieldProblem[] }
  | { readonly kind: 'api-reference'; readonly message: string };

/** `unknownFields`: paths that were dropped, which is mostly a slip of the pen. */
export type DecodedManifest =
  | { readonly ok: true; readonly pods: readonly Pod[]; readonly unknownFields: readonly string[] }
  | { readonly ok: false; readonly rejection: ManifestRejection };

/** One pod; from a URL a list of pods, too, of which one bad item rejects all. */
export function decodeManifest(value: unknown, context: ManifestContext): DecodedManifest {
  const type = readTypeMeta(value);
  if (!type.ok) return unparsable(`invalid pod: ${type.message}`);
  const isList = context.origin.kind === 'http' && type.kind === 'PodList';
  if (type.apiVersion !== 'v1' || (type.kind !== 'Pod' && !isList)) {
    return unparsable(`invalid pod: kind ${JSON.stringify(type.kind)} of version ${JSON.stringify(type.apiVersion)} is not a v1 Pod`);
  }
  const pods: Pod[] = [];
  const unknownFields: string[] = [];
  try {
    const drafts = isList ? decodeItems(type.object, unknownFields) : [decodePod(type.object, '', unknownFields)];
    for (const draft of drafts) {
      const rejection = completePod(draft, context);
      if (rejection !== null) return { ok: false, rejection };
      pods.push(draft as Pod);
    }
  } catch (error) {
    if (error instanceof DecodeError) return unparsable(`invalid ${isList ? 'pods list' : 'pod'}: ${error.message}`);
    throw error;
  }
  return { ok: true, pods, unknownFields };
}

function unparsable(message: string): DecodedManifest {
  return { ok: false, rejection: { kind: 'unparsable', message } };
}

type TypeMeta = { readonly ok: true; readonly apiVersion: string; readonly kind: string; readonly object: PlainObject } | { readonly ok: false; readonly message: string };

/** The two fields of the object's type match case-insensitively; all others don't. */
function readTypeMeta(value: unknown): TypeMeta {
  if (!isPlainObject(value)) return { ok: false, message: value === null || value === undefined ? 'the document is empty' : 'the document is not an object' };
  const found = { apiversion: '', kind: '' };
  for (const [key, given] of Object.entries(value)) {
    const name = key.toLowerCase();
    if ((name !== 'apiversion' && name !== 'kind') || given === null) continue;
    if (typeof given !== 'string') return { ok: false, message: `${key}: expected a string` };
    found[name] = given;
  }
  if (found.kind === '') return { ok: false, message: 'kind is missing' };
  if (found.apiversion === '') return { ok: false, message: 'apiVersion is missing' };
  return { ok: true, apiVersion: found.apiversion, kind: found.kind, object: value };
}

function decodeItems(list: PlainObject, unknown: string[]): PodDraft[] {
  const { items } = list;
  if (items === null || items === undefined) return [];
  if (!Array.isArray(items)) throw new DecodeError('items', 'expected a list');
  return items.map((item: unknown, i) => decodePod(item, `items[${i}]`, unknown));
}

function decodePod(value: unknown, path: string, unknown: string[]): PodDraft {
  // The schema has just checked every field this type names.
  const pod = decodeObject(value, 'Pod', path, unknown) as unknown as PodDraft;
  pod.metadata ??= {} as PodDraft['metadata'];
  pod.spec ??= {} as PodDraft['spec'];
  return pod;
}

function completePod(pod: PodDraft, context: ManifestContext): ManifestRejection | null {
  applyPodDefaults(pod);
  if ((pod.metadata.name ?? '') === '') return { kind: 'name-missing', message: 'invalid pod: name is needed for the pod' };
  applyStaticPodDefaults(pod, context.origin, context.nodeName);
  const problems = validatePod(pod as Pod);
  if (problems.length > 0) return { kind: 'invalid', message: `invalid pod: ${fieldProblemsText(problems)}`, problems };
  const reference = apiReferenceProblem(pod.spec as Pod['spec'], context.preventApiReferences);
  return reference === null ? null : { kind: 'api-reference', message: reference };
}
