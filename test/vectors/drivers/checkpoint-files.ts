// State files written from a model, and read back as a kubelet does at its start.
import { decodeAllocateResponse, encodeAllocateResponse } from '../../../src/domain/checkpoints/allocate-response.js';
import type { Read } from '../../../src/domain/checkpoints/checkpoint-fields.js';
import type { CheckpointText } from '../../../src/domain/checkpoints/checkpoint-text.js';
import { readCpuCheckpoint, writeCpuCheckpoint } from '../../../src/domain/checkpoints/cpu-checkpoint.js';
import { readDeviceCheckpoint, writeDeviceCheckpoint } from '../../../src/domain/checkpoints/device-checkpoint.js';
import { type DeviceHealth, readDraCheckpoint, readDraHealth, writeDraCheckpoint, writeDraHealth } from '../../../src/domain/checkpoints/dra-checkpoint.js';
import { type MemoryTable, readMemoryCheckpoint, writeMemoryCheckpoint } from '../../../src/domain/checkpoints/memory-checkpoint.js';
import { readPodResourcesCheckpoint, writePodResourcesCheckpoint } from '../../../src/domain/checkpoints/pod-resources-checkpoint.js';
import {
  imageRecordName,
  type PullCredentials,
  readUserNamespace,
  shutdownStateMode,
  writeCsiVolumeData,
  writePulledRecord,
  writePullIntent,
  writeShutdownState,
  writeUserNamespace,
} from '../../../src/domain/checkpoints/small-state-files.js';
import type { ResourceRequirements } from '../../../src/ports/model/container.js';
import type { VectorDriver } from '../driver.js';

type Table<T> = Readonly<Record<string, T>>;
interface Input {
  readonly kind: 'write' | 'read';
  readonly file: string;
  readonly model?: unknown;
  readonly content?: string;
  readonly idsPerPod?: number;
}

const mapOf = <T, U>(table: Table<T> | null | undefined, item: (value: T) => U): Map<string, U> => new Map(Object.entries(table ?? {}).map(([key, value]) => [key, item(value)]));
const same = <T>(value: T): T => value;
const orNull = <T, U>(value: T | null | undefined, item: (value: T) => U): U | null => (value === null || value === undefined ? null : item(value));

interface CpuModel {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries: Table<Table<string>>;
  readonly podEntries?: Table<string>;
}
function cpu(model: CpuModel, podLevel: boolean): CheckpointText {
  const { policyName, defaultCpuSet, entries, podEntries } = model;
  return writeCpuCheckpoint({ policyName, defaultCpuSet, entries: mapOf(entries, (containers) => mapOf(containers, same)), podEntries: podLevel ? mapOf(podEntries, same) : null });
}

interface MemoryModel {
  readonly policyName: string;
  readonly machineState: Table<{ readonly numberOfAssignments: number; readonly memoryMap: Table<MemoryTable> | null; readonly cells: readonly number[] | null }> | null;
  readonly entries?: Table<Table<readonly { readonly numaAffinity: readonly number[]; readonly type: string; readonly size: number }[]>>;
}
function memory({ policyName, machineState, entries }: MemoryModel): CheckpointText {
  const nodes = orNull(machineState, (table) => mapOf(table, (node) => ({ ...node, memoryMap: orNull(node.memoryMap, (tables) => mapOf(tables, same)) })));
  return writeMemoryCheckpoint({ policyName, machineState: nodes, entries: mapOf(entries, (containers) => mapOf(containers, same)) });
}

interface ResponseModel {
  readonly envs: Table<string> | null;
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string; readonly readOnly?: boolean }[] | null;
  readonly devices: readonly { readonly containerPath: string; readonly hostPath: string; readonly permissions: string }[] | null;
  readonly annotations: Table<string> | null;
  readonly cdiDevices: readonly string[] | null;
}
interface DeviceModel {
  readonly podDeviceEntries:
    | readonly {
        readonly PodUID: string;
        readonly ContainerName: string;
        readonly ResourceName: string;
        readonly DeviceIDs: Table<readonly string[]> | null;
        readonly allocateResponse: ResponseModel | null;
      }[]
    | null;
  readonly registeredDevices: Table<readonly string[] | null> | null;
}
function devices(model: DeviceModel): CheckpointText {
  const response = (from: ResponseModel): Uint8Array =>
    encodeAllocateResponse({
      envs: mapOf(from.envs, same),
      mounts: (from.mounts ?? []).map((mount) => ({ ...mount, readOnly: mount.readOnly === true })),
      devices: from.devices ?? [],
      annotations: mapOf(from.annotations, same),
      cdiDevices: from.cdiDevices ?? [],
    });
  const podDeviceEntries = orNull(model.podDeviceEntries, (entries) =>
    entries.map((entry) => ({
      podUid: entry.PodUID,
      containerName: entry.ContainerName,
      resourceName: entry.ResourceName,
      deviceIds: orNull(entry.DeviceIDs, (ids) => mapOf(ids, same)),
      allocateResponse: orNull(entry.allocateResponse, response),
    })),
  );
  return writeDeviceCheckpoint({ podDeviceEntries, registeredDevices: orNull(model.registeredDevices, (ids) => mapOf(ids, same)) });
}

interface PodsModel {
  readonly pods: Table<{ readonly containers: Table<ResourceRequirements> | null; readonly podLevelResources: ResourceRequirements | null }>;
}
function pods(model: PodsModel): CheckpointText {
  return writePodResourcesCheckpoint(
    mapOf(model.pods, ({ containers, podLevelResources }) => ({ containers: orNull(containers, (table) => mapOf(table, same)), podLevel: podLevelResources })),
  );
}

interface ClaimModel {
  readonly ClaimUID: string;
  readonly ClaimName: string;
  readonly Namespace: string;
  readonly PodUIDs: Table<unknown>;
  readonly DriverState: Table<{ readonly Devices: readonly ClaimDeviceModel[] | null }>;
}
interface ClaimDeviceModel {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly ShareID: string | null;
  readonly RequestNames: readonly string[] | null;
  readonly CDIDeviceIDs: readonly string[] | null;
}
function claims(model: { readonly claims: readonly ClaimModel[] | null }): CheckpointText {
  const device = (from: ClaimDeviceModel) => ({
    poolName: from.PoolName,
    deviceName: from.DeviceName,
    shareId: from.ShareID,
    requestNames: from.RequestNames,
    cdiDeviceIds: from.CDIDeviceIDs,
  });
  return writeDraCheckpoint(
    orNull(model.claims, (list) =>
      list.map((claim) => ({
        claimUid: claim.ClaimUID,
        claimName: claim.ClaimName,
        namespace: claim.Namespace,
        podUids: Object.keys(claim.PodUIDs),
        drivers: mapOf(claim.DriverState, ({ Devices }) => orNull(Devices, (list) => list.map(device))),
      })),
    ),
  );
}

interface HealthModel {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly Health: string;
  readonly LastUpdated: string;
  readonly HealthCheckTimeout: number;
  readonly Message: string;
}
function health(model: Table<{ readonly Devices: Table<HealthModel> }>): string {
  const device = (from: HealthModel): DeviceHealth => ({
    poolName: from.PoolName,
    deviceName: from.DeviceName,
    health: from.Health,
    lastUpdated: from.LastUpdated,
    healthCheckTimeoutNanoseconds: from.HealthCheckTimeout,
    message: from.Message,
  });
  return writeDraHealth(mapOf(model, ({ Devices }) => mapOf(Devices, device)));
}

const summed = (algorithm: string, text: CheckpointText) => ({ ...text, checksumAlgorithm: algorithm });
const plain = (content: string, more: object = {}) => ({ content, checksumAlgorithm: 'none', ...more });
const fnv = 'fnv1a32-text';

const writers: Readonly<Record<string, (model: never) => unknown>> = {
  cpu_manager_state: (model: CpuModel) => summed(fnv, cpu(model, false)),
  'cpu_manager_state (gate PodLevelResourceManagers)': (model: CpuModel) => summed(fnv, cpu(model, true)),
  memory_manager_state: (model: MemoryModel) => summed(fnv, memory(model)),
  kubelet_internal_checkpoint: (model: DeviceModel) => summed(fnv, devices(model)),
  allocated_pods_state: (model: PodsModel) => summed(fnv, pods(model)),
  actuated_pods_state: (model: PodsModel) => summed(fnv, pods(model)),
  dra_manager_state: (model: { readonly claims: readonly ClaimModel[] | null }) => summed('crc32-ieee of the Data bytes', claims(model)),
  dra_health_state: (model: Table<{ readonly Devices: Table<HealthModel> }>) => plain(health(model)),
  'image_manager/pulling/sha256-*': ({ image }: { readonly image: string }) => plain(writePullIntent(image), { fileName: imageRecordName(image) }),
  'image_manager/pulled/sha256-*': ({ imageRef, lastUpdatedTime, credentials }: { imageRef: string; lastUpdatedTime: string; credentials: Table<PullCredentials> }) =>
    plain(writePulledRecord({ imageRef, lastUpdatedTime, credentialMapping: mapOf(credentials, same) }), { fileName: imageRecordName(imageRef) }),
  graceful_node_shutdown_state: ({ startTime, endTime }: { readonly startTime: string; readonly endTime: string }) =>
    plain(writeShutdownState(startTime, endTime), { mode: modeText(shutdownStateMode) }),
  'vol_data.json': (model: Table<string>) => plain(writeCsiVolumeData(model)),
  'pods/<uid>/userns': ({ hostId, length }: { readonly hostId: number; readonly length: number }) => plain(writeUserNamespace(hostId, length)),
};

const readers: Readonly<Record<string, (content: string, input: Input) => Read<unknown>>> = {
  cpu_manager_state: (content) => readCpuCheckpoint(content, new Map()),
  'cpu_manager_state (gate PodLevelResourceManagers)': (content) => readCpuCheckpoint(content, new Map(), true),
  memory_manager_state: readMemoryCheckpoint,
  kubelet_internal_checkpoint: readDeviceCheckpoint,
  allocated_pods_state: readPodResourcesCheckpoint,
  actuated_pods_state: readPodResourcesCheckpoint,
  dra_manager_state: readDraCheckpoint,
  dra_health_state: readDraHealth,
  'pods/<uid>/userns': (content, { idsPerPod = 65_536 }) => readUserNamespace(content, idsPerPod),
};

function modeText(mode: number): string {
  return `-${[6, 3, 0].flatMap((shift) => ['r', 'w', 'x'].map((letter, i) => ((mode >> shift) & (4 >> i) ? letter : '-'))).join('')}`;
}

/** What was written is read back before it is handed on: a writer and a reader that disagree don't pass. */
function readBack(input: Input, written: unknown): void {
  const { content } = written as { readonly content: string };
  const read = readers[input.file]?.(content, input);
  if (read?.ok === false && input.file !== 'pods/<uid>/userns') throw new Error(`${input.file} can't be read back: ${read.error}`);
  if (input.file !== 'kubelet_internal_checkpoint' || read?.ok !== true) return;
  const { podDeviceEntries } = read.value as { readonly podDeviceEntries: readonly { readonly allocateResponse: Uint8Array | null }[] | null };
  if (podDeviceEntries?.some(({ allocateResponse }) => allocateResponse !== null && decodeAllocateResponse(allocateResponse) === null) === true)
    throw new Error("an allocate response can't be read back");
}

export const driver: VectorDriver = {
  run(input: Input) {
    if (input.kind === 'write') {
      const written = writers[input.file]?.(input.model as never);
      if (written === undefined) throw new Error(`no writer of ${input.file}`);
      readBack(input, written);
      return written;
    }
    const reader = readers[input.file];
    if (reader === undefined) throw new Error(`no reader of ${input.file}`);
    const read = reader(input.content ?? '', input);
    return read.ok ? { valid: true } : { valid: false, error: read.error };
  },
};
