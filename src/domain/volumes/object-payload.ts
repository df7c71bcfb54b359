// Secrets, config maps and fields of the pod as files.
// Invariant: an unresolvable reference fails the whole volume unless it is optional; nothing is written in part.

import type { ConfigMap, Secret } from '../../ports/model/config-objects.js';
import type { ResourceList } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { DownwardAPIVolumeFile, KeyToPath } from '../../ports/model/volume.js';
import { volumeFieldValue } from '../containers/downward-fields.js';
import { volumeResourceValue } from '../containers/downward-resources.js';
import type { Resolved } from '../containers/namespaces.js';
import { readBase64 } from '../values/base64.js';
import { goQuote } from '../values/go-text.js';
import { cleanPath } from '../values/slash-paths.js';
import { utf8Encode } from '../values/utf8.js';
import type { PayloadFile } from './volume-payload.js';

/** The result of reading an object. `failed` is any error but absence, and counts even if the object is optional; an absence may have its own message. */
export type Lookup<T> =
  | { readonly kind: 'found'; readonly object: T }
  | { readonly kind: 'absent'; readonly message?: string }
  | { readonly kind: 'failed'; readonly message: string };

/** The files so far and the errors; with any error the files don't count. */
export interface Collected {
  readonly files: readonly (readonly [path: string, file: PayloadFile])[];
  readonly errors: readonly string[];
}

export interface ObjectSource {
  readonly name: string;
  readonly items: readonly KeyToPath[];
  readonly defaultMode: number | null;
  readonly optional: boolean;
}

export const noDefaultMode = 'no defaultMode used, not even the default value for it';
/** Bits beyond the permission bits are ignored, as by the reference's chmod. */
const permissionBits = 0o777;

type Values = (key: string) => Resolved<Uint8Array> | null;

export function secretFiles(source: ObjectSource, lookup: Lookup<Secret>): Collected {
  const secret = objectOf(lookup, source.optional, `secrets ${goQuote(source.name)} not found`);
  if (!secret.ok) return failed(secret.message);
  const data = secret.value?.data ?? {};
  return keyFiles(source, Object.keys(data), (key) => (Object.hasOwn(data, key) ? decoded(data[key]!) : null), 'references non-existent secret key');
}

export function configMapFiles(source: ObjectSource, lookup: Lookup<ConfigMap>): Collected {
  const configMap = objectOf(lookup, source.optional, `configmaps ${goQuote(source.name)} not found`);
  if (!configMap.ok) return failed(configMap.message);
  const { data = {}, binaryData = {} } = configMap.value ?? {};
  const values: Values = (key) => {
    if (Object.hasOwn(data, key)) return { ok: true, value: utf8Encode(data[key]!) };
    return Object.hasOwn(binaryData, key) ? decoded(binaryData[key]!) : null;
  };
  return keyFiles(source, [...Object.keys(data), ...Object.keys(binaryData)], values, 'configmap references non-existent config key');
}

/** All errors are reported, and paths are cleaned before they are checked. */
export function downwardFiles(items: readonly DownwardAPIVolumeFile[], defaultMode: number | null, pod: Pod, allocatable: ResourceList): Collected {
  if (defaultMode === null) return failed(noDefaultMode);
  const files: (readonly [string, PayloadFile])[] = [];
  const errors: string[] = [];
  for (const item of items) {
    const value = downwardValue(item, pod, allocatable);
    if (value.ok) files.push([cleanPath(item.path), file(utf8Encode(value.value), item.mode ?? defaultMode)]);
    else errors.push(value.message);
  }
  return { files, errors };
}

export function file(bytes: Uint8Array, mode: number, fsUser: number | null = null): PayloadFile {
  return { bytes, mode: mode & permissionBits, fsUser };
}

function downwardValue({ fieldRef, resourceFieldRef }: DownwardAPIVolumeFile, pod: Pod, allocatable: ResourceList): Resolved<string> {
  if (fieldRef !== undefined) return volumeFieldValue(pod, fieldRef);
  return resourceFieldRef === undefined ? { ok: true, value: '' } : volumeResourceValue(pod, resourceFieldRef, allocatable);
}

/** Null: absent, which is allowed. */
function objectOf<T>(lookup: Lookup<T>, optional: boolean, absent: string): Resolved<T | null> {
  if (lookup.kind === 'found') return { ok: true, value: lookup.object };
  if (lookup.kind === 'failed') return { ok: false, message: lookup.message };
  return optional ? { ok: true, value: null } : { ok: false, message: lookup.message ?? absent };
}

/** All keys, or those that items name; the first error ends it. */
function keyFiles({ items, defaultMode, optional }: ObjectSource, keys: readonly string[], values: Values, missing: string): Collected {
  if (defaultMode === null) return failed(noDefaultMode);
  const files: (readonly [string, PayloadFile])[] = [];
  const wanted: readonly KeyToPath[] = items.length > 0 ? items : keys.map((key) => ({ key, path: key }));
  for (const { key, path, mode } of wanted) {
    const value = values(key);
    if (value === null && optional) continue;
    if (value === null) return failed(`${missing}: ${key}`);
    if (!value.ok) return failed(value.message);
    files.push([path, file(value.value, mode ?? defaultMode)]);
  }
  return { files, errors: [] };
}

function decoded(text: string): Resolved<Uint8Array> {
  const read = readBase64(text, true);
  return read.ok ? { ok: true, value: read.bytes } : read;
}

function failed(message: string): Collected {
  return { files: [], errors: [message] };
}
