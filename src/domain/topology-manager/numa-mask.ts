// Sets of NUMA nodes as bit masks: merging hints intersects many of them.
// Invariant: a bit is a position among at most 52 nodes, so that a mask is an exact double; it is not the node's id, which may be any number.

/** Bit i stands for the i-th node of a list that the caller keeps. */
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
  for (let rest = mask; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
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

/** Calls `visit` with every choice of `size` members, in the order of the list; it stops when `visit` answers false. The choice is a copy that may be kept. */
export function forEachCombination<T>(members: readonly T[], size: number, visit: (chosen: readonly T[]) => boolean): boolean {
  const chosen: T[] = [];
  const choose = (from: number): boolean => {
    if (chosen.length === size) return visit([...chosen]);
    for (let i = from; i <= members.length - (size - chosen.length); i++) {
      chosen.push(members[i]!);
      const goOn = choose(i + 1);
      chosen.pop();
      if (!goOn) return false;
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
