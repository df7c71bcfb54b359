// Sets of CPU numbers in the kernel's list format: `0-3,5`.
// Invariant: a CpuSet is ascending and without duplicates.
import { type GoParse, goQuote, parseGoInt } from './go-text.js';

export type CpuSet = readonly number[];

/** More CPUs than any Linux kernel is built for; a list that names more is a mistake. */
const maxCpus = 65_536;

export function cpuSetOf(cpus: Iterable<number>): CpuSet {
  return [...new Set(cpus)].sort((a, b) => a - b);
}

/** Reads a CPU list; the empty text is the empty set. */
export function parseCpuSet(text: string): GoParse<CpuSet> {
  if (text === '') return { ok: true, value: [] };
  const cpus = new Set<number>();
  for (const range of text.split(',')) {
    const bounds = range.split('-');
    if (bounds.length > 2) return { ok: false, error: `invalid range ${goQuote(range)}` };
    const numbers: number[] = [];
    for (const bound of bounds) {
      const parsed = parseGoInt(bound, 10, 32);
      if (!parsed.ok) return { ok: false, error: parsed.error.replace('ParseInt', 'Atoi') };
      numbers.push(Number(parsed.value));
    }
    const first = numbers[0] as number;
    const last = numbers[1] ?? first;
    if (first > last) return { ok: false, error: `invalid range ${goQuote(range)} (${first} > ${last})` };
    if (first < 0 || last - first >= maxCpus) return { ok: false, error: `range ${goQuote(range)} is out of bounds` };
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return { ok: true, value: cpuSetOf(cpus) };
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

export function isCpuSubset(part: CpuSet, whole: CpuSet): boolean {
  const all = new Set(whole);
  return part.every((cpu) => all.has(cpu));
}
