// Subscribers of GetContainerEvents. Invariant: each gets the events in order; one that doesn't read fast
// enough loses the stream, never single events.
import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { SimRuntimeEvent, SimRuntimeState } from '../../sim/index.js';
import type { criProtocol } from '../cri/index.js';
import type { ContainerFiles } from './container-files.js';
import { containerStatus, eventType, nanosOf, sandboxStatus } from './state-to-cri.js';

type Subscriber = ServerWritableStream<criProtocol.GetEventsRequest, criProtocol.ContainerEventResponse>;

/** Events that wait for a slow reader. */
const maxWaitingEvents = 1_000;

export class EventSubscribers {
  private readonly subscribers = new Set<Subscriber>();

  constructor(
    private readonly state: SimRuntimeState,
    private readonly files: ContainerFiles,
  ) {}

  add(call: Subscriber): void {
    this.subscribers.add(call);
    call.on('cancelled', () => this.subscribers.delete(call));
    // Confirms to the client that it gets every event from here on.
    call.sendMetadata(new Metadata());
  }

  /** Skips changes for which the CRI has no event. */
  send(event: SimRuntimeEvent): void {
    const type = eventType(event.kind);
    if (this.subscribers.size === 0 || type === null) return;
    const message = this.messageOf(event, type);
    for (const call of this.subscribers) {
      call.write(message);
      if (call.writableLength <= maxWaitingEvents) continue;
      this.subscribers.delete(call);
      call.end();
    }
  }

  close(): void {
    for (const call of this.subscribers) call.end();
    this.subscribers.clear();
  }

  private messageOf({ at, sandboxId, containerId }: SimRuntimeEvent, containerEventType: criProtocol.ContainerEventType): criProtocol.ContainerEventResponse {
    const sandbox = this.state.sandboxes.get(sandboxId);
    const containers = [...this.state.containers.values()].filter((container) => container.sandboxId === sandboxId);
    return {
      containerId,
      containerEventType,
      createdAt: nanosOf(at),
      podSandboxStatus: sandbox && sandboxStatus(sandbox),
      containersStatuses: containers.map((container) => containerStatus(container, this.state, this.files.messageOf(container))),
    };
  }
}
