// The service `PodResourcesLister` (v1, and v1alpha1's List) over gRPC: exclusive resources of containers, for monitoring agents.
// Not exported by this folder's index, and loaded with `import()`: an agent without the service never loads the server's library.
// Invariant: the request rate is limited for all clients together.

import type { Duplex } from 'node:stream';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import type { HeldMemory, HeldResources, PodHoldings, PodResourceQueries } from '../../ports/inbound/pod-resources.js';
import type { PodResourcesCall } from '../../ports/outbound/metrics/kubelet-metrics.js';
import { stopServer } from '../grpc/index.js';
import { type ContainerMemory, type ContainerResources, type PodResources, PodResourcesListerService } from './gen/podresources-v1.js';

const callsPerSecond = 100;
const callsAtOnce = 10;
const stopTimeMs = 500;

const oldService = { list: { ...PodResourcesListerService.list, path: '/v1alpha1.PodResourcesLister/List' } };

/** @param onCall takes each call that was answered, but those over the rate limit @param nowMillis a monotonic clock */
export class PodResourcesService {
  private readonly server = new Server();
  private readonly injector;
  private tokens = callsAtOnce;
  private filledAt: number;

  constructor(
    private readonly queries: PodResourceQueries,
    private readonly onCall: (call: PodResourcesCall) => void,
    private readonly nowMillis: () => number = () => performance.now(),
  ) {
    this.filledAt = nowMillis();
    const list = this.answering('list', 'v1', () => ({ podResources: this.queries.list().map(podResources) }));
    this.server.addService(PodResourcesListerService, {
      list,
      getAllocatableResources: this.answering('get_allocatable', 'v1', () => {
        const { cpus, memory } = this.queries.allocatable();
        return { devices: [], cpuIds: cpus.map(BigInt), memory: memory.map(containerMemory) };
      }),
      get: this.answering('get', 'v1', ({ podName, podNamespace }: { readonly podName: string; readonly podNamespace: string }) => {
        const found = this.queries.get(podNamespace, podName);
        if (found === null) throw new Refusal(status.UNKNOWN, `pod ${podName} in namespace ${podNamespace} not found`);
        return { podResources: podResources(found) };
      }),
    });
    // Names only: v1alpha1 has no fields for the rest of v1.
    this.server.addService(oldService, { list: this.answering('list', 'v1alpha1', () => ({ podResources: this.queries.list().map(namesOnly) })) });
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
  }

  take(connection: Duplex): void {
    this.injector.injectConnection(connection);
  }

  close(): Promise<void> {
    this.injector.destroy();
    return stopServer(this.server, stopTimeMs);
  }

  private answering<Request, Reply>(method: PodResourcesCall['method'], version: PodResourcesCall['version'], answer: (request: Request) => Reply) {
    return ({ request }: ServerUnaryCall<Request, Reply>, done: sendUnaryData<Reply>): void => {
      if (!this.takeToken()) {
        done({ code: status.RESOURCE_EXHAUSTED, details: 'rejected by rate limit' });
        return;
      }
      try {
        done(null, answer(request));
        this.onCall({ method, version, failed: false });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.onCall({ method, version, failed: true });
        done({ code: error.code, details: error.message });
      }
    };
  }

  private takeToken(): boolean {
    const now = this.nowMillis();
    this.tokens = Math.min(callsAtOnce, this.tokens + ((now - this.filledAt) * callsPerSecond) / 1000);
    this.filledAt = now;
    if (this.tokens < 1) return false;
    this.tokens--;
    return true;
  }
}

class Refusal extends Error {
  constructor(
    readonly code: status,
    message: string,
  ) {
    super(message);
  }
}

function podResources({ name, namespace, containers }: PodHoldings): PodResources {
  return { name, namespace, containers: containers.map(containerResources) };
}

function namesOnly({ name, namespace, containers }: PodHoldings): PodResources {
  return { name, namespace, containers: containers.map(({ containerName }) => containerResources({ containerName, cpus: [], memory: [] })) };
}

function containerResources({ containerName, cpus, memory }: HeldResources): ContainerResources {
  return { name: containerName, devices: [], cpuIds: cpus.map(BigInt), memory: memory.map(containerMemory), dynamicResources: [] };
}

function containerMemory({ type, sizeBytes, numaNodes }: HeldMemory): ContainerMemory {
  return { memoryType: type, size: BigInt(sizeBytes), topology: { nodes: numaNodes.map((ID) => ({ ID: BigInt(ID) })) } };
}
