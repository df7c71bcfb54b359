// Exclusive CPUs for embedders: the machine's topology, and which CPUs a request gets. The CPU manager's static policy (KEP-3570, KEP-2902).
import { type CpuOptionGates, type CpuOptionsParse, parseCpuOptions as parseCpuOptionsOf, type StaticPolicyOptions } from '../cpu-manager/cpu-options.js';
import { type CpuTopology, discoverCpuTopology as discoverCpuTopologyOf, type PhysicalCore, type TopologyDiscovery } from '../cpu-manager/cpu-topology.js';
import { type CpuTake, takeByTopology } from '../cpu-manager/take-cpus.js';
import type { CpuSet } from '../values/cpu-set.js';
import { cpuSetShape } from './cpu-sets.js';
import { checkArgument, dictionaryOf, flag, listOf, nullable, recordOf, remembered, someMap, text, wholeNumber } from './shape.js';

const id = wholeNumber(0, Number.MAX_SAFE_INTEGER);
const coresShape = listOf(recordOf({ numaNode: id, socket: id, uncoreCache: nullable(id), threads: listOf(id) }));
const optionsShape = recordOf({
  ...{ fullPcpusOnly: flag, distributeCpusAcrossNuma: flag, alignBySocket: flag, distributeCpusAcrossCores: flag },
  ...{ strictCpuReservation: flag, preferAlignCpusByUncoreCache: flag },
});

const infoShape = recordOf({ cpu: id, core: id, socket: id, numaNode: id, uncoreCache: id });
const levels = ['core', 'socket', 'numaNode', 'uncoreCache'] as const;
const partsShape = recordOf({ cpus: someMap, all: cpuSetShape, smtWidth: id, groups: recordOf({ core: someMap, socket: someMap, numaNode: someMap, uncoreCache: someMap }) });

/** Plain data that may have been stored meanwhile: each CPU must be in its groups, and no group may have others. */
const topologyShape = remembered((value, path) => {
  const problem = partsShape(value, path);
  if (problem !== null) return problem;
  const { cpus, all, groups } = value as CpuTopology;
  if (cpus.size !== all.length) return `${path}.cpus: expected ${all.length} CPUs, got ${cpus.size}`;
  for (const cpu of all) {
    const info = cpus.get(cpu);
    const infoProblem = infoShape(info, `${path}.cpus.get(${cpu})`);
    if (infoProblem !== null) return infoProblem;
    for (const level of levels) {
      const members: unknown = groups[level].get(info![level]);
      if (!Array.isArray(members) || !members.includes(cpu)) return `${path}.groups.${level}: CPU ${cpu} is not in its group`;
    }
  }
  for (const level of levels) {
    const members = [...groups[level].values()].flat();
    if (members.length !== all.length) return `${path}.groups.${level}: expected ${all.length} CPUs, got ${members.length}`;
    for (const [group, cpus] of groups[level]) {
      const groupProblem = cpuSetShape(cpus, `${path}.groups.${level}.get(${String(group)})`);
      if (groupProblem !== null) return groupProblem;
    }
  }
  return null;
});

/**
 * The machine's CPUs by core, socket, NUMA node and last-level cache. Cores may differ in their number of threads.
 * @param cores as the kernel numbers them in /sys/devices/system/cpu and /sys/devices/system/node
 * @returns the topology, or the reason of its failure: no CPU, a CPU named twice by one core
 * @throws AssertionFailed where `cores` has another type
 */
export function discoverCpuTopology(cores: readonly PhysicalCore[]): TopologyDiscovery {
  checkArgument('cores', cores, coresShape);
  return discoverCpuTopologyOf(cores);
}

/**
 * Reads `cpuManagerPolicyOptions` of a KubeletConfiguration.
 * @param given by option name; values are booleans as texts
 * @param gates whether the feature gates for alpha and beta options are on
 * @returns the options, or the error with which a kubelet refuses to start
 * @throws AssertionFailed where an argument has another type
 */
export function parseCpuOptions(given: Readonly<Record<string, string>>, gates: CpuOptionGates): CpuOptionsParse {
  checkArgument('given', given, dictionaryOf(text));
  checkArgument('gates', gates, recordOf({ alpha: flag, beta: flag }));
  return parseCpuOptionsOf(given, gates);
}

/**
 * The CPUs of an exclusive request: whole NUMA nodes and sockets first, then whole cores, then single CPUs, using up partly used groups
 * first; or by the options.
 * @param topology of `discoverCpuTopology`
 * @param options of `parseCpuOptions`
 * @param available free CPUs; those that the machine lacks are ignored
 * @param count how many, from 0 up
 * @returns exactly that many of the available CPUs, or an error that names both numbers
 * @throws AssertionFailed where an argument has another type
 */
export function assignCpus(topology: CpuTopology, options: StaticPolicyOptions, available: CpuSet, count: number): CpuTake {
  checkArgument('topology', topology, topologyShape);
  checkArgument('options', options, optionsShape);
  checkArgument('available', available, cpuSetShape);
  checkArgument('count', count, id);
  return takeByTopology(topology, options, available, count);
}
