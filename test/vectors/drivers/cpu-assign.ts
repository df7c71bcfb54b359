// Questions to the static CPU policy about one machine.
import { cpuHints } from '../../../src/domain/cpu-manager/cpu-hints.js';
import { cpuOptionsConflict, parseCpuOptions, type StaticPolicyOptions } from '../../../src/domain/cpu-manager/cpu-options.js';
import { type CpuTopology, cpusPer, discoverCpuTopology } from '../../../src/domain/cpu-manager/cpu-topology.js';
import { allocatableCpus, allocateCpus, initialSharedPool, newStaticPolicy, type StaticPolicy, smtAlignmentError } from '../../../src/domain/cpu-manager/static-policy.js';
import { takeByTopology } from '../../../src/domain/cpu-manager/take-cpus.js';
import { cpuSetOf, formatCpuSet, parseCpuSet } from '../../../src/domain/values/cpu-set.js';
import { differences, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly kind: 'take' | 'hints' | 'allocate' | 'smt' | 'reserve' | 'options' | 'discover';
  readonly machine: { readonly cores: readonly { readonly numaNode: number; readonly socket: number; readonly uncoreCache?: number; readonly threads: readonly number[] }[] };
  readonly policyOptions?: Readonly<Record<string, string>>;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly topologyManagerPolicy?: string;
  readonly availableCPUs?: string;
  readonly reusableCPUs?: string;
  readonly defaultCPUSet?: string;
  readonly reservedCPUs?: string;
  readonly reservedCount?: number;
  readonly affinity?: readonly number[] | null;
  readonly count?: number;
}

function cpus(text: string | undefined) {
  const parsed = parseCpuSet(text ?? '');
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

function policyWith(topology: CpuTopology, options: StaticPolicyOptions, reserved: string | undefined, count: number): StaticPolicy {
  const explicit = cpus(reserved);
  const result = newStaticPolicy(topology, options, count, explicit);
  if (!result.ok) throw new Error(result.error);
  return result.policy;
}

function discovered(topology: CpuTopology) {
  const { groups } = topology;
  return {
    numCPUs: topology.all.length,
    numCores: groups.core.size,
    numSockets: groups.socket.size,
    numNUMANodes: groups.numaNode.size,
    numUncoreCaches: groups.uncoreCache.size,
    cpusPerCore: cpusPer(topology, 'core'),
    cpusPerSocket: cpusPer(topology, 'socket'),
    cpusPerUncoreCache: cpusPer(topology, 'uncoreCache'),
    cpus: topology.all.map((cpu) => topology.cpus.get(cpu)),
  };
}

function answer(input: Input, topology: CpuTopology, options: StaticPolicyOptions) {
  const { count = 0 } = input;
  switch (input.kind) {
    case 'take': {
      const take = takeByTopology(topology, options, cpus(input.availableCPUs), count);
      return take.ok ? { cpus: formatCpuSet(take.cpus) } : { error: take.error };
    }
    case 'hints':
      return { hints: cpuHints(topology, options.alignBySocket, cpus(input.availableCPUs), cpus(input.reusableCPUs), count) };
    case 'allocate': {
      const policy = policyWith(topology, options, input.reservedCPUs, cpus(input.reservedCPUs).length);
      const affinity = input.affinity === null || input.affinity === undefined ? null : cpuSetOf(input.affinity);
      const allocation = allocateCpus(policy, cpus(input.defaultCPUSet), cpus(input.reusableCPUs), affinity, count);
      if (!allocation.ok) return { error: allocation.error, defaultCPUSet: input.defaultCPUSet };
      return { cpus: formatCpuSet(allocation.cpus), defaultCPUSet: formatCpuSet(allocation.sharedPool), uncoreCacheAligned: allocation.uncoreCacheAligned };
    }
    case 'smt': {
      const policy = policyWith(topology, options, input.reservedCPUs, cpus(input.reservedCPUs).length);
      const error = smtAlignmentError(policy, cpus(input.defaultCPUSet), count);
      return error === null ? { ok: true } : { error, reason: 'SMTAlignmentError' };
    }
    case 'reserve': {
      const result = newStaticPolicy(topology, options, input.reservedCount ?? 0, cpus(input.reservedCPUs));
      if (!result.ok) return { error: result.error };
      const { policy } = result;
      return {
        reservedCPUs: formatCpuSet(policy.reserved),
        reservedPhysicalCPUs: formatCpuSet(policy.reservedPhysical),
        initialDefaultCPUSet: formatCpuSet(initialSharedPool(policy)),
        allocatableCPUs: formatCpuSet(allocatableCpus(policy)),
      };
    }
    case 'options': {
      const conflict = cpuOptionsConflict(options, topology, input.topologyManagerPolicy ?? 'none');
      return conflict === null ? { ok: true } : { error: conflict };
    }
    case 'discover':
      return discovered(topology);
  }
}

interface Hints {
  readonly hints?: readonly { readonly numaNodes: readonly number[] }[];
}

export const driver: VectorDriver = {
  run(input: Input) {
    const discovery = discoverCpuTopology(input.machine.cores.map((core) => ({ ...core, uncoreCache: core.uncoreCache ?? null })));
    if (!discovery.ok) return { error: discovery.error };
    const gates = { alpha: input.featureGates?.CPUManagerPolicyAlphaOptions ?? true, beta: input.featureGates?.CPUManagerPolicyBetaOptions ?? true };
    const parsed = parseCpuOptions(input.policyOptions ?? {}, gates);
    return parsed.ok ? answer(input, discovery.topology, parsed.options) : { error: parsed.error };
  },
  /** Hints come in any order. */
  compare(got: Hints, want: Json) {
    const sorted = (value: Hints): unknown =>
      value.hints === undefined ? value : { ...value, hints: [...value.hints].sort((a, b) => (String(a.numaNodes) < String(b.numaNodes) ? -1 : 1)) };
    return differences(sorted(got), sorted(want as unknown as Hints));
  },
};
