// Merging hints against trying every combination, and admissions that have to wait.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { mergeHints } from '../../src/domain/topology-manager/merge-hints.js';
import { forEachCombination, forEachSubset, intersectMasks, maskOfPositions, maskPositions, maskSize, pairwiseIntersections } from '../../src/domain/topology-manager/numa-mask.js';
import { type Allocation, beginAdmission, continueAdmission, type HintProvider } from '../../src/domain/topology-manager/pod-admission.js';
import type { ProviderHints, TopologyHint } from '../../src/domain/topology-manager/topology-hint.js';
import { forgetHints, newTopologyManager, storedHint, type TopologyManager } from '../../src/domain/topology-manager/topology-manager.js';
import type { Pod } from '../../src/ports/model/pod.js';

const policies = ['best-effort', 'restricted', 'single-numa-node'] as const;

function managerOf(policy: string, ids: readonly number[], distances: readonly (readonly number[])[] | null = null, scope = 'container'): TopologyManager {
  const policyOptions = { ...(distances === null ? {} : { 'prefer-closest-numa-nodes': 'true' }), 'max-allowable-numa-nodes': '60' };
  const result = newTopologyManager({ policy, scope, policyOptions, numaNodes: ids.map((id, i) => ({ id, distances: distances?.[i] ?? null })) });
  if (!result.ok) throw new Error(result.error);
  return result.manager;
}

/** The rule as it is written down: every combination, compared with the best so far. Only for a handful of nodes, named 0, 1, 2 ... */
function bruteForce(
  policy: string,
  nodes: number,
  distances: readonly (readonly number[])[] | null,
  providers: readonly (ProviderHints | null)[],
): { hint: TopologyHint; admit: boolean } {
  const all = 2 ** nodes - 1;
  const maskOf = (ids: readonly number[] | null): number | null => ids?.reduce((mask, id) => mask | (1 << id), 0) ?? null;
  let lists = providers.flatMap((provider) => {
    if (provider === null || provider.size === 0) return [[{ mask: null as number | null, preferred: true }]];
    return [...provider.values()].map((hints) => {
      if (hints === null) return [{ mask: null, preferred: true }];
      return hints.length === 0 ? [{ mask: null, preferred: false }] : hints.map(({ numaNodes, preferred }) => ({ mask: maskOf(numaNodes), preferred }));
    });
  });
  if (policy === 'single-numa-node') lists = lists.map((hints) => hints.filter(({ mask, preferred }) => preferred && (mask === null || maskSize(mask) === 1)));
  const narrowest = lists.map((hints) => Math.min(...hints.flatMap(({ mask }) => (mask === null ? [] : [maskSize(mask)])))).filter(Number.isFinite);
  const wanted = Math.max(0, ...narrowest);
  const mean = (mask: number): number => {
    const bits = maskPositions(mask);
    return bits.flatMap((a) => bits.map((b) => distances![a]![b]!)).reduce((x, y) => x + y, 0) / bits.length ** 2;
  };
  const fitter = (a: number, b: number): boolean => {
    if (maskSize(a) !== maskSize(b)) return maskSize(a) < maskSize(b);
    if (distances !== null && policy !== 'single-numa-node' && mean(a) !== mean(b)) return mean(a) < mean(b);
    return a < b;
  };
  let best: { mask: number; preferred: boolean } | null = null;
  const replaces = (candidate: { mask: number; preferred: boolean }): boolean => {
    if (best === null) return true;
    if (best.preferred !== candidate.preferred) return candidate.preferred;
    if (candidate.preferred) return fitter(candidate.mask, best.mask);
    const [current, next] = [maskSize(best.mask), maskSize(candidate.mask)];
    if (current > wanted) return fitter(candidate.mask, best.mask);
    if (current === wanted) return next === wanted && fitter(candidate.mask, best.mask);
    if (next > wanted) return false;
    if (next === wanted || next > current) return true;
    return next === current && fitter(candidate.mask, best.mask);
  };
  const walk = (at: number, chosen: readonly { mask: number | null; preferred: boolean }[]): void => {
    if (at < lists.length) {
      for (const hint of lists[at]!) walk(at + 1, [...chosen, hint]);
      return;
    }
    const given = chosen.flatMap(({ mask }) => (mask === null ? [] : [mask]));
    const mask = given.reduce((a, b) => a & b, all);
    const candidate = { mask, preferred: chosen.every(({ preferred }) => preferred) && new Set(given).size <= 1 };
    if (mask !== 0 && replaces(candidate)) best = candidate;
  };
  walk(0, []);
  const { mask, preferred } = (best as { mask: number; preferred: boolean } | null) ?? { mask: all, preferred: false };
  const numaNodes = policy === 'single-numa-node' && mask === all ? null : maskPositions(mask);
  return { hint: { numaNodes, preferred }, admit: policy === 'best-effort' || preferred };
}

const nodes = 4;
const anyHint: fc.Arbitrary<TopologyHint> = fc.record({ numaNodes: fc.option(fc.subarray([0, 1, 2, 3], { minLength: 1 })), preferred: fc.boolean() });
const anyProvider: fc.Arbitrary<ProviderHints | null> = fc.option(
  fc
    .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.array(anyHint, { maxLength: 5 }), { freq: 6 })), { maxLength: 2, selector: ([name]) => name })
    .map((entries) => new Map(entries)),
  { freq: 6 },
);
const anyDistances = fc.option(fc.array(fc.array(fc.constantFrom(10, 12, 21), { minLength: nodes, maxLength: nodes }), { minLength: nodes, maxLength: nodes }));

t.test('merging is what trying every combination gives, in whatever order', async (t) => {
  const property = fc.property(
    fc.constantFrom(...policies),
    anyDistances,
    fc.array(anyProvider, { maxLength: 3 }),
    fc.infiniteStream(fc.nat()),
    (policy, distances, providers, chance) => {
      const manager = managerOf(policy, [0, 1, 2, 3], distances);
      const merged = mergeHints(manager, providers);
      assert.deepEqual(merged, bruteForce(policy, nodes, distances, providers));
      const shuffled = <T>(items: readonly T[]): T[] =>
        [...items]
          .map((item) => [chance.next().value as number, item] as const)
          .sort((a, b) => a[0] - b[0])
          .map(([, item]) => item);
      const reordered = shuffled(providers).map((provider) => provider && new Map(shuffled([...provider]).map(([name, hints]) => [name, hints && shuffled(hints)])));
      assert.deepEqual(mergeHints(manager, reordered), merged, 'the order does not show');
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 400 }));
});

t.test('nodes with large and scattered ids', async (t) => {
  const manager = managerOf('restricted', [252, 0, 8]);
  const hints = (numaNodes: readonly number[]): ProviderHints => new Map([['r', [{ numaNodes, preferred: true }]]]);
  t.strictSame(mergeHints(manager, [hints([8, 252]), hints([8, 252])]), { hint: { numaNodes: [8, 252], preferred: true }, admit: true });
  t.strictSame(
    mergeHints(manager, [hints([8, 99]), hints([8])]),
    { hint: { numaNodes: [8], preferred: false }, admit: false },
    'a node that is not there still makes hints differ',
  );
  t.strictSame(mergeHints(manager, [hints([252, 8, 8]), hints([8, 252])]).hint, { numaNodes: [8, 252], preferred: true }, 'nodes of a hint are a set');
  t.strictSame(mergeHints(manager, []), { hint: { numaNodes: [0, 8, 252], preferred: true }, admit: true });
});

t.test('forty nodes, where masks have more than 32 bits', async (t) => {
  const ids = Array.from({ length: 40 }, (_, i) => i);
  const manager = managerOf('best-effort', ids);
  const hints = (...lists: number[][]): ProviderHints => new Map([['r', lists.map((numaNodes) => ({ numaNodes, preferred: false }))]]);
  t.strictSame(mergeHints(manager, [hints([1, 35, 39], [2]), hints([35, 39], [3, 4])]).hint, { numaNodes: [35, 39], preferred: false });
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(51)), fc.uniqueArray(fc.nat(51)), (a, b) => {
      const both = a.filter((bit) => b.includes(bit)).sort((x, y) => x - y);
      assert.deepEqual(maskPositions(intersectMasks(maskOfPositions(a), maskOfPositions(b))), both);
      assert.equal(maskSize(maskOfPositions(a)), a.length);
    }),
    { numRuns: 200 },
  );
});

t.test('intersections of many masks, looked at pair by pair or counted', async (t) => {
  const anyMasks = fc.uniqueArray(fc.nat(63), { maxLength: 64 });
  const property = fc.property(anyMasks, anyMasks, (a, b) => {
    const expected = new Set(a.flatMap((left) => b.map((right) => left & right)).filter((mask) => mask !== 0));
    const found = pairwiseIntersections(new Set(a), new Set(b), 6);
    assert.deepEqual([...found].sort(), [...expected].sort());
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 }));
});

t.test('subsets come smaller ones first and may be kept', async (t) => {
  const subsets: (readonly string[])[] = [];
  forEachSubset(['a', 'b', 'c'], (subset) => subsets.push(subset));
  t.strictSame(subsets, [['a'], ['b'], ['c'], ['a', 'b'], ['a', 'c'], ['b', 'c'], ['a', 'b', 'c']]);
  const seen: (readonly number[])[] = [];
  t.equal(
    forEachCombination([1, 2, 3, 4, 5], 4, (chosen) => seen.push(chosen) < 2),
    false,
  );
  t.strictSame(seen, [
    [1, 2, 3, 4],
    [1, 2, 3, 5],
  ]);
});

t.test('too many nodes for a mask are refused at start', async (t) => {
  const numaNodes = Array.from({ length: 53 }, (_, id) => ({ id, distances: null }));
  const result = newTopologyManager({ policy: 'restricted', scope: 'pod', policyOptions: { 'max-allowable-numa-nodes': '64' }, numaNodes });
  t.strictSame(result, { ok: false, error: 'unsupported on machines with more than 52 NUMA Nodes' });
});

t.test('an admission waits for a provider and goes on where it was', async (t) => {
  const pod: Pod = {
    metadata: { name: 'p', uid: 'u' },
    spec: { initContainers: [{ name: 'i', image: '' }], containers: [{ name: 'a', image: '' }] },
  };
  for (const scope of ['container', 'pod']) {
    const manager = managerOf('best-effort', [0, 1], null, scope);
    const calls: string[] = [];
    let answers: Allocation[] = [];
    const provider = (name: string, allocate: () => Allocation): HintProvider => ({
      name,
      containerHints: (_, container) => {
        calls.push(`hints ${container.name} ${name}`);
        return null;
      },
      podHints: () => {
        calls.push(`hints pod ${name}`);
        return null;
      },
      allocate: (_, container) => {
        calls.push(`${container.name} ${name}`);
        return allocate();
      },
    });
    const providers = [provider('devices', () => answers.shift() ?? { kind: 'waiting' }), provider('cpu', () => ({ kind: 'allocated' }))];
    const admission = beginAdmission(pod);
    t.strictSame(continueAdmission(manager, admission, pod, providers), { kind: 'waiting' });
    t.strictSame(continueAdmission(manager, admission, pod, providers), { kind: 'waiting' });
    answers = [{ kind: 'allocated' }, { kind: 'failed', message: 'boom', reason: null }];
    const refusal = { kind: 'refused', reason: 'UnexpectedAdmissionError', message: 'Allocate failed due to boom, which is unexpected' };
    t.strictSame(continueAdmission(manager, admission, pod, providers), refusal);
    const asked = scope === 'pod' ? ['hints pod devices', 'hints pod cpu'] : ['hints i devices', 'hints i cpu'];
    const again = scope === 'pod' ? [] : ['hints a devices', 'hints a cpu'];
    t.strictSame(calls, [...asked, 'i devices', 'i devices', 'i devices', 'i cpu', ...again, 'a devices'], 'hints are asked for once');
    t.strictSame(storedHint(manager, 'u', 'a'), { numaNodes: [0, 1], preferred: true });
    forgetHints(manager, 'u');
    t.strictSame(storedHint(manager, 'u', 'a'), { numaNodes: null, preferred: false });
  }
});
