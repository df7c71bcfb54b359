// Values of a cgroup that the kubelet manages (pod, QoS class, node).
// Invariant: null means "leave as it is"; a memory limit or quota of 0 is never written, since 0 means "not set" to the kubelet.

export interface CgroupValues {
  readonly cpuShares: number | null;
  /** Microseconds; 0 sets none but keeps the period, -1 lifts it. */
  readonly cpuQuotaMicros: number | null;
  readonly cpuPeriodMicros: number | null;
  readonly cpusetCpus: string | null;
  /** -1 lifts the limit. */
  readonly memoryBytes: bigint | null;
  readonly pidsLimit: number | null;
  /** Page size to limit, both in bytes; unnamed sizes stay unchanged. */
  readonly hugePageLimits: ReadonlyMap<bigint, bigint>;
  /** cgroup v2 files, written unchanged. */
  readonly unified: Readonly<Record<string, string>>;
}
