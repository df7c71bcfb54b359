// Sets of CPUs for embedders, in the kernel's list format (cpuset(7)): `0-3,5`.

import type { CpuSet } from '../values/cpu-set.js';
import * as cpuSets from '../values/cpu-set.js';
import type { GoParse } from '../values/go-text.js';
import { checkArgument, listOf, type Shape, text, wholeNumber } from './shape.js';

const cpuIds = listOf(wholeNumber(0, Number.MAX_SAFE_INTEGER));

/** Ascending CPU numbers without duplicates. */
export const cpuSetShape: Shape = (value, path) => {
  const problem = cpuIds(value, path);
  if (problem !== null) return problem;
  const cpus = value as CpuSet;
  const at = cpus.findIndex((cpu, i) => i > 0 && cpu <= cpus[i - 1]!);
  return at < 0 ? null : `${path}[${at}]: a set of CPUs is ascending and without duplicates; make one with cpuSetOf`;
};

/**
 * Reads a CPU list of cpuset(7); the empty text is the empty set.
 * @returns ascending CPU numbers, or an error's text, also for more CPUs than any Linux kernel is built for
 * @throws AssertionFailed where `input` is no string
 */
export function parseCpuSet(input: string): GoParse<CpuSet> {
  checkArgument('input', input, text);
  return cpuSets.parseCpuSet(input);
}

/**
 * The shortest CPU list of cpuset(7), e.g. `0-3,5`.
 * @throws AssertionFailed where `cpus` isn't ascending, without duplicates, from 0 up
 */
export function formatCpuSet(cpus: CpuSet): string {
  checkArgument('cpus', cpus, cpuSetShape);
  return cpuSets.formatCpuSet(cpus);
}

/**
 * A set of CPU numbers in any order.
 * @throws AssertionFailed where `cpus` is no list of integers from 0 up
 */
export function cpuSetOf(cpus: readonly number[]): CpuSet {
  checkArgument('cpus', cpus, cpuIds);
  return cpuSets.cpuSetOf(cpus);
}

/**
 * CPUs in either set.
 * @throws AssertionFailed where an argument is no set of CPUs
 */
export function cpuSetUnion(a: CpuSet, b: CpuSet): CpuSet {
  checkBoth(a, b);
  return cpuSets.cpuSetUnion(a, b);
}

/**
 * CPUs in both sets.
 * @throws AssertionFailed where an argument is no set of CPUs
 */
export function cpuSetIntersection(a: CpuSet, b: CpuSet): CpuSet {
  checkBoth(a, b);
  return cpuSets.cpuSetIntersection(a, b);
}

/**
 * CPUs in `a` but not in `b`.
 * @throws AssertionFailed where an argument is no set of CPUs
 */
export function cpuSetDifference(a: CpuSet, b: CpuSet): CpuSet {
  checkBoth(a, b);
  return cpuSets.cpuSetDifference(a, b);
}

function checkBoth(a: CpuSet, b: CpuSet): void {
  checkArgument('a', a, cpuSetShape);
  checkArgument('b', b, cpuSetShape);
}
