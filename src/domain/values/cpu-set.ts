// Sets of CPU numbers in the kernel's list format: `0-3,5`.
// Invariant: a CpuSet is ascending and without duplicates, so that equal sets are equal arrays and each operation is one linear pass.
import { type GoParse, goQuote, parseGoAtoi } from './go-text.js';

export type CpuSet = readonly number[];

/** More CPUs than any Linux kernel is built for; a list that names more is a mistake. */
const maxCpus = 65_536;

export function cpuSetOf(cpus: Iterable<number>): CpuSet {
  return [...new Set(cpus)].sort((a, b) => a - b);
}

/** Reads a CPU list; the empty text is the empty set. */
export function parseCpuSet(text: string): GoParse<CpuSet> {
  if (text === '') return { ok: true, value: [] };
  const ranges: CpuRange[] = [];
  for (const range of text.split(',')) {
    const bounds = range.split('-');
    if (bounds.length > 2) return { ok: false, error: `invalid range ${goQuote(range)}` };
    const numbers: number[] = [];
    for (const bound of bounds) {
      const parsed = parseGoAtoi(bound);
      if (!parsed.ok) return parsed;
      numbers.push(parsed.value);
    }
    const first = numbers[0] as number;
    const last = numbers[1] ?? first;
    if (first > last) return { ok: false, error: `invalid range ${goQuote(range)} (${first} > ${last})` };
    if (first < 0 || last - first >= maxCpus) return { ok: false, error: `range ${goQuote(range)} is out of bounds` };
    ranges.push({ first, last });
  }
  return membersOf(ranges);
}

interface CpuRange {
  readonly first: number;
  readonly last: number;
}

/** Ranges in order, so that each CPU is visited once however often it is named. */
function membersOf(ranges: CpuRange[]): GoParse<CpuSet> {
  const cpus: number[] = [];
  let next = 0;
  for (const { first, last } of ranges.sort((a, b) => a.first - b.first)) {
    for (let cpu = Math.max(first, next); cpu <= last; cpu++) {
      if (cpus.length === maxCpus) return { ok: false, error: `more than ${maxCpus} CPUs` };
      cpus.push(cpu);
    }
    next = Math.max(next, last + 1);
  }
  return { ok: true, value: cpus };
}

export function formatCpuSet(cpus: CpuSet): string {
  const ranges: string[] = [];
  for (let i = 0; i < cpus.length; i++) {
    const first = cpus[i] as number;
    let last = first;
    while (cpus[i + 1] === last + 1) {
      last++;
      i++;
    }
    ranges.push(first === last ? String(first) : `${first}-${last}`);
  }
  return ranges.join(',');
}

export function cpuSetUnion(a: CpuSet, b: CpuSet): CpuSet {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const joined: number[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const left = a[i] ?? Number.POSITIVE_INFINITY;
    const right = b[j] ?? Number.POSITIVE_INFINITY;
    joined.push(Math.min(left, right));
    if (left <= right) i++;
    if (right <= left) j++;
  }
  return joined;
}

export function cpuSetIntersection(a: CpuSet, b: CpuSet): CpuSet {
  return membersBy(a, b, true);
}

/** The CPUs in `a` that are not in `b`. */
export function cpuSetDifference(a: CpuSet, b: CpuSet): CpuSet {
  return b.length === 0 ? a : membersBy(a, b, false);
}

export function isCpuSubset(part: CpuSet, whole: CpuSet): boolean {
  return cpuSetDifference(part, whole).length === 0;
}

export function equalCpuSets(a: CpuSet, b: CpuSet): boolean {
  return a.length === b.length && a.every((cpu, index) => b[index] === cpu);
}

/** Members of `a` that are, or are not, in `b`. */
function membersBy(a: CpuSet, b: CpuSet, wanted: boolean): CpuSet {
  let j = 0;
  return a.filter((cpu) => {
    while (j < b.length && b[j]! < cpu) j++;
    return (b[j] === cpu) === wanted;
  });
}
