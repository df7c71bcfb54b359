// The cost of single decisions: parsing quantities, the admission verdict of a node with pods, ranking pods for eviction, choosing
// victims of a preemption. Each at 10, 100 and 1000 items, and at the usual size of a large node.
// Output, one line each: {"bench", ..., "items", "totalMs", "growth"}; growth is the exponent k of the fitted cost c * n^k. Preemption may
// reach 2: each victim changes the remaining shortage, so all candidates are compared again.
// The entry's functions, which validate their arguments, are measured beside the bare ones: "checkedRatio".
import { admitByPredicates, type PredicateInput } from '../src/domain/admission/predicates.js';
import { rankPods } from '../src/domain/eviction/ranking.js';
import * as entry from '../src/domain/index.js';
import { podsToPreempt } from '../src/domain/preemption/preemption.js';
import { parseQuantity, quantityMilliValue, quantityText } from '../src/domain/values/quantity.js';
import type { Node } from '../src/ports/model/node.js';
import type { Pod } from '../src/ports/model/pod.js';
import type { PodStats } from '../src/ports/model/stats-summary.js';

const sizes = [10, 100, 1000] as const;
const samples = 7;
const texts = ['100m', '1500m', '2', '128Mi', '1Gi', '2500000000', '0.5', '1e3', '12345Ki', '1.5Gi'];

/** The fastest of a few runs: what the machine was otherwise busy with is left out. */
function fastestMs(run: () => void): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < samples; i++) {
    const start = performance.now();
    run();
    fastest = Math.min(fastest, performance.now() - start);
  }
  return fastest;
}

/** Least squares on the logarithms. */
function growth(counts: readonly number[], costs: readonly number[]): number {
  const xs = counts.map(Math.log);
  const ys = costs.map(Math.log);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [mx, my] = [mean(xs), mean(ys)];
  return rounded(xs.reduce((sum, x, i) => sum + (x - mx) * (ys[i]! - my), 0) / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0));
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** Small runs are repeated, so that each sample is long against the clock's grain. */
function costMs(run: () => void): number {
  run();
  const once = fastestMs(run);
  const repeats = Math.max(1, Math.ceil(2 / Math.max(once, 0.001)));
  const total = fastestMs(() => {
    for (let i = 0; i < repeats; i++) run();
  });
  return total / repeats;
}

function report(bench: string, facts: object, run: (count: number) => void): void {
  const totalMs = sizes.map((count) => costMs(() => run(count)));
  console.log(JSON.stringify({ bench, ...facts, items: sizes, totalMs: totalMs.map(rounded), growth: growth(sizes, totalMs) }));
}

function podOf(index: number): Pod {
  const resources = { requests: { cpu: `${10 + (index % 7)}m`, memory: `${16 + (index % 5)}Mi` } };
  const container = { name: 'main', image: 'app:1', resources, ports: [{ containerPort: 80, hostPort: 10_000 + index }] };
  return { metadata: { name: `pod-${index}`, namespace: 'default', uid: `uid-${index}` }, spec: { priority: (index % 3) * 1000, containers: [container] } };
}

const node: Node = {
  metadata: { name: 'node-1', labels: { disk: 'ssd' } },
  spec: { taints: [{ key: 'a', effect: 'NoExecute' }] },
  status: { allocatable: { cpu: '1000', memory: '4Ti', pods: '5000' } },
};
const allPods = Array.from({ length: 1000 }, (_, index) => podOf(index));
const candidate: Pod = {
  ...podOf(5000),
  spec: { ...podOf(5000).spec, priority: 2_000_000_000, nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
};
const layout = { dedicatedImageFs: false, splitContainerFs: false };
const stats = new Map<string, PodStats>(
  allPods.map(({ metadata: { name, uid = '' } }, index) => [
    uid,
    { podRef: { name, namespace: 'default', uid }, memory: { workingSetBytes: ((index * 7919) % 64) * 2 ** 20 }, containers: [{ name: 'main', rootfs: { usedBytes: index } }] },
  ]),
);

function inputOf(count: number): PredicateInput {
  return { pod: candidate, otherPods: allPods.slice(0, count), node, freshNode: null };
}

/** How much longer the entry's function takes for pods that it has seen before. */
function checkedRatio(bare: () => void, checked: () => void): number {
  return rounded(costMs(checked) / costMs(bare));
}

function benchQuantities(): void {
  const parse = (count: number): void => {
    for (let i = 0; i < count; i++) if (!parseQuantity(texts[i % texts.length]!).ok) throw new Error('a good quantity was refused');
  };
  report('quantity-parse', {}, parse);
  const perSecond = Math.round(1e6 / costMs(() => parse(1000)));
  const parsed = texts.map((text) => {
    const result = parseQuantity(text);
    if (!result.ok) throw new Error(result.error);
    return result.quantity;
  });
  const write = (): void => {
    for (const quantity of parsed) if (quantityText(quantity) === '' || quantityMilliValue(quantity) === 0n) throw new Error('a quantity was lost');
  };
  const checked = checkedRatio(
    () => void parseQuantity('1500m'),
    () => void entry.parseQuantity('1500m'),
  );
  console.log(JSON.stringify({ bench: 'quantity-rate', parsesPerSecond: perSecond, textsPerSecond: Math.round((1e3 * texts.length) / costMs(write)), checkedRatio: checked }));
}

function benchAdmission(): void {
  const inputs = new Map([...sizes, 250].map((count) => [count, inputOf(count)]));
  const admit = (count: number): void => {
    if (admitByPredicates(inputs.get(count)!).kind !== 'admitted') throw new Error('the pod was not admitted');
  };
  report('admission-verdict', { unit: 'pods on the node' }, admit);
  const ratio = checkedRatio(
    () => admit(250),
    () => void entry.admitPod(inputs.get(250)!),
  );
  console.log(JSON.stringify({ bench: 'admission-verdict-250-pods', verdictMs: rounded(costMs(() => admit(250))), checkedRatio: ratio }));
}

function benchRanking(): void {
  for (const signal of ['memory.available', 'nodefs.available', 'pid.available'] as const) {
    report('eviction-ranking', { signal }, (count) => {
      if (rankPods(allPods.slice(0, count), stats, signal, layout).length !== count) throw new Error('a pod was lost');
    });
  }
  const pods = allPods.slice(0, 500);
  const rank = (): void => void rankPods(pods, stats, 'memory.available', layout);
  const ratio = checkedRatio(rank, () => void entry.rankPods(pods, stats, 'memory.available', layout));
  console.log(JSON.stringify({ bench: 'eviction-ranking-500-pods', rankingMs: rounded(costMs(rank)), checkedRatio: ratio }));
}

function benchPreemption(): void {
  for (const [share, part] of [
    ['one pod', 0],
    ['a tenth of the pods', 0.1],
  ] as const) {
    report('preemption', { missing: share }, (count) => {
      const amount = BigInt(Math.ceil(13 * Math.max(1, count * part)));
      if (!podsToPreempt(candidate, allPods.slice(0, count), [{ resource: 'cpu', amount }]).ok) throw new Error('no victims were found');
    });
  }
}

benchQuantities();
benchAdmission();
benchRanking();
benchPreemption();
