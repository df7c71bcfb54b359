// Conversions between a document and a configuration: reading a document into a draft, filling in defaults, showing a configuration as a document.
// Invariant: `readDraft(showConfiguration(c))` with defaults applied is `c`, except for empty lists and maps, which the shown form omits.
import type { ParsedValue } from '../../ports/outbound/configuration-source.js';
import { configurationKind, configurationVersion, type DraftConfiguration, type KubeletConfiguration, kubeletFields } from './schema.js';
import type { Fields, Group, Setting } from './setting.js';
import { DocumentReader, isMap } from './value-kind.js';

export type DraftResult =
  | { readonly ok: true; readonly draft: DraftConfiguration /** Ascending. */; readonly unknownFields: readonly string[] }
  | { readonly ok: false; readonly error: string };

/** Reads the fields of a document; `apiVersion` and `kind` are the caller's business. */
export function readDraft(document: ParsedValue): DraftResult {
  const reader = new DocumentReader(configurationKind);
  if (!isMap(document)) return { ok: false, error: `json: cannot unmarshal ${Array.isArray(document) ? 'array' : typeof document} into ${configurationKind}` };
  const { apiVersion: _version, kind: _kind, ...fields } = document;
  const draft = readGroup(kubeletFields, fields, '', reader);
  if (reader.error !== null) return { ok: false, error: reader.error };
  return { ok: true, draft, unknownFields: reader.unknownFields.toSorted() };
}

function readGroup(fields: Fields, value: ParsedValue, path: string, reader: DocumentReader): DraftConfiguration {
  const draft = emptyDraft(fields);
  if (!isMap(value)) {
    reader.wrongType(path, value, 'object');
    return draft;
  }
  for (const [name, element] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const node = Object.hasOwn(fields, name) ? (fields[name] as Fields[string]) : null;
    if (node === null) reader.unknownFields.push(at);
    else if (element !== null) draft[name] = node.node === 'group' ? readGroup(node.fields as Fields, element, at, reader) : node.kind.read(element, at, reader);
  }
  return draft;
}

function emptyDraft(fields: Fields): DraftConfiguration {
  const draft: DraftConfiguration = {};
  for (const [name, node] of Object.entries(fields)) draft[name] = node.node === 'group' ? (node.optional ? null : emptyDraft(node.fields as Fields)) : null;
  return draft;
}

/** Fills in the table's defaults of unset settings. Defaults that depend on other settings come from defaults.ts, before this. */
export function fillFallbacks(draft: DraftConfiguration): KubeletConfiguration {
  return fillGroup(kubeletFields, draft) as unknown as KubeletConfiguration;
}

function fillGroup(fields: Fields, draft: DraftConfiguration): DraftConfiguration {
  const filled: DraftConfiguration = {};
  for (const [name, node] of Object.entries(fields)) filled[name] = node.node === 'group' ? fillBelow(node, draft[name]) : fillSetting(node, draft[name] ?? null);
  return filled;
}

function fillBelow(group: Group<Fields, unknown>, value: unknown): DraftConfiguration | null {
  if (group.optional && (value ?? null) === null) return null;
  return fillGroup(group.fields, (value ?? {}) as DraftConfiguration);
}

function fillSetting(setting: Setting<unknown>, value: unknown): unknown {
  switch (setting.presence) {
    case 'value':
    case 'shown':
      return value === null || isZero(value) ? setting.fallback : value;
    case 'pointer':
      return value ?? setting.fallback;
    case 'nullable':
      return value;
    case 'collection':
      return value ?? setting.fallback ?? setting.kind.zero;
  }
}

/** Nothing that a file could not also leave out. */
function isZero(value: unknown): boolean {
  if (value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== 'object' || value === null) return false;
  const keys = Object.keys(value);
  return keys.length === 0 || ('nanos' in value && value.nanos === 0);
}

/** The v1beta1 document that would give this configuration: what /configz and `check-config` show. */
export function showConfiguration(configuration: KubeletConfiguration): { readonly [key: string]: ParsedValue } {
  return { kind: configurationKind, apiVersion: configurationVersion, ...showGroup(kubeletFields, configuration as unknown as DraftConfiguration) };
}

function showGroup(fields: Fields, values: DraftConfiguration): { readonly [key: string]: ParsedValue } {
  const shown: Record<string, ParsedValue> = {};
  for (const [name, node] of Object.entries(fields)) {
    const value = values[name] ?? null;
    if (value === null) continue;
    if (node.node === 'group') shown[name] = showGroup(node.fields as Fields, value as DraftConfiguration);
    else if (!((node.presence === 'value' || node.presence === 'collection') && isZero(value))) shown[name] = node.kind.show(value);
  }
  return shown;
}
