// One object, or a list of them, in the client's form: unchanged, as a table, or as its metadata.
import type { Micros } from '../../ports/micros.js';
import { type JsonObject, type ResourceType, type StoredObject, tableOf } from '../../sim/index.js';
import type { WantedForm } from './answers.js';

export interface FormOptions {
  readonly form: WantedForm;
  readonly type: ResourceType;
  readonly includeObject: string;
  readonly now: Micros;
}

const metaVersion = 'meta.k8s.io/v1';

/** The body of an answer with an object or a list of the collection; anything else (a Status) is unchanged. */
export function inForm(body: JsonObject, { form, type, includeObject, now }: FormOptions): JsonObject {
  const isList = body.kind === `${type.kind}List`;
  if (!isList && body.kind !== type.kind) return body;
  if (form === 'table') {
    const objects = (isList ? body.items : [body]) as unknown as readonly StoredObject[];
    const { resourceVersion, continue: next, remainingItemCount } = body.metadata as JsonObject;
    const metadata = {
      resourceVersion: resourceVersion ?? '',
      ...(next === undefined ? {} : { continue: next }),
      ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
    };
    return tableOf({ type, objects, metadata, include: includeObject, withColumns: true, now });
  }
  if (form === 'metadata') {
    if (!isList) return { kind: 'PartialObjectMetadata', apiVersion: metaVersion, metadata: body.metadata as JsonObject };
    const items = (body.items as unknown as readonly StoredObject[]).map(({ metadata }) => ({ metadata }));
    return { kind: 'PartialObjectMetadataList', apiVersion: metaVersion, metadata: body.metadata, items } as unknown as JsonObject;
  }
  if (!isList) return body;
  // The items of a typed list have no kind, the list does.
  const items = (body.items as unknown as readonly StoredObject[]).map(({ kind: _kind, apiVersion: _version, ...rest }) => rest);
  return { ...body, items } as unknown as JsonObject;
}

/** The object of a watch event. */
export function eventInForm(object: JsonObject, isFirst: boolean, { form, type, includeObject, now }: FormOptions): JsonObject {
  if (form === 'table' && object.kind === type.kind) {
    const { resourceVersion = '' } = object.metadata as { readonly resourceVersion?: string };
    return tableOf({ type, objects: [object as unknown as StoredObject], metadata: { resourceVersion }, include: includeObject, withColumns: isFirst, now });
  }
  return form === 'metadata' && object.kind === type.kind ? { kind: 'PartialObjectMetadata', apiVersion: metaVersion, metadata: object.metadata as JsonObject } : object;
}
