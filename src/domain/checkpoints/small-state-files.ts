// State files without a checksum: records of image pulls, the graceful shutdown's times, a CSI volume's data, and the user namespace of a pod.
// Invariant: the bytes are those a Go kubelet writes, which may read them after us.
import type { Instant } from '../../ports/instant.js';
import { hexOfBytes } from '../values/hex.js';
import { sha256 } from '../values/sha256.js';
import { parseRfc3339 } from '../values/time.js';
import { utf8Encode } from '../values/utf8.js';
import { fieldsOf, listField, numberField, type Read, readJson, textField, unreadable } from './checkpoint-fields.js';
import { byUtf8, jsonList, jsonMap, jsonRecord, jsonText } from './checkpoint-text.js';

const imageRecordVersion = 'kubelet.config.k8s.io/v1beta1';

/** Name of a record in `image_manager/pulling` (of the image's name) or `image_manager/pulled` (of the image's reference). */
export function imageRecordName(imageOrRef: string): string {
  return `sha256-${hexOfBytes(sha256(utf8Encode(imageOrRef)))}`;
}

/** Written before a pull starts. */
export function writePullIntent(image: string): string {
  return `${jsonRecord([
    ['kind', jsonText('ImagePullIntent')],
    ['apiVersion', jsonText(imageRecordVersion)],
    ['image', jsonText(image)],
  ])}\n`;
}

export interface PulledRecord {
  /** RFC 3339. */
  readonly lastUpdatedTime: string;
  readonly imageRef: string;
  /** Image name without tag -> which credentials pulled it, as the API has it. */
  readonly credentialMapping: ReadonlyMap<string, PullCredentials>;
}

export interface PullCredentials {
  /** Any pod of the node may use the image. */
  readonly nodePodsAccessible?: boolean;
  readonly kubernetesSecrets?: readonly { readonly uid: string; readonly namespace: string; readonly name: string; readonly credentialHash: string }[];
  readonly kubernetesServiceAccounts?: readonly { readonly uid: string; readonly namespace: string; readonly name: string }[];
}

export function writePulledRecord(record: PulledRecord): string {
  const { lastUpdatedTime, imageRef, credentialMapping } = record;
  return `${jsonRecord([
    ['kind', jsonText('ImagePulledRecord')],
    ['apiVersion', jsonText(imageRecordVersion)],
    ['lastUpdatedTime', jsonText(lastUpdatedTime)],
    ['imageRef', jsonText(imageRef)],
    ['credentialMapping', credentialMapping.size === 0 ? null : jsonMap(credentialMapping, credentialsJson)],
  ])}\n`;
}

function credentialsJson({ kubernetesSecrets = [], kubernetesServiceAccounts = [], nodePodsAccessible }: PullCredentials): string {
  const texts = (item: Readonly<Record<string, string>>, names: readonly string[]): string => jsonRecord(names.map((name) => [name, jsonText(item[name] ?? '')]));
  return jsonRecord([
    ['kubernetesSecrets', kubernetesSecrets.length === 0 ? null : jsonList(kubernetesSecrets, (secret) => texts(secret, ['uid', 'namespace', 'name', 'credentialHash']))],
    ['kubernetesServiceAccounts', kubernetesServiceAccounts.length === 0 ? null : jsonList(kubernetesServiceAccounts, (account) => texts(account, ['uid', 'namespace', 'name']))],
    ['nodePodsAccessible', nodePodsAccessible === true ? 'true' : null],
  ]);
}

/** The text of an unset time. */
const zeroTime = '0001-01-01T00:00:00Z';
export const shutdownStateMode = 0o644;

/** `graceful_node_shutdown_state`: RFC 3339 times, '' for not yet. */
export function writeShutdownState(startTime: string, endTime: string): string {
  return jsonRecord([
    ['startTime', jsonText(startTime === '' ? zeroTime : startTime)],
    ['endTime', jsonText(endTime === '' ? zeroTime : endTime)],
  ]);
}

/** The times in `graceful_node_shutdown_state`; null: not yet. */
export function parseShutdownState(text: string): Read<{ readonly startedAt: Instant | null; readonly endedAt: Instant | null }> {
  return readJson(text, (value) => {
    const fields = fieldsOf(value, 'state');
    return { startedAt: timeField(fields, 'startTime'), endedAt: timeField(fields, 'endTime') };
  });
}

function timeField(fields: Readonly<Record<string, unknown>>, name: string): Instant | null {
  const text = textField(fields, name);
  if (text === '' || text === zeroTime) return null;
  const time = parseRfc3339(text);
  return time ?? unreadable(`${name} ${JSON.stringify(text)} is no RFC 3339 time`);
}

/** A CSI volume's `vol_data.json`: texts by name. */
export function writeCsiVolumeData(data: Readonly<Record<string, string>>): string {
  const names = Object.keys(data).sort(byUtf8);
  return `${jsonRecord(names.map((name) => [name, jsonText(data[name]!)]))}\n`;
}

export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/** `pods/<uid>/userns`: one mapping, the same for users and groups. */
export function writeUserNamespace(hostId: number, length: number): string {
  const mapping: IdMapping = { hostId, containerId: 0, length };
  return jsonRecord([
    ['uidMappings', jsonList([mapping], mappingJson)],
    ['gidMappings', jsonList([mapping], mappingJson)],
  ]);
}

/** `readIdMapping` for a kubelet with `idsPerPod` ids per pod. */
export function readUserNamespace(text: string, idsPerPod: number): Read<IdMapping | null> {
  const read = readIdMapping(text);
  if (!read.ok || read.value === null || read.value.length === idsPerPod) return read;
  return { ok: false, error: `wrong user namespace length ${read.value.length}` };
}

/** The one mapping of the file, checked; null for a file without any. */
export function readIdMapping(text: string): Read<IdMapping | null> {
  const read = readJson(text, (value) => {
    const fields = fieldsOf(value, 'userNamespace');
    return { uids: listField(fields, 'uidMappings', [], mappingOf) ?? [], gids: listField(fields, 'gidMappings', [], mappingOf) ?? [] };
  });
  if (!read.ok) return read;
  const { uids, gids } = read.value;
  const [mapping, gidMapping] = [uids[0], gids[0]];
  if (uids.length > 1) return invalid('no more than one mapping allowed.');
  if (uids.length !== gids.length) return invalid('GID and UID mappings should be identical.');
  if (mapping === undefined || gidMapping === undefined) return { ok: true, value: null };
  if (mappingJson(mapping) !== mappingJson(gidMapping)) return invalid('GID and UID mapping should be identical');
  if (mapping.containerId !== 0) return invalid('UID 0 must be mapped');
  return { ok: true, value: mapping };
}

function invalid(problem: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error: `invalid user namespace configuration: ${problem}` };
}

function mappingJson({ hostId, containerId, length }: IdMapping): string {
  return jsonRecord([
    ['hostId', String(hostId)],
    ['containerId', String(containerId)],
    ['length', String(length)],
  ]);
}

function mappingOf(value: unknown): IdMapping {
  const fields = fieldsOf(value, 'idMapping');
  return { hostId: numberField(fields, 'hostId'), containerId: numberField(fields, 'containerId'), length: numberField(fields, 'length') };
}
