// Objects as the table that clients request for printing.
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
  /** How much of each object to include: `Object` all, `Metadata` its metadata, `None` nothing. */
  readonly include: string;
  /** Only the first event of a watch has the columns. */
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
