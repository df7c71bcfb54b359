// Volumes: how long operations on them take, each by itself and from the first try to the one that worked.

import type { Micros } from '../../ports/micros.js';
import type { PortErrorKind } from '../../ports/port-error.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import type { Reply } from '../kernel/machine.js';
import { damageOf, reconstructedSpec } from '../volume-manager/found-volumes.js';
import { metricPluginName } from '../volume-manager/metric-plugin-name.js';
import type { ActualVolume, VolumeOperation, VolumeOperationKind } from '../volume-manager/volume-manager-state.js';
import { unescapeName } from '../volumes/volume-spec.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

const operationNames: Readonly<Record<VolumeOperationKind, string>> = {
  mount: 'volume_mount',
  expand: 'volume_fs_resize',
  unmount: 'volume_unmount',
  unmountDevice: 'unmount_device',
};

const csiMethods = {
  'csiNode.info': 'NodeGetInfo',
  'csiNode.capabilities': 'NodeGetCapabilities',
  'csiNode.stage': 'NodeStageVolume',
  'csiNode.publish': 'NodePublishVolume',
  'csiNode.unpublish': 'NodeUnpublishVolume',
  'csiNode.unstage': 'NodeUnstageVolume',
  'csiNode.expand': 'NodeExpandVolume',
  'csiNode.stats': 'NodeGetVolumeStats',
} as const;

/** The names of gRPC's codes in Go. */
export const grpcCodes: Readonly<Record<PortErrorKind, string>> = {
  cancelled: 'Canceled',
  unknown: 'Unknown',
  'invalid-argument': 'InvalidArgument',
  'deadline-exceeded': 'DeadlineExceeded',
  'not-found': 'NotFound',
  'already-exists': 'AlreadyExists',
  'permission-denied': 'PermissionDenied',
  'resource-exhausted': 'ResourceExhausted',
  'failed-precondition': 'FailedPrecondition',
  aborted: 'Aborted',
  'out-of-range': 'OutOfRange',
  unimplemented: 'Unimplemented',
  internal: 'Internal',
  unavailable: 'Unavailable',
  'data-loss': 'DataLoss',
  unauthenticated: 'Unauthenticated',
};

function isCsiCall(op: string): op is keyof typeof csiMethods {
  return Object.hasOwn(csiMethods, op);
}

interface ObservedOperation {
  readonly at: Micros;
  readonly operation: VolumeOperation;
  readonly plugin: string;
}

export class ObservedVolumes implements ObservedPart {
  private readonly operations = new Map<VolumeOperation, ObservedOperation>();
  /** By volume, pod and kind: the start of the first try, until one succeeds. */
  private readonly since = new Map<string, { readonly at: Micros; readonly volumeName: string }>();

  constructor(private readonly watched: Watched) {}

  answered(now: Micros, begun: Begun | null, reply: Reply<KubeletOperations>): void {
    if (reply.op === 'volumeMounts.survey' && reply.outcome.ok) this.surveyed(reply.outcome.value);
    if (begun !== null && reply.op === 'volumeMounts.setOwnership') this.ownershipSet(secondsBetween(begun.at, now), begun, reply.outcome.ok);
    if (begun === null || !isCsiCall(reply.op)) return;
    const { endpoint } = begun.command.request as { readonly endpoint: string };
    const driver = [...this.watched.state.agent.plugins.drivers.values()].find((one) => one.endpoint === endpoint);
    const code = reply.outcome.ok ? 'OK' : grpcCodes[reply.outcome.error.kind];
    const labels = { driver_name: driver?.name ?? '', grpc_status_code: code, method_name: `/csi.v1.Node/${csiMethods[reply.op]}`, migrated: 'false' };
    this.watched.metrics.observe('csi_operations_seconds', labels, secondsBetween(begun.at, now));
  }

  /** A walk that gave a volume to the pod's group. */
  private ownershipSet(seconds: number, { command }: Begun, worked: boolean): void {
    const actual = this.watched.state.agent.volumes.actual.get(command.address.key);
    const labels = { migrated: 'false', operation_name: 'volume_apply_access_control', status: worked ? 'success' : 'fail-unknown' };
    this.watched.metrics.observe('storage_operation_duration_seconds', { ...labels, volume_plugin: pluginOf(actual) }, seconds);
  }

  private surveyed(found: KubeletOperations['volumeMounts.survey']['reply']): void {
    for (const { uid, volumes } of found) {
      for (const { plugin, volume, data, isDevice } of volumes) {
        this.watched.metrics.count('reconstruct_volume_operations_total', {});
        const left = { uid, plugin: unescapeName(plugin), name: volume, data, isDevice };
        if (damageOf(left) !== null || reconstructedSpec(left) === null) this.watched.metrics.count('reconstruct_volume_operations_errors_total', {});
      }
    }
  }

  stepped(now: Micros): void {
    const { operations, actual } = this.watched.state.agent.volumes;
    if (operations.size === 0 && this.operations.size === 0) return;
    for (const operation of operations.values()) {
      if (this.operations.has(operation)) continue;
      this.operations.set(operation, { at: now, operation, plugin: pluginOf(actual.get(operation.volumeName)) });
      const key = keyOf(operation);
      if (!this.since.has(key)) this.since.set(key, { at: now, volumeName: operation.volumeName });
    }
    for (const [operation, observed] of this.operations) {
      if (operations.get(operation.volumeName) === operation) continue;
      this.operations.delete(operation);
      this.ended(observed, now);
    }
  }

  forgetGone(): void {
    const { actual, desired } = this.watched.state.agent.volumes;
    for (const [key, { volumeName }] of this.since) if (!actual.has(volumeName) && !desired.has(volumeName)) this.since.delete(key);
  }

  private ended({ at, operation, plugin }: ObservedOperation, now: Micros): void {
    const { metrics } = this.watched;
    const name = operationNames[operation.kind];
    // Completed stages are removed from the list.
    const worked = operation.stages.length === 0;
    const labels = { migrated: 'false', operation_name: name, status: worked ? 'success' : 'fail-unknown', volume_plugin: plugin };
    metrics.observe('storage_operation_duration_seconds', labels, secondsBetween(at, now));
    if (!worked) return;
    const first = this.since.get(keyOf(operation))?.at ?? at;
    this.since.delete(keyOf(operation));
    metrics.observe('volume_operation_total_seconds', { operation_name: `overall_${name}`, plugin_name: plugin }, secondsBetween(first, now));
  }
}

function pluginOf(actual: ActualVolume | undefined): string {
  return actual === undefined ? '' : metricPluginName(actual.plugin, actual.spec);
}

function keyOf({ volumeName, uid, kind }: VolumeOperation): string {
  return `${kind}/${uid}/${volumeName}`;
}
