// Sandboxes over the CRI.
import { containerLabels } from '../../domain/values/container-labels.js';
import type { SandboxConfig } from '../../ports/model/sandbox-config.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { SandboxOperations } from '../../ports/outbound/container-runtime.js';
import { absentIsSuccess } from './absent-is-success.js';
import { sandboxConfigToCri } from './config-to-cri.js';
import { brokenAnswer, type CriConnection } from './connection.js';
import { RuntimeServiceService } from './gen/cri-runtime-v1.js';
import { resourcesToCri } from './linux-to-cri.js';

export class CriSandboxes implements PortOf<SandboxOperations> {
  constructor(private readonly connection: CriConnection) {}

  /** Twice the usual deadline: the network is set up in here. */
  async run(request: { readonly config: SandboxConfig; readonly runtimeHandler: string }, call: Call): Promise<{ readonly sandboxId: string }> {
    const { metadata } = request.config;
    const target = { operation: 'sandboxes.run', subject: metadata.uid, deadlineMicros: 2 * this.connection.requestTimeoutMicros, errorText: 'with-code' } as const;
    const message = { config: sandboxConfigToCri(request.config), runtimeHandler: request.runtimeHandler };
    const { podSandboxId } = await this.connection.created.during(request.config.labels[containerLabels.podUid] ?? metadata.uid, () =>
      this.connection.unary(RuntimeServiceService.runPodSandbox, message, call, target),
    );
    if (podSandboxId === '') throw brokenAnswer(`PodSandboxId is not set for sandbox ${JSON.stringify(metadata)}`, target.operation, metadata.uid);
    return { sandboxId: podSandboxId };
  }

  async stop({ sandboxId }: { readonly sandboxId: string }, call: Call): Promise<null> {
    const target = { operation: 'sandboxes.stop', subject: sandboxId, deadlineMicros: this.connection.requestTimeoutMicros, errorText: 'with-code' } as const;
    return absentIsSuccess(this.connection.unary(RuntimeServiceService.stopPodSandbox, { podSandboxId: sandboxId }, call, target));
  }

  async remove({ sandboxId }: { readonly sandboxId: string }, call: Call): Promise<null> {
    const target = { operation: 'sandboxes.remove', subject: sandboxId, deadlineMicros: this.connection.requestTimeoutMicros };
    return absentIsSuccess(this.connection.unary(RuntimeServiceService.removePodSandbox, { podSandboxId: sandboxId }, call, target));
  }

  async updateResources({ sandboxId, resources, overhead }: SandboxOperations['updateResources']['request'], call: Call): Promise<null> {
    const target = { operation: 'sandboxes.updateResources', subject: sandboxId, deadlineMicros: this.connection.requestTimeoutMicros, errorText: 'with-code' } as const;
    const message = { podSandboxId: sandboxId, overhead: resourcesToCri(overhead), resources: resourcesToCri(resources) };
    await this.connection.unary(RuntimeServiceService.updatePodSandboxResources, message, call, target);
    return null;
  }
}
