// Sets of NUMA nodes as bit masks: merging hints intersects many of them.
// Invariant: a bit is a position among at most 52 nodes, so that a mask is an exact double; it is not the node's id, which may be any number.

/** Bit i represents the i-th node of a list that the caller keeps. */
export type NumaMask = number;

/** A double holds 53 bits exactly. */
export const maxMaskNodes = 52;

const half = 2 ** 32;

export function intersectMasks(a: NumaMask, b: NumaMask): NumaMask {
  const low = (a & b) >>> 0;
  return a < half || b < half ? low : low + ((a / half) & (b / half)) * half;
}

export function maskSize(mask: NumaMask): number {
  let count = 0;
  for (let low = mask >>> 0; low !== 0; low &= low - 1) count++;
  for (let high = Math.floor(mask / half); high !== 0; high &= high - 1) count++;
  return count;
}

/** Every non-empty intersection of a mask of `a` with one of `b`. All are of `nodes` bits. */
export function pairwiseIntersections(a: ReadonlySet<NumaMask>, b: ReadonlySet<NumaMask>, nodes: number): Set<NumaMask> {
  if (a.size * b.size > nodes * 2 ** nodes) return intersectionsByCounting(a, b, nodes);
  const found = new Set<NumaMask>();
  for (const left of a) {
    for (const right of b) {
      const both = intersectMasks(left, right);
      if (both !== 0) found.add(both);
    }
  }
  return found;
}

/**
 * The same without enumerating pairs: in how many pairs do both members contain a mask? That is a product. Subtracting the pairs that
 * share more leaves those whose intersection is that mask. Costs nodes x 2^nodes; the counts are below 2^(2 x nodes).
 */
function intersectionsByCounting(a: ReadonlySet<NumaMask>, b: ReadonlySet<NumaMask>, nodes: number): Set<NumaMask> {
  const left = supersetCounts(a, nodes);
  const right = supersetCounts(b, nodes);
  const pairs = left.map((count, mask) => count * right[mask]!);
  for (let bit = 1; bit < pairs.length; bit *= 2) for (let mask = 0; mask < pairs.length; mask++) if ((mask & bit) === 0) pairs[mask]! -= pairs[mask | bit]!;
  const found = new Set<NumaMask>();
  for (let mask = 1; mask < pairs.length; mask++) if (pairs[mask] !== 0) found.add(mask);
  return found;
}

/** For every mask, the number of members that contain it. */
function supersetCounts(masks: ReadonlySet<NumaMask>, nodes: number): Float64Array {
  const counts = new Float64Array(2 ** nodes);
  for (const mask of masks) counts[mask] = 1;
  for (let bit = 1; bit < counts.length; bit *= 2) for (let mask = 0; mask < counts.length; mask++) if ((mask & bit) === 0) counts[mask]! += counts[mask | bit]!;
  return counts;
}

/** Positions of the bits that are set, ascending. */
export function maskPositions(mask: NumaMask): number[] {
  const positions: number[] = [];
  for (let rest = mask, position = 0; rest > 0; rest = Math.floor(rest / 2), position++) if (rest % 2 === 1) positions.push(position);
  return positions;
}

export function maskOfPositions(positions: Iterable<number>): NumaMask {
  let mask = 0;
  for (const position of new Set(positions)) mask += 2 ** position;
  return mask;
}

/** Calls `visit` with every combination of `size` members, in list order; stops when `visit` returns false. Each combination is a copy. */
export function forEachCombination<T>(members: readonly T[], size: number, visit: (chosen: readonly T[]) => boolean): boolean {
  const chosen: T[] = [];
  const choose = (from: number): boolean => {
    if (chosen.length === size) return visit([...chosen]);
    for (let i = from; i <= members.length - (size - chosen.length); i++) {
      chosen.push(members[i]!);
      const isWanted = choose(i + 1);
      chosen.pop();
      if (!isWanted) return false;
    }
    return true;
  };
  return choose(0);
}

/** Every non-empty subset, smaller ones first, in the order of the list within one size. */
export function forEachSubset<T>(members: readonly T[], visit: (subset: readonly T[]) => void): void {
  for (let size = 1; size <= members.length; size++) {
    forEachCombination(members, size, (subset) => {
      visit(subset);
      return true;
    });
  }
}
