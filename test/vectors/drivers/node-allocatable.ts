// Capacity, what is kept back, what is left, and the limits on the cgroup of all pods.
import {
  type MachineFacts,
  machineCapacity,
  nodeReservation,
  nodeResources,
  overReserved,
  podsCgroupConfig,
  reservationProblem,
} from '../../../src/domain/cgroups/node-allocatable.js';
import { checkReservations } from '../../../src/domain/configuration/startup-checks.js';
import { resourceListOf } from '../../../src/domain/qos/pod-resources.js';
import { cpuSetOf } from '../../../src/domain/values/cpu-set.js';
import type { ResourceList } from '../../../src/ports/model/container.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

type Amounts = Readonly<Record<string, string>>;

interface Input {
  readonly machine: {
    readonly cpus: number;
    readonly memoryBytes: string;
    readonly ephemeralStorageBytes: string;
    readonly swapBytes?: string;
    readonly maxPids: number;
    readonly hugePages?: MachineFacts['hugePages'];
  };
  readonly config: {
    readonly maxPods: number;
    readonly podsPerCore?: number;
    readonly kubeReserved?: Amounts;
    readonly systemReserved?: Amounts;
    readonly evictionHard?: Amounts;
    readonly reservedSystemCPUs?: string;
    readonly enforceNodeAllocatable?: readonly string[];
    readonly cgroupsPerQOS?: boolean;
    readonly localStorageCapacityIsolation?: boolean;
    readonly ignoreEvictionThresholds?: boolean;
  };
  readonly devicePlugins?: { readonly capacity?: ResourceList; readonly allocatable?: ResourceList; readonly removed?: readonly string[] };
  readonly previousNodeStatus?: { readonly capacity?: ResourceList; readonly allocatable?: ResourceList };
}

export const driver: VectorDriver = {
  run({ machine: facts, config, devicePlugins = {}, previousNodeStatus = {} }: Input) {
    const { kubeReserved = {}, systemReserved = {}, evictionHard = {}, reservedSystemCPUs = '', maxPods, podsPerCore = 0 } = config;
    const online = cpuSetOf(Array.from({ length: facts.cpus }, (_, cpu) => cpu));
    const reserved = checkReservations({ kubeReserved, systemReserved, evictionHard, reservedSystemCPUs }, config.ignoreEvictionThresholds === true, online);
    if (!reserved.ok) return { error: reserved.error };
    const machine: MachineFacts = {
      cpus: facts.cpus,
      memoryBytes: BigInt(facts.memoryBytes),
      hugePages: facts.hugePages ?? [],
      ephemeralStorageBytes: config.localStorageCapacityIsolation === true ? BigInt(facts.ephemeralStorageBytes) : null,
      maxPids: facts.maxPids,
    };
    const capacity = machineCapacity(machine);
    const reservation = nodeReservation(capacity, reserved.value);
    const problem = reservationProblem(capacity, reservation);
    if (problem !== null) return { error: problem, overReserved: overReserved(capacity, reservation) };
    const { memoryBytes, cpuShares, pidsLimit, hugePageLimits } = podsCgroupConfig(
      machine,
      reserved.value,
      config.cgroupsPerQOS === true && (config.enforceNodeAllocatable ?? []).includes('pods'),
    );
    const devices = { capacity: devicePlugins.capacity ?? {}, allocatable: devicePlugins.allocatable ?? {}, removed: devicePlugins.removed ?? [] };
    return {
      ...nodeResources(machine, reservation, { maxPods, podsPerCore }, devices, previousNodeStatus),
      reservation: resourceListOf(reservation),
      podsCgroup: {
        memoryBytes: String(memoryBytes),
        cpuShares,
        pidsLimit: String(pidsLimit),
        ...(hugePageLimits.size === 0 ? {} : { hugePageLimits: Object.fromEntries([...hugePageLimits].map(([size, limit]) => [String(size), String(limit)])) }),
      },
      ...(facts.swapBytes === undefined ? {} : { swapCapacity: facts.swapBytes }),
    };
  },
  compare(got: unknown, want: Json): Difference[] {
    const prefix = 'invalid Node Allocatable configuration';
    if (isObject(got) && isObject(want) && want['error'] === prefix && String(got['error']).startsWith(prefix)) return differences({ ...got, error: prefix }, want);
    return differences(got, want);
  },
};
