// A refused start. Invariant: everything that it started is stopped, and the message is the one line that the process ends with.
import { EndpointError } from '../../adapters/cri/index.js';
import { PortError } from '../../ports/port-error.js';

export class StartRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartRefusal';
  }
}

/** A failed setup of a part of the agent itself: also recorded as an event of the node, as in the Go kubelet. */
export class SetupFailure extends StartRefusal {
  constructor(readonly reason: string) {
    super(`failed to run Kubelet: failed to initialize internal modules: ${reason}`);
  }
}

/** A refusal of the runtime, the file system or the endpoint's text, as the line that the process ends with; programmer errors stay unchanged. */
export function asRefusal(error: unknown): unknown {
  const isOutside = error instanceof PortError || error instanceof EndpointError || (error instanceof Error && 'syscall' in error);
  return isOutside ? new StartRefusal(`failed to run Kubelet: ${error.message}`) : error;
}
