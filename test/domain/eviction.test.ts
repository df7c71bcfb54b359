// Eviction beyond the vectors: the states of a threshold over its whole grid, the order of pods as an order, and pods that are never chosen.

import fc from 'fast-check';
import t from 'tap';
import { beginRound, chooseVictim, type EvictionPolicy, isRelieved } from '../../src/domain/eviction/eviction-round.js';
import { localStorageEvictions } from '../../src/domain/eviction/local-storage.js';
import type { SignalObservations } from '../../src/domain/eviction/observations.js';
import { actionableThresholds, noPressure, observePressure, type PressureState } from '../../src/domain/eviction/pressure.js';
import { rankPods } from '../../src/domain/eviction/ranking.js';
import { type EvictionSignal, evictionSignals } from '../../src/domain/eviction/signals.js';
import { parsePercentage } from '../../src/domain/eviction/threshold-text.js';
import { adaptToFileSystems, type EvictionThreshold, parseEvictionThresholds } from '../../src/domain/eviction/thresholds.js';
import { nanosPerSecond } from '../../src/domain/values/go-duration.js';
import { isCriticalPod } from '../../src/domain/values/pod-kind.js';
import { quantityOf } from '../../src/domain/values/quantity.js';
import { microsPerSecond } from '../../src/domain/values/time.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodStats } from '../../src/ports/model/stats-summary.js';

const seconds = (count: number): number => count * microsPerSecond;

const config = { evictionHard: {}, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {}, enforceNodeAllocatable: [] };

function observed(signal: EvictionSignal, available: number | null, time: number | null, capacity = 1000): SignalObservations {
  return available === null ? new Map() : new Map([[signal, { available: quantityOf(available), capacity: quantityOf(capacity), time }]]);
}

function threshold(over: Partial<EvictionThreshold> = {}): EvictionThreshold {
  return {
    signal: 'memory.available',
    value: { kind: 'quantity', quantity: quantityOf(100) },
    gracePeriod: 0,
    minReclaim: { kind: 'quantity', quantity: quantityOf(50) },
    ...over,
  };
}

type Phase = 'clear' | 'waiting' | 'active';

function phaseOf(state: PressureState): Phase {
  if (state.active.length > 0) return 'active';
  return state.met.length > 0 ? 'waiting' : 'clear';
}

t.test('the life of a threshold: every state, every level, before and after the grace period', async (t) => {
  const grace = 60;
  const soft = threshold({ gracePeriod: grace * nanosPerSecond });
  const start = seconds(1000);
  const at = (before: PressureState, available: number | null, now: number): PressureState =>
    observePressure(before, [soft], observed('memory.available', available, now), seconds(300), now);
  const waiting = at(noPressure, 99, start);
  const active = at(waiting, 99, start + seconds(grace));
  const states: Readonly<Record<Phase, PressureState>> = { clear: noPressure, waiting, active };
  const later = start + seconds(grace);
  // Between the value (100) and value plus minimum reclaim (150) only what was active stays.
  const rows: readonly (readonly [Phase, level: number | null, soon: Phase, late: Phase])[] = [
    ['clear', 99, 'waiting', 'waiting'],
    ['clear', 100, 'clear', 'clear'],
    ['clear', 149, 'clear', 'clear'],
    ['clear', 150, 'clear', 'clear'],
    ['clear', null, 'clear', 'clear'],
    ['waiting', 99, 'waiting', 'active'],
    ['waiting', 100, 'clear', 'clear'],
    ['waiting', 149, 'clear', 'clear'],
    ['waiting', 150, 'clear', 'clear'],
    ['waiting', null, 'clear', 'clear'],
    ['active', 99, 'active', 'active'],
    ['active', 100, 'active', 'active'],
    ['active', 149, 'active', 'active'],
    ['active', 150, 'clear', 'clear'],
    ['active', null, 'clear', 'clear'],
  ];
  for (const [phase, level, soon, late] of rows) {
    t.equal(phaseOf(at(states[phase], level, phase === 'active' ? later + seconds(1) : start + seconds(1))), soon, `${phase}, ${level}, soon`);
    t.equal(phaseOf(at(states[phase], level, later + seconds(2))), late, `${phase}, ${level}, late`);
  }
  t.equal(rows.length, 3 * 5, 'the grid is whole');
  t.equal(phaseOf(at(at(at(waiting, 100, start + seconds(50)), 99, start + seconds(51)), 99, start + seconds(70))), 'waiting', 'a gap starts the grace period over');
});

t.test('a condition lingers for the transition period after it was last seen, and is reported while the grace period runs', async (t) => {
  const soft = threshold({ gracePeriod: 3600 * nanosPerSecond });
  const at = (before: PressureState, available: number, now: number): PressureState =>
    observePressure(before, [soft], observed('memory.available', available, now), seconds(300), now);
  const met = at(noPressure, 1, seconds(10));
  t.strictSame(met.conditions, ['MemoryPressure']);
  const over = at(met, 900, seconds(20));
  t.strictSame([over.met.length, over.conditions], [0, ['MemoryPressure']]);
  t.strictSame(at(over, 900, seconds(309)).conditions, ['MemoryPressure'], 'less than 300 s since second 10');
  t.strictSame(at(over, 900, seconds(310)).conditions, []);
  t.strictSame(observePressure(noPressure, [soft], observed('memory.available', 1, 0), 0, 5).conditions, [], 'a period of 0 never reports');
});

t.test('one measurement acts once', async (t) => {
  const rows: readonly (readonly [string, last: number | null | 'none', now: number | null, acts: boolean])[] = [
    ['first measurement', 'none', 5, true],
    ['newer', 5, 6, true],
    ['the same again', 5, 5, false],
    ['older', 5, 4, false],
    ['without a time', 5, null, true],
    ['after one without a time', null, 5, true],
  ];
  for (const [sentence, last, now, acts] of rows) {
    const before = last === 'none' ? noPressure : observePressure(noPressure, [threshold()], observed('memory.available', 1, last), 0, 1);
    const after = observePressure(before, [threshold()], observed('memory.available', 1, now), 0, 2);
    t.equal(actionableThresholds(before, after).length, acts ? 1 : 0, sentence);
  }
});

const pressureRuns = fc.array(fc.record({ wait: fc.nat(200), available: fc.option(fc.nat(300), { nil: null }), stale: fc.boolean() }), { maxLength: 40 });

t.test('over any course of measurements: what acts is active, what is active is met, and nothing acts twice on one measurement', async (t) => {
  const thresholds = [threshold(), threshold({ gracePeriod: 90 * nanosPerSecond, value: { kind: 'fraction', fraction: Math.fround(0.2) } })];
  const holds = fc.property(pressureRuns, (steps) => {
    let state = noPressure;
    let now = 0;
    let measuredAt = 0;
    for (const { wait, available, stale } of steps) {
      now += seconds(wait + 1);
      if (!stale) measuredAt = now;
      const after = observePressure(state, thresholds, observed('memory.available', available, measuredAt), seconds(300), now);
      const met = after.met.map((item) => item.threshold);
      const acting = actionableThresholds(state, after);
      if (!after.active.every((item) => met.includes(item)) || !acting.every((item) => after.active.includes(item))) return false;
      if (stale && state.observations.size > 0 && acting.length > 0) return false;
      if (met.length > 0 && !after.conditions.includes('MemoryPressure')) return false;
      if (after.met.some(({ firstObservedAt }) => firstObservedAt > now)) return false;
      state = after;
    }
    return true;
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 500 }));
});

let uid = 0;
function rankedPod(over: { priority?: number; memory?: string; storage?: string; annotations?: Record<string, string>; grace?: number } = {}): Pod {
  const requests = { ...(over.memory === undefined ? {} : { memory: over.memory }), ...(over.storage === undefined ? {} : { 'ephemeral-storage': over.storage }) };
  uid++;
  return {
    metadata: { name: `p${uid}`, uid: `u${uid}`, ...(over.annotations === undefined ? {} : { annotations: over.annotations }) },
    spec: {
      containers: [{ name: 'c', resources: { requests } }],
      ...(over.priority === undefined ? {} : { priority: over.priority }),
      ...(over.grace === undefined ? {} : { terminationGracePeriodSeconds: over.grace }),
    },
  };
}

function stats(of: Pod, used: number): PodStats {
  return {
    podRef: { name: of.metadata.name, namespace: 'default', uid: of.metadata.uid ?? '' },
    memory: { workingSetBytes: used },
    containers: [{ name: 'c', rootfs: { usedBytes: used, inodesUsed: used }, logs: { usedBytes: used } }],
    process_stats: { process_count: used },
  };
}

const layouts = [
  { dedicatedImageFs: false, splitContainerFs: false },
  { dedicatedImageFs: true, splitContainerFs: false },
  { dedicatedImageFs: true, splitContainerFs: true },
] as const;

/** Few distinct values, so that ties are common. */
const population = fc
  .array(
    fc.record({
      priority: fc.constantFrom(undefined, 0, 5, 2_000_000_000),
      memory: fc.constantFrom(undefined, '10', '20'),
      used: fc.option(fc.constantFrom(0, 10, 15, 25), { nil: null }),
      source: fc.constantFrom('api', 'api', 'file'),
    }),
    { maxLength: 12 },
  )
  .map((items) => {
    const pods = items.map(({ priority, memory, source }) =>
      rankedPod({
        ...(priority === undefined ? {} : { priority }),
        ...(memory === undefined ? {} : { memory, storage: memory }),
        annotations: { 'kubernetes.io/config.source': source },
      }),
    );
    return { pods, byUid: new Map(pods.flatMap((item, i) => (items[i]?.used == null ? [] : [[item.metadata.uid ?? '', stats(item, items[i]?.used ?? 0)] as const]))) };
  });

t.test('the ranking is a total order, and stable', async (t) => {
  const holds = fc.property(population, fc.constantFrom(...evictionSignals), fc.constantFrom(...layouts), ({ pods, byUid }, signal, layout) => {
    const ranked = rankPods(pods, byUid, signal, layout);
    const names = ranked.map((item) => item.pod.metadata.name);
    if (new Set(names).size !== pods.length || ranked.some((item, i) => i > 0 && item.rank < (ranked[i - 1]?.rank ?? 0))) return false;
    // Any two pods alone keep their order among all: pairwise comparison is consistent, so the order is transitive and total.
    for (let i = 0; i + 1 < ranked.length; i++) {
      for (let j = i + 1; j < ranked.length; j++) {
        const [a, b] = [ranked[i], ranked[j]] as [(typeof ranked)[number], (typeof ranked)[number]];
        const pair = rankPods([b.pod, a.pod], byUid, signal, layout);
        if ((pair[0]?.rank === pair[1]?.rank) !== (a.rank === b.rank)) return false;
        if (a.rank !== b.rank && pair[0]?.pod !== a.pod) return false;
      }
    }
    const positions = new Map(pods.map((item, i) => [item, i]));
    return ranked.every((item, i) => i === 0 || item.rank !== ranked[i - 1]?.rank || (positions.get(item.pod) ?? 0) > (positions.get(ranked[i - 1]?.pod as Pod) ?? 0));
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 300 }));
});

const policy: EvictionPolicy = { pressureTransitionPeriod: 0, maxPodGracePeriodSeconds: 30, localStorageCapacityIsolation: true, layout: layouts[0] };

t.test('KB010: a static pod is critical by its own definition, whatever its priority, and so never the victim', async (t) => {
  const pod = (source: string): Pod => ({ metadata: { name: 'p', uid: 'p', annotations: { 'kubernetes.io/config.source': source } }, spec: { containers: [] } });
  for (const source of ['file', 'http']) t.ok(isCriticalPod(pod(source)), source);
  t.notOk(isCriticalPod(pod('api')));
});

t.test('a critical pod is never the victim, and there is one whenever a pod that is not critical is there', async (t) => {
  const holds = fc.property(population, fc.constantFrom(...evictionSignals), fc.constantFrom(...layouts), ({ pods, byUid }, signal, layout) => {
    const own = { ...policy, layout, localStorageCapacityIsolation: false };
    const { state, plan } = beginRound(noPressure, [threshold({ signal })], observed(signal, 1, 1), pods, byUid, own, 1);
    if (plan.kind !== 'reclaim') return false;
    const victim = chooseVictim(plan, state, pods, byUid, own)?.pod ?? null;
    return victim === null ? pods.every(isCriticalPod) : !isCriticalPod(victim);
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 300 }));
});

t.test('one run of the loop', async (t) => {
  const thresholds = [threshold({ signal: 'nodefs.available' }), threshold()];
  const both = new Map([...observed('nodefs.available', 1, 1), ...observed('memory.available', 1, 1)]);
  const pods = [rankedPod({ priority: 9, grace: 60 }), rankedPod({ priority: 1, grace: 10 })];
  const { state, plan } = beginRound(noPressure, thresholds, both, pods, new Map(), policy, 1);
  t.match(plan, { kind: 'reclaim', eventMessage: 'Attempting to reclaim memory', calls: [] }, 'memory is the most urgent, and nothing of the node can be reclaimed for it');
  if (plan.kind === 'reclaim') {
    t.match(chooseVictim(plan, state, pods, new Map(), policy), { pod: { spec: { priority: 1 } }, gracePeriodSeconds: 1, annotations: {}, signal: 'memory.available' });
    t.equal(chooseVictim(plan, state, [rankedPod({ priority: 2_000_000_000 })], new Map(), policy), null);
    const soft = { ...plan, threshold: threshold({ gracePeriod: 1 }) };
    const graceOf = (item: Pod): number | undefined => chooseVictim(soft, state, [item], new Map(), policy)?.gracePeriodSeconds;
    t.strictSame([graceOf(rankedPod({ grace: 60 })), graceOf(rankedPod({ grace: 10 })), graceOf(rankedPod())], [30, 10, 30], 'soft: the smaller of the two');
  }
  t.ok(isRelieved(thresholds, new Map([...observed('nodefs.available', 150, 1), ...observed('memory.available', 150, 1)])), 'value and minimum reclaim reached');
  t.notOk(isRelieved(thresholds, new Map([...observed('nodefs.available', 900, 1), ...observed('memory.available', 149, 1)])), 'of any signal');
});

t.test('local limits and pressure exclude each other within a run; conditions are looked at before either', async (t) => {
  const over = (name: string): Pod => ({
    ...rankedPod(),
    metadata: { name, uid: name },
    spec: { containers: [{ name: 'c', resources: { limits: { 'ephemeral-storage': '10' } } }] },
  });
  const pods = [over('a'), rankedPod(), over('b')];
  const byUid = new Map(pods.map((item) => [item.metadata.uid ?? '', { ...stats(item, 0), 'ephemeral-storage': { usedBytes: 11 } }]));
  const { state, plan } = beginRound(noPressure, [threshold()], observed('memory.available', 1, 1), pods, byUid, { ...policy, pressureTransitionPeriod: 10 }, 1);
  t.match(plan, { kind: 'local-limits', evictions: [{ pod: { metadata: { name: 'a' } } }, { pod: { metadata: { name: 'b' } } }] });
  t.strictSame(state.conditions, ['MemoryPressure']);
  const next = beginRound(state, [threshold()], observed('memory.available', 1, 2), [pods[1] as Pod], byUid, policy, 2);
  t.match(next.plan, { kind: 'reclaim' });
});

t.test('an emptyDir whose usage was not measured is not judged', async (t) => {
  const item: Pod = { ...rankedPod(), spec: { containers: [{ name: 'c' }], volumes: [{ name: 'v', emptyDir: { sizeLimit: '1' } }] } };
  const withVolume = (volume: NonNullable<PodStats['volume']>): Map<string, PodStats> => new Map([[item.metadata.uid ?? '', { ...stats(item, 0), volume }]]);
  t.strictSame(localStorageEvictions([item], withVolume([{ name: 'v' }]), false), []);
  t.match(localStorageEvictions([item], withVolume([{ name: 'v', usedBytes: 2 }]), false), [{ signal: 'emptydirfs.limit', condition: null }]);
});

t.test('percentages are float literals of single precision before any number of percent signs', async (t) => {
  const rows: readonly (readonly [text: string, fraction: number | null])[] = [
    ['10%', 0.1],
    ['10%%%', 0.1],
    ['1e1%', 0.1],
    ['1_0%', 0.1],
    ['+.5e1%', 0.05],
    ['0x1p3%', 0.08],
    ['0x_8p0%', 0.08],
    ['0x0p99999%', 0],
    ['0x8%', null],
    ['1__0%', null],
    ['1_%', null],
    ['1e_1%', null],
    [' 1%', null],
    ['%', null],
    ['1e39%', null],
    ['NaN%', null],
  ];
  for (const [text, fraction] of rows) {
    const parsed = parsePercentage(text);
    t.equal(parsed.ok ? parsed.fraction : null, fraction === null ? null : Math.fround(Math.fround(fraction * 100) / 100), text);
  }
});

t.test('thresholds on the containers file system are the node’s, not the user’s; the first run goes by what it began with', async (t) => {
  const parsed = parseEvictionThresholds({ ...config, evictionHard: { 'nodefs.available': '10%', 'containerfs.available': '1Gi', 'imagefs.inodesFree': '5%' } });
  t.ok(parsed.ok);
  if (!parsed.ok) return;
  const shown = (thresholds: readonly EvictionThreshold[]): string[] => thresholds.map(({ signal, value }) => `${signal} ${value.kind}`).sort();
  const rows = [
    [layouts[0], ['containerfs.available fraction', 'imagefs.inodesFree fraction', 'nodefs.available fraction'], ['containerfs.available fraction']],
    [layouts[1], ['containerfs.inodesFree fraction', 'imagefs.inodesFree fraction', 'nodefs.available fraction'], []],
    [layouts[2], ['containerfs.available fraction', 'imagefs.inodesFree fraction', 'nodefs.available fraction'], ['containerfs.available fraction']],
  ] as const;
  for (const [layout, all, first] of rows) {
    const adapted = adaptToFileSystems(parsed.value, layout);
    t.strictSame(shown(adapted.thresholds), all, JSON.stringify(layout));
    t.strictSame(
      shown(adapted.firstRun).filter((text) => text.startsWith('containerfs')),
      first,
    );
  }
});
