// Containers over the CRI.
import { containerLabels } from '../../domain/values/container-labels.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { ContainerConfig } from '../../ports/model/container-config.js';
import type { SandboxConfig } from '../../ports/model/sandbox-config.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ContainerOperations, ExecResult } from '../../ports/outbound/container-runtime.js';
import { PortError } from '../../ports/port-error.js';
import { absentIsSuccess } from './absent-is-success.js';
import { containerConfigToCri, sandboxConfigToCri } from './config-to-cri.js';
import { brokenAnswer, type CriConnection } from './connection.js';
import { RuntimeServiceService } from './gen/cri-runtime-v1.js';
import { resourcesToCri } from './linux-to-cri.js';

interface CreateRequest {
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly sandboxConfig: SandboxConfig;
}

export class CriContainers implements PortOf<ContainerOperations> {
  constructor(private readonly connection: CriConnection) {}

  async create({ sandboxId, config, sandboxConfig }: CreateRequest, call: Call): Promise<{ readonly containerId: string }> {
    const target = { operation: 'containers.create', subject: config.metadata.name, deadlineMicros: this.connection.requestTimeoutMicros };
    const message = { podSandboxId: sandboxId, config: containerConfigToCri(config), sandboxConfig: sandboxConfigToCri(sandboxConfig) };
    const uid = config.labels[containerLabels.podUid] ?? sandboxConfig.metadata.uid;
    const { containerId } = await this.connection.created.during(uid, () => this.connection.unary(RuntimeServiceService.createContainer, message, call, target));
    if (containerId === '') throw brokenAnswer(`ContainerId is not set for container ${JSON.stringify(config.metadata)}`, target.operation, config.metadata.name);
    return { containerId };
  }

  async start({ containerId }: { readonly containerId: string }, call: Call): Promise<null> {
    const target = { operation: 'containers.start', subject: containerId, deadlineMicros: this.connection.requestTimeoutMicros };
    await this.connection.unary(RuntimeServiceService.startContainer, { containerId }, call, target);
    return null;
  }

  /** The deadline leaves the grace period to the container, and the usual time to the runtime. */
  async stop({ containerId, gracePeriodSeconds }: { readonly containerId: string; readonly gracePeriodSeconds: number }, call: Call): Promise<null> {
    const deadlineMicros = this.connection.requestTimeoutMicros + gracePeriodSeconds * microsPerSecond;
    const target = { operation: 'containers.stop', subject: containerId, deadlineMicros, errorText: 'with-code' } as const;
    return absentIsSuccess(this.connection.unary(RuntimeServiceService.stopContainer, { containerId, timeout: BigInt(gracePeriodSeconds) }, call, target));
  }

  /** Without a timeout of the command the call has no deadline either: hooks may run for any time. */
  async execSync({ containerId, command, timeoutSeconds }: ContainerOperations['execSync']['request'], call: Call): Promise<ExecResult> {
    const deadlineMicros = timeoutSeconds === 0 ? null : this.connection.requestTimeoutMicros + timeoutSeconds * microsPerSecond;
    const target = { operation: 'containers.execSync', subject: containerId, deadlineMicros, errorText: 'with-code' } as const;
    const message = { containerId, cmd: [...command], timeout: BigInt(timeoutSeconds) };
    const { exitCode, stdout, stderr } = await this.connection.unary(RuntimeServiceService.execSync, message, call, target);
    return { exitCode, stdout: shown(stdout), stderr: shown(stderr) };
  }

  async updateResources({ containerId, resources }: ContainerOperations['updateResources']['request'], call: Call): Promise<null> {
    const target = { operation: 'containers.updateResources', subject: containerId, deadlineMicros: this.connection.requestTimeoutMicros, errorText: 'with-code' } as const;
    const message = { containerId, linux: resourcesToCri(resources), windows: undefined, annotations: {} };
    await this.connection.unary(RuntimeServiceService.updateContainerResources, message, call, target);
    return null;
  }

  async reopenLog({ containerId }: { readonly containerId: string }, call: Call): Promise<null> {
    const target = { operation: 'containers.reopenLog', subject: containerId, deadlineMicros: this.connection.requestTimeoutMicros };
    await this.connection.unary(RuntimeServiceService.reopenContainerLog, { containerId }, call, target);
    return null;
  }

  /** The runtime gets at least the usual time of a call. */
  async checkpoint({ containerId, location, timeoutSeconds }: ContainerOperations['checkpoint']['request'], call: Call): Promise<null> {
    const operation = 'containers.checkpoint';
    if (timeoutSeconds < 0) throw new PortError({ kind: 'invalid-argument', message: 'checkpoint timeout is negative', operation, subject: containerId });
    const deadlineMicros = Math.max(this.connection.requestTimeoutMicros, timeoutSeconds * microsPerSecond);
    const message = { containerId, location, timeout: BigInt(Math.floor(deadlineMicros / microsPerSecond)) };
    await this.connection.unary(RuntimeServiceService.checkpointContainer, message, call, { operation, subject: containerId, deadlineMicros, errorText: 'with-code' });
    return null;
  }

  async remove({ containerId }: { readonly containerId: string }, call: Call): Promise<null> {
    const target = { operation: 'containers.remove', subject: containerId, deadlineMicros: this.connection.requestTimeoutMicros };
    return absentIsSuccess(this.connection.unary(RuntimeServiceService.removeContainer, { containerId }, call, target));
  }
}

/** The maximum length of kept output. */
const outputMaxBytes = 16 * 1024;

function shown(output: Buffer): string {
  return output.subarray(0, outputMaxBytes).toString('utf8');
}
