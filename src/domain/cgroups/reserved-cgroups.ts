// The values of the reserved cgroups of the system and of Kubernetes itself, if their reservations are enforced.
// Invariant: contains only enforced resources; a name is in the form of the configured driver.
import type { KubeletConfiguration } from '../configuration/schema.js';
import type { NodeReservations, Reservation } from '../configuration/startup-checks.js';
import { quantityMilliValue, quantityValue } from '../values/quantity.js';
import { type CgroupConfig, emptyCgroupConfig } from './cgroup-config.js';
import { type CgroupDriver, type CgroupName, parseCgroupPath } from './cgroup-name.js';
import { milliCpuToShares } from './cpu-conversions.js';

type Configured = Pick<KubeletConfiguration, 'enforceNodeAllocatable' | 'systemReservedCgroup' | 'kubeReservedCgroup'>;

export interface ReservedCgroup {
  readonly kind: 'system' | 'kube';
  /** CPU alone: of the other resources a process may be killed. */
  readonly compressible: boolean;
  /** As configured. */
  readonly path: string;
  readonly name: CgroupName;
}

export interface ReservedCgroupFacts {
  /** Without a CPU manager policy all online CPUs; null: another program manages the cpuset. */
  readonly cpus: string | null;
  readonly hugePageBytes: readonly bigint[];
  /** Reserved memory is protected from reclaim, too (KEP-2570). */
  readonly keepsMemory: boolean;
}

/** Those that are enforced, the system's first. */
export function reservedCgroups(configuration: Configured, driver: CgroupDriver): ReservedCgroup[] {
  const { enforceNodeAllocatable: enforced } = configuration;
  return (['system', 'kube'] as const).flatMap((kind) => {
    const compressible = enforced.includes(`${kind}-reserved-compressible`);
    if (!compressible && !enforced.includes(`${kind}-reserved`)) return [];
    const path = kind === 'system' ? configuration.systemReservedCgroup : configuration.kubeReservedCgroup;
    return [{ kind, compressible, path, name: parseCgroupPath(driver, path) }];
  });
}

export function reservedCgroupNames(configuration: Configured, driver: CgroupDriver): CgroupName[] {
  return reservedCgroups(configuration, driver).map(({ name }) => name);
}

/** null: no reservation to enforce. */
export function reservedCgroupValues({ kind, compressible }: ReservedCgroup, reservations: NodeReservations, facts: ReservedCgroupFacts): CgroupConfig | null {
  const reserved: Reservation = kind === 'system' ? reservations.systemReserved : reservations.kubeReserved;
  if (reserved === null) return null;
  const { cpu, memory, pid } = reserved;
  const shares = { cpuShares: cpu === undefined ? null : milliCpuToShares(Number(quantityMilliValue(cpu))), cpusetCpus: facts.cpus };
  if (compressible) return { ...emptyCgroupConfig, ...shares };
  const memoryBytes = memory === undefined ? null : quantityValue(memory);
  return {
    ...emptyCgroupConfig,
    ...shares,
    memoryBytes,
    pidsLimit: pid === undefined ? null : Number(quantityValue(pid)),
    hugePageLimits: new Map(facts.hugePageBytes.map((pageBytes) => [pageBytes, 0n])),
    unified: facts.keepsMemory && memoryBytes !== null ? { 'memory.min': String(memoryBytes) } : {},
  };
}
