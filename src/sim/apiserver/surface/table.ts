// Objects as the table that clients ask for to print.
import type { Micros } from '../../../ports/micros.js';
import type { JsonObject } from '../api-request.js';
import type { StoredObject } from '../object-store.js';
import { type ResourceType, resourceKey } from '../resource-types.js';
import { columnsByResource, plainColumns } from './table-columns.js';

export interface TableRequest {
  readonly type: ResourceType;
  readonly objects: readonly StoredObject[];
  /** Of the list; of the object where there is one. */
  readonly metadata: JsonObject;
  /** What of each object comes along: `Object` all, `Metadata` what names it, `None` nothing. */
  readonly include: string;
  /** Events of a watch tell the columns once. */
  readonly withColumns: boolean;
  readonly now: Micros;
}

export function tableOf({ type, objects, metadata, include, withColumns, now }: TableRequest): JsonObject {
  const columns = columnsByResource[resourceKey(type)] ?? plainColumns;
  const definitions = columns.map(({ name, wide }) => {
    return { name, type: 'string', format: name === 'Name' ? 'name' : '', description: '', priority: wide === true ? 1 : 0 };
  });
  const rows = objects.map((object) => ({ cells: columns.map(({ cell }) => cell(object, now)), ...included(object, include) }));
  return { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions: withColumns ? definitions : [], rows } as unknown as JsonObject;
}

function included(object: StoredObject, include: string): object {
  if (include === 'None') return {};
  if (include === 'Object') return { object };
  return { object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } };
}
