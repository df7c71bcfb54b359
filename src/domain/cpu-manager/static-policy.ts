// The static policy: containers of Guaranteed pods that request whole CPUs get them exclusively; all others share the rest.
// This file decides; the state is the CPU manager's.
// Invariants: exclusive sets are disjoint (except for a pod's own finished init containers), within the allocatable CPUs, and out of the shared pool.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { hasPodLevel } from '../qos/pod-resources.js';
import { podQosClass } from '../qos/qos-class.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { type CpuSet, cpuSetDifference, cpuSetIntersection, cpuSetOf, cpuSetUnion, formatCpuSet } from '../values/cpu-set.js';
import { mustParseQuantity, quantityMilliValue } from '../values/quantity.js';
import type { StaticPolicyOptions } from './cpu-options.js';
import { type CpuTopology, cpusIn, groupsOf } from './cpu-topology.js';
import { takeByTopology } from './take-cpus.js';

export interface StaticPolicy {
  readonly topology: CpuTopology;
  readonly options: StaticPolicyOptions;
  /** For the system; never allocated exclusively. */
  readonly reserved: CpuSet;
  /** Whole cores that a reserved CPU is in. */
  readonly reservedPhysical: CpuSet;
}

export type StaticPolicyResult = { readonly ok: true; readonly policy: StaticPolicy } | { readonly ok: false; readonly error: string };

/** `explicit` takes precedence over the default choice, the lowest cores; either must have exactly `count` CPUs. */
export function newStaticPolicy(topology: CpuTopology, options: StaticPolicyOptions, count: number, explicit: CpuSet): StaticPolicyResult {
  const chosen = explicit.length > 0 ? explicit : lowestCpus(topology, options, count);
  if (chosen.length !== count) {
    return { ok: false, error: `[cpumanager] unable to reserve the required amount of CPUs (size of ${formatCpuSet(chosen)} did not equal ${count})` };
  }
  const unknown = chosen.find((cpu) => !topology.cpus.has(cpu));
  if (unknown !== undefined) return { ok: false, error: `[cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: ${unknown}` };
  return { ok: true, policy: { topology, options, reserved: chosen, reservedPhysical: cpusIn(topology, 'core', groupsOf(topology, 'core', chosen)) } };
}

function lowestCpus(topology: CpuTopology, options: StaticPolicyOptions, count: number): CpuSet {
  const take = takeByTopology(topology, options, topology.all, count);
  return take.ok ? take.cpus : [];
}

/** The shared pool of a node without exclusive CPUs. */
export function initialSharedPool({ topology, options, reserved }: StaticPolicy): CpuSet {
  return options.strictCpuReservation ? cpuSetDifference(topology.all, reserved) : topology.all;
}

/** CPUs that may be allocated at all. */
export function allocatableCpus({ topology, reserved }: StaticPolicy): CpuSet {
  return cpuSetDifference(topology.all, reserved);
}

/** The number of a container's exclusive CPUs; 0: it runs in the shared pool. */
export function exclusiveCpuCount(pod: Pod, container: Container): number {
  if (podQosClass(pod) !== 'Guaranteed' || hasPodLevel(pod, 'requests') || hasPodLevel(pod, 'limits')) return 0;
  const request = container.resources?.requests?.cpu;
  if (request === undefined) return 0;
  const millis = quantityMilliValue(mustParseQuantity(request));
  return millis % 1000n === 0n ? Number(millis / 1000n) : 0;
}

/** For the whole pod: its init containers run one after the other, beside the sidecars before them; the rest runs together. */
export function exclusivePodCpuCount(pod: Pod): number {
  let sidecars = 0;
  let initPeak = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const count = exclusiveCpuCount(pod, container);
    if (isRestartableInit(container)) sidecars += count;
    else initPeak = Math.max(initPeak, sidecars + count);
  }
  const together = pod.spec.containers.reduce((sum, container) => sum + exclusiveCpuCount(pod, container), sidecars);
  return Math.max(initPeak, together);
}

/** Why a request can't be served with whole cores only (option full-pcpus-only); null when it can. */
export function smtAlignmentError(policy: StaticPolicy, sharedPool: CpuSet, count: number): string | null {
  if (!policy.options.fullPcpusOnly) return null;
  const perCore = policy.topology.smtWidth;
  if (count % perCore !== 0) return `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${perCore}`;
  // A reserved CPU may leave its core's other threads free: those can't serve as part of a whole core.
  const available = cpuSetDifference(sharedPool, policy.reservedPhysical).length;
  if (count <= available) return null;
  return `SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ${available}, requested CPUs = ${count}, CPUs per core = ${perCore}`;
}

export type CpuAllocation =
  | {
      readonly ok: true;
      readonly cpus: CpuSet;
      readonly sharedPool: CpuSet;
      /** All of them share one uncore cache. */
      readonly uncoreCacheAligned: boolean;
    }
  | { readonly ok: false; readonly error: string };

/** As many as possible from the affinity's NUMA nodes (null: any), the rest from elsewhere. */
export function allocateCpus(policy: StaticPolicy, sharedPool: CpuSet, reusable: CpuSet, numaAffinity: CpuSet | null, count: number): CpuAllocation {
  const { topology, options } = policy;
  const allocatable = cpuSetUnion(availableCpus(policy, sharedPool), reusable);
  let cpus: CpuSet = [];
  if (numaAffinity !== null) {
    const aligned = cpuSetIntersection(allocatable, alignedCpus(policy, numaAffinity));
    const take = takeByTopology(topology, options, aligned, Math.min(count, aligned.length));
    if (!take.ok) return take;
    cpus = take.cpus;
  }
  const rest = takeByTopology(topology, options, cpuSetDifference(allocatable, cpus), count - cpus.length);
  if (!rest.ok) return rest;
  cpus = cpuSetUnion(cpus, rest.cpus);
  return { ok: true, cpus, sharedPool: cpuSetDifference(sharedPool, cpus), uncoreCacheAligned: groupsOf(topology, 'uncoreCache', cpus).length <= 1 };
}

/** The shared pool without reserved CPUs. */
export function availableCpus(policy: StaticPolicy, sharedPool: CpuSet): CpuSet {
  return cpuSetDifference(sharedPool, policy.reserved);
}

function alignedCpus({ topology, options }: StaticPolicy, numaAffinity: CpuSet): CpuSet {
  const cpus = cpusIn(topology, 'numaNode', numaAffinity);
  return options.alignBySocket ? cpusIn(topology, 'socket', groupsOf(topology, 'socket', cpus)) : cpus;
}

/** Why a state that was found at start doesn't fit this machine and configuration; null when it does. */
export function stateProblem(policy: StaticPolicy, sharedPool: CpuSet, assignments: ReadonlyMap<string, ReadonlyMap<string, CpuSet>>): string | null {
  const { options, reserved } = policy;
  const expected = initialSharedPool(policy);
  if (sharedPool.length === 0) return assignments.size === 0 ? null : 'default cpuset cannot be empty';
  const shared = cpuSetIntersection(reserved, sharedPool);
  if (options.strictCpuReservation && shared.length > 0) {
    return `some of strictly reserved cpus: "${formatCpuSet(shared)}" are present in defaultCpuSet: "${formatCpuSet(sharedPool)}"`;
  }
  if (!options.strictCpuReservation && shared.length < reserved.length) {
    return `not all reserved cpus: "${formatCpuSet(reserved)}" are present in defaultCpuSet: "${formatCpuSet(sharedPool)}"`;
  }
  const assigned: number[] = [];
  for (const [podUid, containers] of assignments) {
    for (const [container, cpus] of containers) {
      if (cpuSetIntersection(sharedPool, cpus).length > 0) {
        return `pod: ${podUid}, container: ${container} cpuset: "${formatCpuSet(cpus)}" overlaps with default cpuset "${formatCpuSet(sharedPool)}"`;
      }
      assigned.push(...cpus);
    }
  }
  const known = cpuSetUnion(sharedPool, cpuSetOf(assigned));
  return formatCpuSet(known) === formatCpuSet(expected)
    ? null
    : `current set of available CPUs "${formatCpuSet(expected)}" doesn't match with CPUs in state "${formatCpuSet(known)}"`;
}
