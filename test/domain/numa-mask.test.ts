// Sets of NUMA nodes as masks, compared with BigInt and with enumerating all pairs.
import fc from 'fast-check';
import t from 'tap';
import { forEachSubset, intersectMasks, maskOfPositions, maskPositions, maskSize, maxMaskNodes, pairwiseIntersections } from '../../src/domain/topology-manager/numa-mask.js';

/** Few bits, all bits, and the borders of 32 of them. */
const anyMask = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 52n - 1n }).map(Number), fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 33, 2 ** 51, 2 ** 52 - 1));

t.test('single masks', async (t) => {
  const holds = fc.property(anyMask, anyMask, (a, b) => {
    const positions = [...BigInt(a).toString(2)].reverse().flatMap((bit, i) => (bit === '1' ? [i] : []));
    return (
      BigInt(intersectMasks(a, b)) === (BigInt(a) & BigInt(b)) &&
      maskSize(a) === positions.length &&
      JSON.stringify(maskPositions(a)) === JSON.stringify(positions) &&
      maskOfPositions([...positions, ...positions]) === a
    );
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 300 }));
  const borders = [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 33 - 1, 2 ** 33, 2 ** maxMaskNodes - 1];
  for (const a of borders) for (const b of borders) t.equal(BigInt(intersectMasks(a, b)), BigInt(a) & BigInt(b), `${a} and ${b}`);
});

t.test('all pairs of two sets, few or many: each intersection once, never the empty one', async (t) => {
  const sets = fc.integer({ min: 1, max: 5 }).chain((nodes) => {
    const masks = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** nodes - 1 }), { minLength: 1, maxLength: 2 ** nodes - 1, size: 'max' });
    return fc.tuple(fc.constant(nodes), masks, masks);
  });
  const byPairs = (a: readonly number[], b: readonly number[]): number[] =>
    [...new Set(a.flatMap((one) => b.map((other) => one & other)))].filter((mask) => mask !== 0).sort((x, y) => x - y);
  const found = (nodes: number, a: readonly number[], b: readonly number[]): number[] => [...pairwiseIntersections(new Set(a), new Set(b), nodes)].sort((x, y) => x - y);
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(sets, ([nodes, a, b]) => JSON.stringify(found(nodes, a, b)) === JSON.stringify(byPairs(a, b))),
      { numRuns: 300 },
    ),
  );
  // So many that pairs are counted instead of enumerated, in sets that lack a node, or where nothing is shared.
  const all = Array.from({ length: 31 }, (_, i) => i + 1);
  for (const without of [0, 1, 2, 4, 8, 16]) {
    const some = all.filter((mask) => (mask & without) === 0);
    t.strictSame(found(5, some, all), byPairs(some, all), `without ${without}`);
  }
  const odd = all.filter((mask) => maskSize(mask) >= 3);
  t.strictSame(found(5, odd, all), byPairs(odd, all));
  t.strictSame(found(5, [1], [2]), []);
});

t.test('every choice of some, smaller ones first', async (t) => {
  const subsets: string[] = [];
  forEachSubset(['a', 'b', 'c'], (subset) => subsets.push(subset.join('')));
  t.equal(subsets.join(' '), 'a b c ab ac bc abc');
});
