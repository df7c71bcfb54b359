// Which objects of a collection a list or a watch is about: namespace, fields, labels.

import { type LabelRequirement, matchesLabelRequirements } from '../../domain/values/label-requirement.js';
import { type FieldRequirement, parseFieldSelectorText, parseLabelSelectorText } from '../../domain/values/selector-text.js';
import { badRequest } from './api-status.js';
import type { StoredObject } from './object-store.js';
import type { ResourceType } from './resource-types.js';

export interface Selection {
  readonly namespace: string | null;
  readonly fields: readonly FieldRequirement[];
  readonly labels: readonly LabelRequirement[];
}

export function readSelection(type: ResourceType, namespace: string | null, fieldSelector: string | null, labelSelector: string | null): Selection {
  const fields = parseFieldSelectorText(fieldSelector ?? '');
  if (!fields.ok) throw badRequest(fields.error);
  const labels = parseLabelSelectorText(labelSelector ?? '');
  if (!labels.ok) throw badRequest(labels.error);
  for (const { path } of fields.value) {
    if (path === 'metadata.name' || (path === 'metadata.namespace' && type.namespaced) || type.fields.includes(path)) continue;
    throw badRequest(`field label not supported: ${path}`);
  }
  return { namespace, fields: fields.value, labels: labels.value };
}

export function isSelected({ namespace, fields, labels }: Selection, object: StoredObject): boolean {
  if (namespace !== null && object.metadata.namespace !== namespace) return false;
  if (labels.length > 0 && matchesLabelRequirements(labels, object.metadata.labels ?? {}) !== true) return false;
  for (const { path, operator, value } of fields) if ((fieldOf(object, path) === value) !== (operator === '=')) return false;
  return true;
}

/** A field's text as field selectors compare it; absent is '', an absent truth is 'false'. */
function fieldOf(object: StoredObject, path: string): string {
  if (path === 'source') {
    const source = object.source as { readonly component?: string } | undefined;
    return source?.component ?? (object.reportingComponent as string | undefined) ?? '';
  }
  let value: unknown = object;
  for (const part of partsOf(path)) value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined;
  if (value === undefined || value === null) return path === 'spec.unschedulable' || path === 'spec.hostNetwork' ? 'false' : '';
  return String(value);
}

const knownParts = new Map<string, readonly string[]>();

/** Paths are those of the table of collections: a few. */
function partsOf(path: string): readonly string[] {
  let parts = knownParts.get(path);
  if (parts === undefined) {
    parts = path.split('.');
    knownParts.set(path, parts);
  }
  return parts;
}
