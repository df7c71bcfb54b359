// Field managers, as in `metadata.managedFields`. Tracked for objects that were applied: before the first apply there is no entry, and
// fields written until then belong to `before-first-apply`.
//
// Invariants: an apply that would change a field of another manager is a conflict, unless it is forced; a field that its only manager no longer
// applies is removed; a plain write takes over the fields that it changes.

import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { instantOf } from '../../../domain/values/instant.js';
import { byCodeUnits } from '../../../domain/values/text-order.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import type { Micros } from '../../../ports/micros.js';
import type { Json, JsonDraft } from '../api-request.js';
import { refusal } from '../api-status.js';
import { type FieldPath, type FieldSet, fieldsOf, fieldsV1, pathsOfFieldsV1, pathText, shownPath } from './field-set.js';
import { mergeApplied, withoutFields } from './merge-applied.js';

const firstManager = 'before-first-apply';

interface Manager {
  readonly manager: string;
  readonly operation: string;
  readonly subresource: string;
  readonly apiVersion: string;
  readonly time: string;
  /** Path texts. */
  readonly owned: Map<string, FieldPath>;
}

export interface WriterName {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string | null;
  readonly now: Micros;
}

function readManagers(object: JsonDraft): Manager[] {
  const entries = ((object.metadata as JsonDraft).managedFields ?? []) as readonly JsonDraft[];
  return entries.map((entry) => ({
    manager: String(entry.manager ?? ''),
    operation: String(entry.operation ?? ''),
    subresource: String(entry.subresource ?? ''),
    apiVersion: String(entry.apiVersion ?? ''),
    time: String(entry.time ?? ''),
    owned: new Map(pathsOfFieldsV1(entry.fieldsV1).map((path) => [pathText(path), path])),
  }));
}

function written(managers: readonly Manager[]): JsonDraft[] {
  return managers
    .filter(({ owned }) => owned.size > 0)
    .map(({ manager, operation, subresource, apiVersion, time, owned }) => {
      const where = subresource === '' ? {} : { subresource };
      return { apiVersion, fieldsType: 'FieldsV1', fieldsV1: fieldsV1(owned.values()), manager, operation, ...where, time };
    });
}

function withManagers(object: JsonDraft, managers: readonly Manager[]): JsonDraft {
  return { ...object, metadata: { ...(object.metadata as JsonDraft), managedFields: written(managers) } };
}

/** The result of the apply. `live` is null for a new object. Throws 409 with the conflicts. */
export function applied(live: JsonDraft | null, config: JsonDraft, struct: string, writer: WriterName, force: boolean): JsonDraft {
  const ofStatus = writer.subresource === 'status';
  const wanted = fieldsOf(config, struct, ofStatus);
  const managers = live === null ? [] : managersOf(live, struct, writer);
  const isOwn = (one: Manager): boolean => one.manager === writer.manager && one.operation === 'Apply' && one.subresource === (writer.subresource ?? '');
  const others = managers.filter((one) => !isOwn(one));
  if (live !== null) settleConflicts(others, wanted, fieldsOf(live, struct, ofStatus), force);
  const previous = managers.find(isOwn);
  const before = previous?.owned ?? new Map<string, FieldPath>();
  const dropped = [...before].filter(([text]) => !wanted.has(text) && !others.some(({ owned }) => owned.has(text))).map(([, path]) => path);
  const merged = live === null ? config : withoutFields(mergeApplied(live, config, struct), dropped, struct);
  const own = newManager(writer, 'Apply', new Map([...wanted].map(([text, { path }]) => [text, path])));
  // Applying the same configuration again changes nothing, not even its time.
  const isSame =
    live !== null &&
    previous !== undefined &&
    canonicalJson([...before.keys()].sort()) === canonicalJson([...own.owned.keys()].sort()) &&
    canonicalJson(merged) === canonicalJson(live);
  return withManagers(merged, isSame ? managers : [...others, own]);
}

function managersOf(live: JsonDraft, struct: string, writer: WriterName): Manager[] {
  const known = readManagers(live);
  if (known.length > 0) return known;
  const fields = fieldsOf(live, struct, writer.subresource === 'status');
  return [newManager({ ...writer, manager: firstManager }, 'Update', new Map([...fields].map(([text, { path }]) => [text, path])))];
}

function newManager({ manager, apiVersion, subresource, now }: WriterName, operation: string, owned: Map<string, FieldPath>): Manager {
  return { manager, operation, subresource: subresource ?? '', apiVersion, time: formatRfc3339(instantOf(now)), owned };
}

function settleConflicts(others: readonly Manager[], wanted: FieldSet, live: FieldSet, force: boolean): void {
  const conflicts: { readonly manager: Manager; readonly path: FieldPath }[] = [];
  for (const [text, { path, value }] of wanted) {
    const now = live.get(text);
    if (now === undefined || canonicalJson(now.value) === canonicalJson(value)) continue;
    for (const manager of others) {
      if (!manager.owned.has(text)) continue;
      if (force) manager.owned.delete(text);
      else conflicts.push({ manager, path });
    }
  }
  if (conflicts.length > 0) throw conflictOf(conflicts);
}

function conflictOf(conflicts: readonly { readonly manager: Manager; readonly path: FieldPath }[]) {
  const causes: Json = conflicts.map(({ manager, path }) => {
    const message = `conflict with ${JSON.stringify(manager.manager)} using ${manager.apiVersion}`;
    return { reason: 'FieldManagerConflict', message, field: shownPath(path) };
  });
  const named = ({ manager }: Manager): string => managers.get(manager) ?? '';
  const managers = new Map(conflicts.map(({ manager }) => [manager.manager, `${JSON.stringify(manager.manager)} using ${manager.apiVersion}`]));
  const [first] = conflicts;
  if (first !== undefined && conflicts.length === 1) {
    return refusal(409, 'Conflict', `Apply failed with 1 conflict: conflict with ${named(first.manager)}: ${shownPath(first.path)}`, { causes });
  }
  const lines = [...managers]
    .sort(([x], [y]) => byCodeUnits(x, y))
    .flatMap(([name, text]) => {
      return [`conflicts with ${text}:`, ...conflicts.filter(({ manager }) => manager.manager === name).map(({ path }) => `- ${shownPath(path)}`)];
    });
  return refusal(409, 'Conflict', `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`, { causes });
}

/** After a plain write to an object that has managers: what changed belongs to the writer. */
export function afterUpdate(object: JsonDraft, old: JsonDraft, struct: string, writer: WriterName): JsonDraft {
  const managers = readManagers(old);
  if (managers.length === 0) return object;
  const ofStatus = writer.subresource === 'status';
  const [now, then] = [fieldsOf(object, struct, ofStatus), fieldsOf(old, struct, ofStatus)];
  const changed = new Map<string, FieldPath>();
  for (const [text, { path, value }] of now) {
    const was = then.get(text);
    if (was === undefined || canonicalJson(was.value) !== canonicalJson(value)) changed.set(text, path);
  }
  const isOwn = (one: Manager): boolean => one.manager === writer.manager && one.operation === 'Update' && one.subresource === (writer.subresource ?? '');
  for (const one of managers) for (const text of [...one.owned.keys()]) if ((changed.has(text) && !isOwn(one)) || (then.has(text) && !now.has(text))) one.owned.delete(text);
  if (changed.size === 0) return withManagers(object, managers);
  const own = managers.find(isOwn);
  const owned = new Map([...(own?.owned ?? []), ...changed]);
  return withManagers(object, [...managers.filter((one) => one !== own), newManager(writer, 'Update', owned)]);
}
