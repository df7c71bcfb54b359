// CPU amounts in the kernel's units: millicores to shares (v1), weight (v2) and quota, and back.
// Invariant: shares stay in 2..262144, weights in 1..10000, a set quota is at least 1 ms.

export const minShares = 2;
const maxShares = 262_144;
const sharesPerCpu = 1024;
const millisPerCpu = 1000;
const maxWeight = 10_000;
const minQuotaMicros = 1000;

export const unlimitedQuota = -1;
export const defaultCpuPeriodMicros = 100_000;

export function milliCpuToShares(milliCpu: number): number {
  const shares = Math.floor((milliCpu * sharesPerCpu) / millisPerCpu);
  return Math.min(Math.max(shares, minShares), maxShares);
}

/** 0, which means "not set", for no limit. */
export function milliCpuToQuota(milliCpu: number, periodMicros: number): number {
  return milliCpu === 0 ? 0 : Math.max(Math.floor((milliCpu * periodMicros) / millisPerCpu), minQuotaMicros);
}

/** The weight the kubelet writes to pod, QoS and node cgroups: a straight line from [2..262144] to [1..10000]. */
export function sharesToPodWeight(shares: number): number {
  if (shares >= maxShares) return maxWeight;
  return 1 + Math.floor(((Math.max(shares, minShares) - minShares) * (maxWeight - 1)) / (maxShares - minShares));
}

/**
 * The weight that runc 1.3.2 and crun 1.23 write to container cgroups for given shares: a curve through
 * (2, 1), (1024, 100) and (262144, 10000), so that the default shares give the default weight. Not for pods.
 */
export function sharesToContainerWeight(shares: number): number {
  if (shares === 0) return 0;
  if (shares <= minShares) return 1;
  if (shares >= maxShares) return maxWeight;
  const l = Math.log2(shares);
  return Math.ceil(10 ** ((l * l + 125 * l) / 612 - 7 / 34));
}

/** The inverse of the straight line, for reading a pod's cgroup back. */
export function podWeightToShares(weight: number): number {
  return Math.floor(((weight - 1) * (maxShares - minShares)) / (maxWeight - 1)) + minShares;
}

export function sharesToMilliCpu(shares: number): number {
  return shares < minShares ? 0 : Math.ceil((shares * millisPerCpu) / sharesPerCpu);
}

/** 0 for an unlimited quota. */
export function quotaToMilliCpu(quotaMicros: number, periodMicros: number): number {
  return quotaMicros === unlimitedQuota || periodMicros === 0 ? 0 : Math.trunc((quotaMicros * millisPerCpu) / periodMicros);
}
