// The files of dynamic resource allocation: `dra_manager_state`, the claims that are prepared and for which pods, and
// `dra_health_state`, the health of devices as drivers last reported it.
// Invariant: the claims' checksum is the CRC-32 of the data text; the health file has none.
import { crc32 } from '../values/crc32.js';
import { utf8Encode } from '../values/utf8.js';
import { field, fieldsOf, listField, mapField, numberField, type Read, readJson, textField, textOf, unreadable } from './checkpoint-fields.js';
import { type CheckpointText, corruptCheckpoint, jsonList, jsonMap, jsonRecord, jsonText } from './checkpoint-text.js';

export interface ClaimDevice {
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId: string | null;
  readonly requestNames: readonly string[] | null;
  readonly cdiDeviceIds: readonly string[] | null;
}

export interface ClaimState {
  readonly claimUid: string;
  readonly claimName: string;
  readonly namespace: string;
  readonly podUids: readonly string[];
  /** Driver -> devices. */
  readonly drivers: ReadonlyMap<string, readonly ClaimDevice[] | null>;
}

export const draCheckpointName = 'dra_manager_state';
const kind = 'DRACheckpoint';
const apiVersion = 'checkpoint.dra.kubelet.k8s.io/v1';

/** null claims: no list at all, as a kubelet writes that never had one. */
export function writeDraCheckpoint(claims: readonly ClaimState[] | null): CheckpointText {
  const data = jsonRecord([
    ['kind', jsonText(kind)],
    ['apiVersion', jsonText(apiVersion)],
    ['ClaimInfoStateList', jsonList(claims, claimJson)],
  ]);
  const checksum = crc32(utf8Encode(data));
  return {
    content: jsonRecord([
      ['Data', jsonText(data)],
      ['Checksum', String(checksum)],
    ]),
    checksum,
    checksumInput: data,
  };
}

export function readDraCheckpoint(text: string): Read<readonly ClaimState[]> {
  const read = readJson(text, (value) => {
    const fields = fieldsOf(value, 'Checkpoint');
    return { data: textField(fields, 'Data'), checksum: numberField(fields, 'Checksum') };
  });
  if (!read.ok) return read;
  if (read.value.checksum !== crc32(utf8Encode(read.value.data))) return { ok: false, error: corruptCheckpoint };
  return readJson(read.value.data, (value) => {
    const fields = fieldsOf(value, 'CheckpointData');
    if (textField(fields, 'kind') !== kind || textField(fields, 'apiVersion') !== apiVersion) unreadable(`unknown checkpoint of kind ${textField(fields, 'kind')}`);
    return listField(fields, 'ClaimInfoStateList', [], claimOf) ?? [];
  });
}

export interface DeviceHealth {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: string;
  /** RFC 3339. */
  readonly lastUpdated: string;
  /** In nanoseconds, as in the file. */
  readonly healthCheckTimeoutNanoseconds: number;
  readonly message: string;
}

/** Driver -> `<pool>/<device>` -> health. */
export function writeDraHealth(drivers: ReadonlyMap<string, ReadonlyMap<string, DeviceHealth>>): string {
  return jsonMap(drivers, (devices) => jsonRecord([['Devices', jsonMap(devices, healthJson)]]));
}

export function readDraHealth(text: string): Read<ReadonlyMap<string, ReadonlyMap<string, DeviceHealth>>> {
  return readJson(text, (value) => {
    const drivers = Object.entries(fieldsOf(value, 'health'));
    return new Map(drivers.map(([driver, health]) => [driver, mapField(fieldsOf(health, driver), 'Devices', new Map(), healthOf) ?? new Map()]));
  });
}

function claimJson(claim: ClaimState): string {
  return jsonRecord([
    ['ClaimUID', jsonText(claim.claimUid)],
    ['ClaimName', jsonText(claim.claimName)],
    ['Namespace', jsonText(claim.namespace)],
    ['PodUIDs', jsonMap(new Map(claim.podUids.map((uid) => [uid, null])), () => '{}')],
    ['DriverState', jsonMap(claim.drivers, (devices) => jsonRecord([['Devices', jsonList(devices, deviceJson)]]))],
  ]);
}

function deviceJson(device: ClaimDevice): string {
  return jsonRecord([
    ['PoolName', jsonText(device.poolName)],
    ['DeviceName', jsonText(device.deviceName)],
    ['ShareID', device.shareId === null ? 'null' : jsonText(device.shareId)],
    ['RequestNames', jsonList(device.requestNames, jsonText)],
    ['CDIDeviceIDs', jsonList(device.cdiDeviceIds, jsonText)],
  ]);
}

function claimOf(value: unknown): ClaimState {
  const fields = fieldsOf(value, 'ClaimInfoState');
  return {
    claimUid: textField(fields, 'ClaimUID'),
    claimName: textField(fields, 'ClaimName'),
    namespace: textField(fields, 'Namespace'),
    podUids: Object.keys(fieldsOf(field(fields, 'PodUIDs'), 'PodUIDs')),
    drivers: mapField(fields, 'DriverState', new Map(), (state) => listField(fieldsOf(state, 'DriverState'), 'Devices', null, deviceOf)) ?? new Map(),
  };
}

function deviceOf(value: unknown): ClaimDevice {
  const fields = fieldsOf(value, 'Device');
  const shareId = field(fields, 'ShareID') ?? null;
  return {
    poolName: textField(fields, 'PoolName'),
    deviceName: textField(fields, 'DeviceName'),
    shareId: shareId === null ? null : textOf(shareId),
    requestNames: listField(fields, 'RequestNames', null, textOf),
    cdiDeviceIds: listField(fields, 'CDIDeviceIDs', null, textOf),
  };
}

function healthJson(health: DeviceHealth): string {
  return jsonRecord([
    ['PoolName', jsonText(health.poolName)],
    ['DeviceName', jsonText(health.deviceName)],
    ['Health', jsonText(health.health)],
    ['LastUpdated', jsonText(health.lastUpdated)],
    ['HealthCheckTimeout', String(health.healthCheckTimeoutNanoseconds)],
    ['Message', jsonText(health.message)],
  ]);
}

function healthOf(value: unknown): DeviceHealth {
  const fields = fieldsOf(value, 'DeviceHealth');
  return {
    poolName: textField(fields, 'PoolName'),
    deviceName: textField(fields, 'DeviceName'),
    health: textField(fields, 'Health'),
    lastUpdated: textField(fields, 'LastUpdated'),
    healthCheckTimeoutNanoseconds: numberField(fields, 'HealthCheckTimeout'),
    message: textField(fields, 'Message'),
  };
}
