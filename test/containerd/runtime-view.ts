// What really is in a private containerd, read past the kubelet: over the CRI with a client of its own, and from containerd's task list.
import { credentials } from '@grpc/grpc-js';
import {
  type Container,
  ContainerState,
  type ContainerStatus,
  type ListContainersResponse,
  type ListPodSandboxResponse,
  type PodSandbox,
  RuntimeServiceClient,
} from '../../src/adapters/cri/gen/cri-runtime-v1.js';
import type { PrivateContainerd } from './private-containerd.js';

/** containerd 1.x takes no socket's path for an authority. */
const channelOptions = { 'grpc.default_authority': 'localhost' };

export class RuntimeView {
  private readonly client: RuntimeServiceClient;

  constructor(private readonly containerd: PrivateContainerd) {
    this.client = new RuntimeServiceClient(containerd.endpoint, credentials.createInsecure(), channelOptions);
  }

  close(): void {
    this.client.close();
  }

  async containers(): Promise<readonly Container[]> {
    const { containers } = await new Promise<ListContainersResponse>((resolve, reject) => {
      this.client.listContainers({ filter: undefined }, (error, reply) => (error === null ? resolve(reply) : reject(error)));
    });
    return containers;
  }

  async runningContainers(): Promise<readonly Container[]> {
    return (await this.containers()).filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  }

  async sandboxes(): Promise<readonly PodSandbox[]> {
    const { items } = await new Promise<ListPodSandboxResponse>((resolve, reject) => {
      this.client.listPodSandbox({ filter: undefined }, (error, reply) => (error === null ? resolve(reply) : reject(error)));
    });
    return items;
  }

  /** Null when the runtime has no such container. */
  status(containerId: string): Promise<ContainerStatus | null> {
    return new Promise((resolve, reject) => {
      this.client.containerStatus({ containerId, verbose: false }, (error, reply) => {
        if (error === null) resolve(reply.status ?? null);
        else if (error.code === 5) resolve(null);
        else reject(error);
      });
    });
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
