// Queries of clients that watch which resources containers hold exclusively. Answers describe one moment and cost no I/O.

export interface HeldMemory {
  /** `memory` or `hugepages-<size>`. */
  readonly type: string;
  readonly sizeBytes: number;
  /** NUMA nodes that it is of. */
  readonly numaNodes: readonly number[];
}

export interface HeldResources {
  readonly containerName: string;
  /** Its own CPUs; empty: it shares. */
  readonly cpus: readonly number[];
  readonly memory: readonly HeldMemory[];
}

export interface PodHoldings {
  readonly name: string;
  readonly namespace: string;
  /** Sidecars, then containers; without init containers that end. */
  readonly containers: readonly HeldResources[];
}

export interface PodResourceQueries {
  /** Of pods that have not ended. */
  list(): readonly PodHoldings[];
  /** null if the pod is unknown or finished. */
  get(namespace: string, name: string): PodHoldings | null;
  /** What containers may get, allocated or not. */
  allocatable(): { readonly cpus: readonly number[]; readonly memory: readonly HeldMemory[] };
}
