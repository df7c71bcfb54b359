// csi-target-paths: names and places of CSI volumes, their data files, and the calls to the driver.

import {
  appliesFsGroup,
  type CsiFailure,
  type CsiMountFacts,
  type CsiPublishRequest,
  type CsiStageRequest,
  csiCallFailed,
  csiTokenRequests,
  isCsiReadOnly,
  planCsiPublish,
  planCsiStage,
} from '../../../src/domain/volumes/csi-mount.js';
import * as csi from '../../../src/domain/volumes/csi-volume.js';
import { csiDataText, reconstructCsiVolume } from '../../../src/domain/volumes/csi-volume-data.js';
import type { Named } from '../../../src/domain/volumes/device-names.js';
import type { Lookup } from '../../../src/domain/volumes/object-payload.js';
import { specName, type VolumeSpec } from '../../../src/domain/volumes/volume-spec.js';
import type { Secret } from '../../../src/ports/model/config-objects.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { CSIDriver, PersistentVolume, VolumeAttachment } from '../../../src/ports/model/storage.js';
import type { Volume } from '../../../src/ports/model/volume.js';
import type { PortErrorKind } from '../../../src/ports/port-error.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly kind: 'paths' | 'reconstruct' | 'mount';
  readonly rootDir: string;
  readonly podUID: string;
  readonly nodeName: string;
  readonly volume?: Volume;
  readonly persistentVolume?: PersistentVolume;
  readonly claimReadOnly?: boolean;
  readonly volumeDirectoryName: string;
  readonly volumeDataFile: string;
  readonly pod: Pod;
  readonly csiDriver: CSIDriver | null;
  readonly secrets?: readonly Secret[];
  readonly volumeAttachment?: VolumeAttachment;
  readonly nodeCapabilities: readonly string[];
  readonly fsGroup?: number;
  readonly seLinuxLabel?: string;
  readonly stageRPCError?: string;
  readonly publishRPCError?: string;
}

function specOf({ volume, persistentVolume, claimReadOnly }: Input): VolumeSpec {
  return volume !== undefined ? { kind: 'inline', volume } : { kind: 'persistent', persistentVolume: persistentVolume!, readOnly: claimReadOnly === true };
}

function named(name: string, result: Named): Record<string, string> {
  return result.ok ? { [name]: result.value } : { [`${name}Error`]: result.message };
}

function paths(input: Input): unknown {
  const spec = specOf(input);
  const { rootDir, podUID, nodeName } = input;
  const driver = csi.csiDriverName(spec);
  const handle = csi.csiVolumeHandle(spec, podUID);
  return {
    canSupport: driver.ok,
    ...named('driver', driver),
    specName: specName(spec),
    ...(handle === null ? {} : { volumeHandle: handle }),
    ...named('uniqueVolumeName', csi.csiUniqueVolumeName(spec, podUID)),
    targetPath: csi.csiTargetPath(rootDir, podUID, spec),
    volumeDataFile: csi.csiVolumeDataFile(rootDir, podUID, spec),
    ...(spec.kind === 'inline' ? {} : named('deviceMountPath', csi.csiDeviceMountPath(rootDir, spec))),
    ...(spec.kind === 'inline' || handle === null || !driver.ok ? {} : { attachmentName: csi.csiAttachmentName(handle, driver.value, nodeName) }),
    ...(spec.kind === 'inline' ? {} : { block: csi.csiBlockPaths(rootDir, podUID, spec) }),
  };
}

function reconstruct({ volumeDataFile }: Input): unknown {
  const read = reconstructCsiVolume(volumeDataFile === '' ? null : volumeDataFile, '<dir>');
  if (!read.ok) return { error: read.message };
  const { spec, seLinuxMountContext } = read.volume;
  const common = { name: specName(spec), seLinuxMountContext };
  if (spec.kind === 'inline') return { ...common, source: 'inline', driver: spec.volume.csi?.driver };
  const { csi: source, volumeMode } = spec.persistentVolume.spec;
  return { ...common, source: 'persistentVolume', driver: source?.driver, volumeHandle: source?.volumeHandle, volumeMode };
}

/** A request with all fields that aren't empty. */
function shown(rpc: string, request: CsiStageRequest | CsiPublishRequest): Record<string, unknown> {
  const { accessMode, fsType, mountFlags, volumeMountGroup } = request.volumeCapability;
  const mount = { fsType, ...(mountFlags.length === 0 ? {} : { mountFlags }), ...(volumeMountGroup === '' ? {} : { volumeMountGroup }) };
  const call: Record<string, unknown> = { rpc, volumeCapability: { accessMode, mount } };
  for (const [field, value] of Object.entries(request)) {
    if (field === 'volumeCapability' || value === '') continue;
    if (typeof value === 'object' && Object.keys(value as object).length === 0) continue;
    call[field] = value;
  }
  return call;
}

function failure(step: string, { message, certainty }: CsiFailure): Record<string, string> {
  return { [`${step}Error`]: message, [`${step}ErrorKind`]: certainty === 'final' ? 'plain' : certainty };
}

/** What the driver's answer means; null when it agrees. */
function answer(code: string | undefined): CsiFailure | null {
  if (code === undefined) return null;
  const kind = code === 'Canceled' ? 'cancelled' : code.replace(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
  return csiCallFailed(kind as PortErrorKind, `rpc error: code = ${code} desc = driver says no`);
}

function factsOf(input: Input): CsiMountFacts {
  const { pod, csiDriver, volumeAttachment } = input;
  const attachment: Lookup<VolumeAttachment> = volumeAttachment === undefined ? { kind: 'absent' } : { kind: 'found', object: volumeAttachment };
  return {
    rootDirectory: input.rootDir,
    nodeName: input.nodeName,
    spec: specOf(input),
    pod,
    driver: csiDriver,
    capabilities: input.nodeCapabilities,
    attachment,
    secrets: new Map((input.secrets ?? []).map((object) => [`${object.metadata.namespace}/${object.metadata.name}`, { kind: 'found', object }])),
    tokens: csiTokenRequests(csiDriver, pod).map(({ audiences }) => ({
      ok: true,
      token: { token: `token-for-${(audiences ?? []).join('+')}`, expirationTimestamp: '2026-03-01T11:00:00Z' },
    })),
    fsGroup: input.fsGroup ?? null,
    seLinuxLabel: input.seLinuxLabel ?? '',
  };
}

function mount(input: Input): unknown {
  const facts = factsOf(input);
  const calls: unknown[] = [];
  const dataFiles: Record<string, unknown> = {};
  const run = (rpc: string, plan: ReturnType<typeof planCsiStage> | ReturnType<typeof planCsiPublish>, code: string | undefined): CsiFailure | null => {
    if (plan === null || plan.kind === 'failed') return plan;
    calls.push(shown(rpc, plan.request));
    dataFiles[plan.dataFile] = JSON.parse(csiDataText(plan.data));
    const failed = answer(code);
    if (failed?.certainty === 'final') delete dataFiles[plan.dataFile];
    return failed;
  };
  const staged = run('NodeStageVolume', planCsiStage(facts), input.stageRPCError);
  if (staged !== null) return { calls, dataFiles, ...failure('stage', staged) };
  const publish = planCsiPublish(facts);
  const requests = publish.kind === 'call' ? csiTokenRequests(facts.driver, facts.pod) : [];
  const tokenRequests = requests.map(({ audiences, expirationSeconds, podName, podUid }) => {
    return { audiences, boundObject: { kind: 'Pod', name: podName, uid: podUid }, ...(expirationSeconds === null ? {} : { expirationSeconds }) };
  });
  const failed = run('NodePublishVolume', publish, input.publishRPCError);
  const readOnly = isCsiReadOnly(facts.spec);
  return {
    calls,
    dataFiles,
    ...(failed === null ? { attributes: { readOnly, managed: !readOnly } } : failure('publish', failed)),
    kubeletAppliesFSGroup: failed === null && appliesFsGroup(facts),
    ...(tokenRequests.length === 0 ? {} : { tokenRequests }),
  };
}

export const driver: VectorDriver = {
  run(input: Input) {
    if (input.kind === 'paths') return paths(input);
    return input.kind === 'reconstruct' ? reconstruct(input) : mount(input);
  },
};
