// Images of containers: the duration of pulls, removals of unused images, and runs of credential provider plugins.
// Image volumes.
// Invariant: a run is counted once, when it has ended; a removal when the runtime has confirmed it.

import type { Micros } from '../../ports/micros.js';
import type { ContainerConfig } from '../../ports/model/container-config.js';
import type { PluginRun } from '../../ports/outbound/registry-credentials.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import type { ImageRun } from '../images/image-manager-state.js';
import type { Command, Reply } from '../kernel/machine.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

const sizes: readonly (readonly [belowBytes: number, label: string])[] = [
  [10e6, '0-10MB'],
  [100e6, '10MB-100MB'],
  [500e6, '100MB-500MB'],
  [1e9, '500MB-1GB'],
  [5e9, '1GB-5GB'],
  [10e9, '5GB-10GB'],
  [20e9, '10GB-20GB'],
  [30e9, '20GB-30GB'],
  [40e9, '30GB-40GB'],
  [60e9, '40GB-60GB'],
  [100e9, '60GB-100GB'],
];

function imageSizeLabel(bytes: number | null): string {
  if (bytes === null) return 'N/A';
  return sizes.find(([below]) => bytes < below)?.[1] ?? 'GT100GB';
}

export class ObservedImages implements ObservedPart {
  private readonly runs = new Map<number, { readonly run: ImageRun; wasPresent: boolean }>();

  /** Why the image that is being removed has to go; removals come one after the other. */
  private reason: 'age' | 'space' = 'space';

  constructor(private readonly watched: Watched) {}

  begun(_now: Micros, { op }: Command<KubeletOperations>): void {
    if (op === 'images.remove') this.reason = this.watched.state.agent.imageCollection.run?.phase === 'age' ? 'age' : 'space';
  }

  answered(now: Micros, begun: Begun | null, { op, outcome }: Reply<KubeletOperations>): void {
    if (begun === null) return;
    const { metrics } = this.watched;
    if (op === 'containers.create') this.mounted((begun.command.request as { readonly config: ContainerConfig }).config, outcome.ok);
    if (op === 'images.remove' && outcome.ok) metrics.count('kubelet_image_garbage_collected_total', { reason: this.reason });
    if (op !== 'registryCredentials.runPlugin') return;
    const plugin = { plugin_name: (begun.command.request as PluginRun).name };
    metrics.observe('kubelet_credential_provider_plugin_duration', plugin, secondsBetween(begun.at, now));
    if (!outcome.ok) metrics.count('kubelet_credential_provider_plugin_errors_total', plugin);
  }

  private mounted({ mounts }: ContainerConfig, made: boolean): void {
    const images = mounts?.filter(({ image }) => image !== undefined).length ?? 0;
    if (images > 0) this.watched.metrics.count(made ? 'kubelet_image_volume_mounted_succeed_total' : 'kubelet_image_volume_mounted_errors_total', {}, images);
  }

  stepped(): void {
    const { runs } = this.watched.state.agent.images;
    if (runs.size === 0 && this.runs.size === 0) return;
    for (const [id, run] of runs) {
      const known = this.runs.get(id);
      if (known === undefined) {
        this.runs.set(id, { run, wasPresent: run.image !== null });
        // The events of an image that is a volume are no container's.
        if (run.request.containerName === null) this.watched.metrics.count('kubelet_image_volume_requested_total', {});
      }
      // Before a pull a known image is the one that was present.
      else if (run.image !== null && run.tookMicros === 0) known.wasPresent = true;
    }
    for (const [id, known] of this.runs) {
      if (runs.has(id)) continue;
      this.runs.delete(id);
      this.ended(known.run, known.wasPresent);
    }
  }

  private ended({ request, image, tookMicros, credentials, attempt, failures }: ImageRun, wasPresent: boolean): void {
    const { metrics } = this.watched;
    const pulled = tookMicros > 0;
    const tried = credentials !== null || pulled || attempt > 0 || failures.length > 0;
    const labels = { pull_policy: request.pullPolicy.toLowerCase(), present_locally: String(wasPresent), pull_required: tried ? 'true' : wasPresent ? 'false' : 'unknown' };
    metrics.count('kubelet_image_manager_ensure_image_requests_total', labels);
    if (pulled) metrics.observe('kubelet_image_pull_duration_seconds', { image_size_in_bytes: imageSizeLabel(image?.sizeBytes ?? null) }, tookMicros / 1e6);
  }
}
