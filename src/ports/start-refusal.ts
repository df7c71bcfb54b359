// A refused start. Invariant: everything that it started is stopped, and the message is the one line that the process ends with.

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
