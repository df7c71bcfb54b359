// Volumes: how long operations on them take, each by itself and from the first try to the one that worked.
import type { VolumeOperation, VolumeOperationKind } from '../../../../domain/volume-manager/volume-manager-state.js';
import type { Micros } from '../../../../ports/micros.js';
import { type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

const operationNames: Readonly<Record<VolumeOperationKind, string>> = {
  mount: 'volume_mount',
  expand: 'volume_fs_resize',
  unmount: 'volume_unmount',
  unmountDevice: 'unmount_device',
};

interface ObservedOperation {
  readonly at: Micros;
  readonly operation: VolumeOperation;
  readonly plugin: string;
}

export class ObservedVolumes implements ObservedPart {
  private readonly operations = new Map<VolumeOperation, ObservedOperation>();
  /** By volume, pod and kind: when the first try began, while none has worked. */
  private readonly since = new Map<string, { readonly at: Micros; readonly volumeName: string }>();

  constructor(private readonly watched: Watched) {}

  stepped(now: Micros): void {
    const { operations, actual } = this.watched.state.agent.volumes;
    if (operations.size === 0 && this.operations.size === 0) return;
    for (const operation of operations.values()) {
      if (this.operations.has(operation)) continue;
      this.operations.set(operation, { at: now, operation, plugin: actual.get(operation.volumeName)?.plugin ?? '' });
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
    // Stages that are passed are taken off the list.
    const worked = operation.stages.length === 0;
    const labels = { migrated: 'false', operation_name: name, status: worked ? 'success' : 'fail-unknown', volume_plugin: plugin };
    metrics.observe('storage_operation_duration_seconds', labels, secondsBetween(at, now));
    if (!worked) return;
    const first = this.since.get(keyOf(operation))?.at ?? at;
    this.since.delete(keyOf(operation));
    metrics.observe('volume_operation_total_seconds', { operation_name: `overall_${name}`, plugin_name: plugin }, secondsBetween(first, now));
  }
}

function keyOf({ volumeName, uid, kind }: VolumeOperation): string {
  return `${kind}/${uid}/${volumeName}`;
}
