// The node service of CSI drivers over gRPC.
import type { Call, PortOf } from '../../ports/operation.js';
import type { CsiCapability, CsiNodeInfo, CsiNodeOperations, CsiStaging, CsiVolumeStats } from '../../ports/outbound/csi-node.js';
import { PortError } from '../../ports/port-error.js';
import {
  NodeServiceCapability_RPC_Type as CapabilityType,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeService,
  VolumeUsage_Unit as Unit,
  type VolumeCapability,
} from './gen/csi-v1.js';
import { callPlugin, type PluginMethod } from './plugin-calls.js';

/** The Go kubelet's limit for each call. */
const timeoutMillis = 120_000;

export class GrpcCsiNode implements PortOf<CsiNodeOperations> {
  async info({ endpoint }: CsiNodeOperations['info']['request'], call: Call): Promise<CsiNodeInfo> {
    const { nodeId, maxVolumesPerNode, accessibleTopology } = await ask('info', NodeService.nodeGetInfo, endpoint, {}, call);
    return { nodeId, maxVolumes: maxVolumesPerNode, topology: { ...accessibleTopology?.segments } };
  }

  async capabilities({ endpoint }: CsiNodeOperations['capabilities']['request'], call: Call): Promise<readonly string[]> {
    const { capabilities } = await ask('capabilities', NodeService.nodeGetCapabilities, endpoint, {}, call);
    return capabilities.flatMap(({ type }) => {
      const name = type?.$case === 'rpc' ? CapabilityType[type.rpc.type] : undefined;
      return name === undefined || name === 'UNKNOWN' || name === 'UNRECOGNIZED' ? [] : [name];
    });
  }

  async stage({ endpoint, ...request }: CsiNodeOperations['stage']['request'], call: Call): Promise<null> {
    await ask('stage', NodeService.nodeStageVolume, endpoint, stagingOf(request, 'csiNode.stage'), call);
    return null;
  }

  async publish({ endpoint, ...request }: CsiNodeOperations['publish']['request'], call: Call): Promise<null> {
    const { targetPath, readonly } = request;
    await ask('publish', NodeService.nodePublishVolume, endpoint, { ...stagingOf(request, 'csiNode.publish'), targetPath, readonly }, call);
    return null;
  }

  async unpublish({ endpoint, ...request }: CsiNodeOperations['unpublish']['request'], call: Call): Promise<null> {
    await ask('unpublish', NodeService.nodeUnpublishVolume, endpoint, request, call);
    return null;
  }

  async unstage({ endpoint, ...request }: CsiNodeOperations['unstage']['request'], call: Call): Promise<null> {
    await ask('unstage', NodeService.nodeUnstageVolume, endpoint, request, call);
    return null;
  }

  async expand({ endpoint, ...request }: CsiNodeOperations['expand']['request'], call: Call): Promise<{ readonly capacityBytes: bigint }> {
    const { volumeId, volumePath, stagingTargetPath, requiredBytes, volumeCapability, secrets } = request;
    const capacityRange = { requiredBytes, limitBytes: 0n };
    const capability = capabilityOf(volumeCapability, 'csiNode.expand');
    const asked = { volumeId, volumePath, stagingTargetPath, capacityRange, volumeCapability: capability, secrets: { ...secrets } };
    const { capacityBytes } = await ask('expand', NodeService.nodeExpandVolume, endpoint, asked, call);
    return { capacityBytes };
  }

  async stats({ endpoint, ...request }: CsiNodeOperations['stats']['request'], call: Call): Promise<CsiVolumeStats> {
    const { usage, volumeCondition } = await ask('stats', NodeService.nodeGetVolumeStats, endpoint, request, call);
    const condition = volumeCondition === undefined ? null : { abnormal: volumeCondition.abnormal, message: volumeCondition.message };
    return { usage: usage.map(({ unit, available, total, used }) => ({ unit: Unit[unit] ?? 'UNKNOWN', available, total, used })), condition };
  }
}

function ask<Request, Reply>(name: keyof CsiNodeOperations, method: PluginMethod<Request, Reply>, socket: string, request: Request, call: Call): Promise<Reply> {
  return callPlugin({ method, socket, request, timeoutMillis, operation: `csiNode.${name}` }, call);
}

function stagingOf({ volumeId, publishContext, stagingTargetPath, volumeCapability, secrets, volumeContext }: CsiStaging, operation: string) {
  return {
    volumeId,
    publishContext: { ...publishContext },
    stagingTargetPath,
    volumeCapability: capabilityOf(volumeCapability, operation),
    secrets: { ...secrets },
    volumeContext: { ...volumeContext },
  };
}

function capabilityOf({ accessMode, fsType, mountFlags, volumeMountGroup, isBlock }: CsiCapability, operation: string): VolumeCapability {
  const mode = (Mode as unknown as Readonly<Record<string, Mode | undefined>>)[accessMode];
  if (mode === undefined) throw new PortError({ kind: 'invalid-argument', message: `unknown access mode ${accessMode}`, operation, subject: '' });
  if (isBlock) return { accessType: { $case: 'block', block: {} }, accessMode: { mode } };
  return { accessType: { $case: 'mount', mount: { fsType, mountFlags: [...mountFlags], volumeMountGroup } }, accessMode: { mode } };
}
