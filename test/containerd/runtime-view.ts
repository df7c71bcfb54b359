// What really is in a private containerd, read past the kubelet: over the CRI with a client of its own, and from containerd's task list.
import { type Container, ContainerState, type ContainerStatus, type PodSandbox, RuntimeServiceService } from '../../src/adapters/cri/gen/cri-runtime-v1.js';
import type { PrivateContainerd } from './private-containerd.js';
import { RuntimeClient } from './runtime-client.js';

const notFound = 5;

export class RuntimeView {
  private readonly client: RuntimeClient;

  constructor(private readonly containerd: PrivateContainerd) {
    this.client = new RuntimeClient(containerd.endpoint);
  }

  close(): void {
    this.client.close();
  }

  async containers(): Promise<readonly Container[]> {
    return (await this.client.ask(RuntimeServiceService.listContainers, { filter: undefined })).containers;
  }

  async runningContainers(): Promise<readonly Container[]> {
    return (await this.containers()).filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  }

  async sandboxes(): Promise<readonly PodSandbox[]> {
    return (await this.client.ask(RuntimeServiceService.listPodSandbox, { filter: undefined })).items;
  }

  /** Null when the runtime has no such container. */
  async status(containerId: string): Promise<ContainerStatus | null> {
    try {
      return (await this.client.ask(RuntimeServiceService.containerStatus, { containerId, verbose: false })).status ?? null;
    } catch (error) {
      if ((error as { readonly code?: number }).code === notFound) return null;
      throw error;
    }
  }

  /** The host's process of each container and sandbox that runs, by the runtime's id. */
  processes(): ReadonlyMap<string, number> {
    const rows = this.containerd
      .ctr('tasks', 'list')
      .split('\n')
      .map((row) => row.trim().split(/\s+/))
      .filter(([, pid, state]) => state === 'RUNNING' && pid !== undefined);
    return new Map(rows.map(([id = '', pid]) => [id, Number(pid)]));
  }
}
