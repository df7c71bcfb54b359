// The file `device-plugins/kubelet_internal_checkpoint`: the devices of each container, with the plugin's answer, and the healthy
// devices of each resource.
// Invariant: the checksum must match; the caller ignores a file that fails this, and starts empty.
import { base64Decode, base64Encode } from '../values/base64.js';
import { field, fieldsOf, listField, listOf, mapField, numberField, type Read, readJson, textField, textOf, unreadable } from './checkpoint-fields.js';
import {
  byNumber,
  type CheckpointText,
  corruptCheckpoint,
  fnvChecksum,
  jsonList,
  jsonMap,
  jsonRecord,
  jsonText,
  pictureList,
  pictureMap,
  pictureRecord,
} from './checkpoint-text.js';

export interface PodDevicesEntry {
  readonly podUid: string;
  readonly containerName: string;
  readonly resourceName: string;
  /** NUMA node id as text (`-1`: no topology) -> device ids. */
  readonly deviceIds: ReadonlyMap<string, readonly string[] | null> | null;
  /** ContainerAllocateResponse, encoded. */
  readonly allocateResponse: Uint8Array | null;
}

export interface DeviceCheckpoint {
  /** A kubelet without entries writes null. */
  readonly podDeviceEntries: readonly PodDevicesEntry[] | null;
  /** Resource -> ids of healthy devices. */
  readonly registeredDevices: ReadonlyMap<string, readonly string[] | null> | null;
}

export function writeDeviceCheckpoint(checkpoint: DeviceCheckpoint): CheckpointText {
  const checksumInput = devicePicture(checkpoint);
  const checksum = fnvChecksum(checksumInput);
  const data = jsonRecord([
    ['PodDeviceEntries', jsonList(checkpoint.podDeviceEntries, entryJson)],
    ['RegisteredDevices', jsonMap(checkpoint.registeredDevices, (ids) => jsonList(ids, jsonText))],
  ]);
  return {
    content: jsonRecord([
      ['Data', data],
      ['Checksum', String(checksum)],
    ]),
    checksum,
    checksumInput,
  };
}

export function readDeviceCheckpoint(text: string): Read<DeviceCheckpoint> {
  const read = readJson(text, (value) => {
    const file = fieldsOf(value, 'Data');
    const data = fieldsOf(field(file, 'Data'), 'checkpointData');
    const checkpoint: DeviceCheckpoint = {
      podDeviceEntries: listField(data, 'PodDeviceEntries', [], entryOf),
      registeredDevices: mapField(data, 'RegisteredDevices', new Map(), (ids) => listOf(ids, 'RegisteredDevices', textOf)),
    };
    return { checkpoint, checksum: numberField(file, 'Checksum') };
  });
  if (!read.ok) return read;
  return read.value.checksum === fnvChecksum(devicePicture(read.value.checkpoint)) ? { ok: true, value: read.value.checkpoint } : { ok: false, error: corruptCheckpoint };
}

function entryJson(entry: PodDevicesEntry): string {
  return jsonRecord([
    ['PodUID', jsonText(entry.podUid)],
    ['ContainerName', jsonText(entry.containerName)],
    ['ResourceName', jsonText(entry.resourceName)],
    ['DeviceIDs', jsonMap(entry.deviceIds, (ids) => jsonList(ids, jsonText))],
    ['AllocResp', entry.allocateResponse === null ? 'null' : jsonText(base64Encode(entry.allocateResponse))],
  ]);
}

function entryOf(value: unknown): PodDevicesEntry {
  const fields = fieldsOf(value, 'PodDevicesEntry');
  const encoded = field(fields, 'AllocResp') ?? null;
  return {
    podUid: textField(fields, 'PodUID'),
    containerName: textField(fields, 'ContainerName'),
    resourceName: textField(fields, 'ResourceName'),
    deviceIds: mapField(fields, 'DeviceIDs', null, (ids) => listOf(ids, 'DeviceIDs', textOf)),
    allocateResponse: encoded === null ? null : (base64Decode(textOf(encoded)) ?? unreadable('illegal base64 data in field AllocResp')),
  };
}

function devicePicture({ podDeviceEntries, registeredDevices }: DeviceCheckpoint): string {
  const ids = (list: readonly string[] | null): string => pictureList(list, (id) => id);
  return `(checkpoint.checkpointData)${pictureRecord([
    ['PodDeviceEntries', '[]checkpoint.PodDevicesEntry', pictureList(podDeviceEntries, (entry) => entryPicture(entry, ids))],
    ['RegisteredDevices', 'map[string][]string', pictureMap(registeredDevices, ids)],
  ])}`;
}

function entryPicture(entry: PodDevicesEntry, ids: (list: readonly string[] | null) => string): string {
  return pictureRecord([
    ['PodUID', 'string', entry.podUid],
    ['ContainerName', 'string', entry.containerName],
    ['ResourceName', 'string', entry.resourceName],
    ['DeviceIDs', 'checkpoint.DevicesPerNUMA', pictureMap(entry.deviceIds, ids, byNumber)],
    ['AllocResp', '[]uint8', entry.allocateResponse === null ? '<nil>' : pictureList([...entry.allocateResponse], String)],
  ]);
}
