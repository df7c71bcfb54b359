// Checkpoints of containers, for authorized clients of the kubelet's API: finds the container, makes the directory, calls the runtime.
// Invariant: archives are readable by root only, since they contain the memory of a container.
import { chmodSync, mkdirSync } from 'node:fs';
import { checkpointPath, checkpointsDirectory, hasContainer, runningContainerId } from '../../domain/containers/checkpoint-archive.js';
import type { CheckpointOutcome, CheckpointRequest, ContainerCheckpointOperations } from '../../ports/inbound/container-checkpoints.js';
import type { Instant } from '../../ports/instant.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ContainerOperations, RuntimeStateOperations } from '../../ports/outbound/container-runtime.js';

const directoryMode = 0o700;

export interface CheckpointParts {
  readonly rootDirectory: string;
  readonly runtime: Pick<PortOf<RuntimeStateOperations>, 'inspectPod'>;
  readonly containers: Pick<PortOf<ContainerOperations>, 'checkpoint'>;
  readonly pod: (namespace: string, name: string) => Pod | null;
  readonly wall: () => Instant;
}

export class RuntimeCheckpoints implements PortOf<ContainerCheckpointOperations> {
  constructor(private readonly parts: CheckpointParts) {}

  async checkpoint({ namespace, podName, containerName, timeoutSeconds }: CheckpointRequest, call: Call): Promise<CheckpointOutcome> {
    const pod = this.parts.pod(namespace, podName);
    if (pod === null) return { kind: 'no-pod' };
    if (!hasContainer(pod, containerName)) return { kind: 'no-container' };
    const { rootDirectory, runtime, containers, wall } = this.parts;
    try {
      const containerId = runningContainerId(await runtime.inspectPod({ uid: pod.metadata.uid ?? '' }, call), containerName);
      if (containerId === null) return { kind: 'failed', message: `container ${containerName} not found` };
      const location = checkpointPath(rootDirectory, pod, containerName, wall(), -60 * new Date().getTimezoneOffset());
      makeDirectory(checkpointsDirectory(rootDirectory));
      await containers.checkpoint({ containerId, location, timeoutSeconds }, call);
      return { kind: 'done', path: location };
    } catch (error) {
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
    }
  }
}

function makeDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: directoryMode });
  chmodSync(path, directoryMode);
}
