// The runtime's event stream (GetContainerEvents) as notifications per pod. containerd before 2.0 does not support it.
// Invariant: every connection begins with `lost`, because earlier changes are unknown; `unsupported` is sent once and last.
import { containerLabels } from '../../domain/values/container-labels.js';
import type { RuntimeEvent, RuntimeEventSource } from '../../ports/outbound/runtime-events.js';
import { type GrpcFailure, type GrpcStream, grpcStatus } from '../grpc/index.js';
import type { CriConnection } from './connection.js';
import { type ContainerEventResponse, RuntimeServiceService } from './gen/cri-runtime-v1.js';
import { instantOfNanos } from './values-from-cri.js';

/** Pause before the first attempt to reconnect, and its bound; doubles each time, back to the first after a notice. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;

export class CriRuntimeEvents implements RuntimeEventSource {
  private rpc: GrpcStream | null = null;
  private timer: NodeJS.Timeout | null = null;
  private pauseMs = firstPauseMs;
  private stopped = false;

  constructor(private readonly connection: CriConnection) {}

  start(deliver: (event: RuntimeEvent) => void): void {
    let begun = false;
    const begin = () => {
      if (!begun) deliver({ kind: 'lost' });
      begun = true;
    };
    const ended = (failure: GrpcFailure | null) => {
      if (this.stopped) return;
      this.rpc = null;
      if (failure?.code === grpcStatus.UNIMPLEMENTED) deliver({ kind: 'unsupported' });
      else {
        begin();
        this.reconnectLater(deliver);
      }
    };
    const changed = (event: ContainerEventResponse) => {
      if (this.stopped) return;
      begin();
      this.pauseMs = firstPauseMs;
      const podUid = podUidOf(event);
      deliver(podUid === null ? { kind: 'lost' } : { kind: 'changed', podUid, at: instantOfNanos(event.createdAt) });
    };
    // The server's headers confirm the subscription; without them, the first event does.
    const listening = () => {
      if (!this.stopped) begin();
    };
    this.rpc = this.connection.stream(RuntimeServiceService.getContainerEvents, {}, { begun: listening, message: changed, ended });
  }

  stop(): void {
    this.stopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.rpc?.cancel();
  }

  private reconnectLater(deliver: (event: RuntimeEvent) => void): void {
    this.timer = setTimeout(() => this.start(deliver), this.pauseMs);
    this.timer.unref();
    this.pauseMs = Math.min(2 * this.pauseMs, longestPauseMs);
  }
}

/** An event without a pod shows only that something changed. */
function podUidOf({ podSandboxStatus, containersStatuses }: ContainerEventResponse): string | null {
  const uid = podSandboxStatus?.metadata?.uid ?? containersStatuses[0]?.labels[containerLabels.podUid];
  return uid === undefined || uid === '' ? null : uid;
}
