// The machine's topology of CPUs and memory, from /sys.
// Invariant: every CPU online is in exactly one core; missing information has a plain meaning (one NUMA node, one socket, no
// last-level cache of its own), so that a small virtual machine works, too.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CpuSet, parseCpuSet } from '../../domain/values/cpu-set.js';
import type { CoreReading, MachineTopology, NumaNodeReading } from '../../ports/outbound/machine.js';

const cpuDirectory = '/sys/devices/system/cpu';
const nodeDirectory = '/sys/devices/system/node';
/** The cache that several cores share and that is not of the memory's side. */
const lastLevel = '3';

/** The one node of a host without NUMA. */
export interface WholeMachine {
  readonly memoryBytes: number;
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly count: number }[];
}

/** `root` is the prefix of /sys. */
export function readTopology(root: string, onlineCpus: string, whole: WholeMachine): MachineTopology {
  const online = cpusOf(onlineCpus);
  const cpus = online.length === 0 ? [0] : online;
  const nodes = numberedIn(join(root, nodeDirectory), /^node(\d+)$/);
  const nodeOfCpu = new Map<number, number>();
  for (const node of nodes) for (const cpu of cpusOf(textOf(join(root, nodeDirectory, `node${node}`, 'cpulist')) ?? '')) nodeOfCpu.set(cpu, node);
  const cores = new Map<string, { -readonly [Field in keyof CoreReading]: CoreReading[Field] }>();
  for (const cpu of cpus) {
    const at = join(root, cpuDirectory, `cpu${cpu}`);
    // -1 if the firmware doesn't report it.
    const socket = Math.max(0, numberIn(join(at, 'topology/physical_package_id')) ?? 0);
    const numaNode = nodeOfCpu.get(cpu) ?? nodes[0] ?? 0;
    // Ids of cores are unique within a socket (and on some machines a node) only.
    const key = `${numaNode} ${socket} ${numberIn(join(at, 'topology/core_id')) ?? `cpu${cpu}`}`;
    const core = cores.get(key) ?? { numaNode, socket, uncoreCache: lastLevelCache(at), threads: [] };
    cores.set(key, { ...core, threads: [...core.threads, cpu] });
  }
  return { cores: [...cores.values()], numaNodes: nodes.length === 0 ? [wholeNode(whole)] : numaNodes(root, nodes) };
}

function wholeNode({ memoryBytes, hugePages }: WholeMachine): NumaNodeReading {
  return { id: 0, memoryBytes, hugePages: hugePages.map(({ pageSizeKiB, count }) => ({ pageSizeKiB, numPages: count })), distances: [10] };
}

/** Distances are in the order of all nodes that the kernel has. */
function numaNodes(root: string, ids: readonly number[]): NumaNodeReading[] {
  return ids.map((id) => {
    const at = join(root, nodeDirectory, `node${id}`);
    const kilobytes = /MemTotal:\s+(\d+) kB/.exec(textOf(join(at, 'meminfo')) ?? '')?.[1] ?? '0';
    const distances = (textOf(join(at, 'distance')) ?? '')
      .trim()
      .split(/\s+/)
      .filter((text) => text !== '')
      .map(Number);
    return { id, memoryBytes: Number(kilobytes) * 1024, hugePages: hugePagesOf(at), distances: distances.length === ids.length ? distances : null };
  });
}

function hugePagesOf(at: string): NumaNodeReading['hugePages'] {
  const sizes = numberedIn(join(at, 'hugepages'), /^hugepages-(\d+)kB$/);
  return sizes.map((pageSizeKiB) => ({ pageSizeKiB, numPages: numberIn(join(at, 'hugepages', `hugepages-${pageSizeKiB}kB`, 'nr_hugepages')) ?? 0 }));
}

function lastLevelCache(cpu: string): number | null {
  const index = numberedIn(join(cpu, 'cache'), /^index(\d+)$/).find((number) => textOf(join(cpu, 'cache', `index${number}`, 'level'))?.trim() === lastLevel);
  return index === undefined ? null : numberIn(join(cpu, 'cache', `index${index}`, 'id'));
}

function cpusOf(list: string): CpuSet {
  const parsed = parseCpuSet(list.trim());
  return parsed.ok ? parsed.value : [];
}

/** The numbers in the names of a directory's entries, ascending. */
function numberedIn(directory: string, pattern: RegExp): number[] {
  try {
    return readdirSync(directory)
      .flatMap((name) => pattern.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  } catch {
    return [];
  }
}

function numberIn(path: string): number | null {
  const text = textOf(path)?.trim() ?? '';
  return /^-?\d+$/.test(text) ? Number(text) : null;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
