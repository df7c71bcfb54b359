// The eviction loop over its whole grid of phases and events, and the runs that people see.

import t from 'tap';
import {
  type EvictionAction,
  type EvictionLoop,
  type EvictionLoopEvent,
  type EvictionSettings,
  evictionCleanupMicros,
  evictionRestMicros,
  evictionWakeAt,
  isEvictionLoopNeeded,
  startEvictionLoop,
  stepEvictionLoop,
} from '../../src/domain/eviction/eviction-loop.js';
import { parseEvictionThresholds } from '../../src/domain/eviction/thresholds.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { formatRfc3339, microsPerSecond } from '../../src/domain/values/time.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { StatsSummary } from '../../src/ports/model/stats-summary.js';
import { pod } from '../support/pods.js';

const start = 1_700_000_000 * microsPerSecond;
const layout = { dedicatedImageFs: false, splitContainerFs: false };

function settingsOf(evictionHard: Record<string, string>): EvictionSettings {
  const parsed = parseEvictionThresholds({ evictionHard, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {}, enforceNodeAllocatable: [] });
  if (!parsed.ok) throw new Error(parsed.error);
  return { thresholds: parsed.value, policy: { pressureTransitionPeriod: 300 * microsPerSecond, maxPodGracePeriodSeconds: 0, localStorageCapacityIsolation: true } };
}
const settings = settingsOf({ 'nodefs.available': '100', 'memory.available': '100' });

function summary(memory: number, disk: number, time: number, used: Readonly<Record<string, number>> = {}): StatsSummary {
  const at = formatRfc3339(instantOf(time));
  return {
    node: { nodeName: 'n', memory: { availableBytes: memory, workingSetBytes: 1000, time: at }, fs: { availableBytes: disk, capacityBytes: 10_000, time: at } },
    pods: Object.entries(used).map(([uid, usedBytes]) => ({ podRef: { name: uid, namespace: '', uid }, 'ephemeral-storage': { usedBytes } })),
  };
}

const measured = (of: StatsSummary, pods: readonly Pod[] = []): EvictionLoopEvent => ({ type: 'measured', wallOffset: 0, summary: of, pods, layout });

interface Told {
  readonly loop: EvictionLoop;
  readonly said: readonly string[];
}

function shown(action: EvictionAction): string {
  switch (action.kind) {
    case 'measure':
      return 'measure';
    case 'reclaim':
      return `reclaim ${action.call}`;
    case 'node-event':
      return `${action.reason} ${action.message}`;
    case 'evict':
      return `evict ${action.eviction.pod.metadata.name}`;
  }
}

function tell(loop: EvictionLoop, event: EvictionLoopEvent, now: number): Told {
  const step = stepEvictionLoop(loop, event, settings, now);
  return { loop: step.loop, said: step.actions.map(shown) };
}

t.test('memory runs out: one pod goes, its remains are waited for, then the node is looked at again at once', async (t) => {
  const pods = [pod('a', { priority: 5 }), pod('b')];
  let { loop, said } = tell(startEvictionLoop(start), { type: 'woken' }, start);
  t.strictSame(said, ['measure']);
  ({ loop, said } = tell(loop, measured(summary(99, 5000, start), pods), start));
  t.strictSame(said, ['EvictionThresholdMet Attempting to reclaim memory', 'evict b']);
  t.equal(evictionWakeAt(loop), null, 'the kill is waited for');
  t.strictSame(tell(loop, { type: 'woken' }, start + 5).said, [], 'nobody starts a second look');
  ({ loop, said } = tell(loop, { type: 'stopped', podUid: 'b' }, start + 10));
  t.strictSame([said, evictionWakeAt(loop)], [[], start + 10 + evictionCleanupMicros]);
  t.strictSame(tell(loop, { type: 'woken' }, start + 10 + evictionCleanupMicros).said, ['measure'], 'not for ever');
  ({ loop, said } = tell(loop, { type: 'cleaned', podUid: 'b' }, start + 20));
  t.strictSame(said, ['measure']);
  ({ loop, said } = tell(loop, measured(summary(99, 5000, start), [pods[0] as Pod]), start + 20));
  t.strictSame([said, evictionWakeAt(loop), loop.pressure.conditions], [[], start + 20 + evictionRestMicros, ['MemoryPressure']], 'the same measurement evicts nobody else');
});

t.test('a full disk: what nothing uses goes first, and if that was enough no pod does', async (t) => {
  const full = tell(tell(startEvictionLoop(start), { type: 'woken' }, start).loop, measured(summary(900, 99, start), [pod('a')]), start);
  t.strictSame(full.said, ['EvictionThresholdMet Attempting to reclaim ephemeral-storage', 'reclaim containers']);
  const images = tell(full.loop, { type: 'reclaimed' }, start);
  t.strictSame(images.said, ['reclaim images']);
  const again = tell(images.loop, { type: 'reclaimed' }, start);
  t.strictSame(again.said, ['measure']);
  t.strictSame(tell(again.loop, measured(summary(900, 100, start + 1)), start).said, [], 'relieved');
  t.strictSame(tell(again.loop, measured(summary(99, 5000, start + 1)), start).said, ['evict a'], 'another signal is still short');
  t.strictSame(tell(again.loop, { type: 'not-measured' }, start).said, ['evict a'], 'no measurement is no relief');
});

t.test('pods beyond their own limits go together, and are waited for together', async (t) => {
  const limited = (name: string): Pod => pod(name, { containers: [{ name: 'c', resources: { limits: { 'ephemeral-storage': '10' } } }] });
  const measuring = tell(startEvictionLoop(start), { type: 'woken' }, start).loop;
  let { loop, said } = tell(measuring, measured(summary(99, 5000, start, { a: 11, b: 11, c: 10 }), [limited('a'), limited('b'), limited('c')]), start);
  t.strictSame(said, ['evict a', 'evict b']);
  ({ loop, said } = tell(loop, { type: 'stopped', podUid: 'a' }, start));
  ({ loop, said } = tell(loop, { type: 'cleaned', podUid: 'a' }, start));
  t.strictSame([said, loop.phase], [[], { kind: 'killing', running: ['b'], remaining: ['b'] }]);
  t.strictSame(tell(loop, { type: 'cleaned', podUid: 'b' }, start).said, ['measure'], 'what is gone has stopped');
});

const signalParts = { 'memory.available': 'memory', 'nodefs.available': 'fs' } as const;

function without(of: StatsSummary, ...parts: readonly (keyof StatsSummary['node'])[]): StatsSummary {
  return { ...of, node: Object.fromEntries(Object.entries(of.node).filter(([part]) => !parts.includes(part as keyof StatsSummary['node']))) as unknown as StatsSummary['node'] };
}

t.test('each signal stands for itself, whichever could not be read', async (t) => {
  const look = (loop: EvictionLoop, of: StatsSummary, now: number, pods: readonly Pod[] = [pod('a')]): Told =>
    tell(tell(loop, { type: 'woken' }, now).loop, measured(of, pods), now);
  for (const [short, other] of [
    ['memory', 'fs'],
    ['fs', 'memory'],
  ] as const) {
    const low = (time: number) => (short === 'memory' ? summary(99, 5000, time) : summary(900, 99, time));
    const condition = short === 'memory' ? 'MemoryPressure' : 'DiskPressure';
    const acted = look(startEvictionLoop(start), without(low(start), other), start);
    t.match(acted.said[0], /^EvictionThresholdMet/, `${short} is short, and ${other} was not read`);
    t.strictSame(acted.loop.pressure.conditions, [condition]);
    // No pod may be evicted.
    let loop = look(startEvictionLoop(start), low(start), start, []).loop;
    while (loop.phase.kind === 'reclaiming') loop = tell(loop, { type: 'reclaimed' }, start).loop;
    if (loop.phase.kind === 'remeasuring') loop = tell(loop, measured(without(low(start + 1), short)), start).loop;
    t.equal(loop.phase.kind, 'resting');
    let now = start;
    for (let i = 0; i < 60; i++) {
      now += evictionRestMicros;
      const again = look(loop, without(low(now), short), now);
      loop = again.loop;
      if (again.said.length > 0 || !loop.pressure.conditions.includes(condition)) t.fail(`${short} was not read: ${again.said.join()} ${loop.pressure.conditions.join()}`);
    }
    t.strictSame(
      loop.pressure.active.map(({ signal }) => signalParts[signal as keyof typeof signalParts]),
      [short],
      'ten minutes later it is no less short',
    );
    const readAgain = look(loop, low(now + 1_000_000), now + 1_000_000);
    t.match(readAgain.said[0], /^EvictionThresholdMet/, 'it acts once it is read');
    t.strictSame(look(loop, summary(900, 5000, now + 1_000_000), now + 1_000_000).loop.pressure.active, [], 'or is relieved');
  }
});

t.test('a shortage that is not read after the reclaim is not relieved', async (t) => {
  const full = tell(tell(startEvictionLoop(start), { type: 'woken' }, start).loop, measured(summary(900, 99, start), [pod('a')]), start);
  const again = tell(tell(full.loop, { type: 'reclaimed' }, start).loop, { type: 'reclaimed' }, start);
  t.strictSame(tell(again.loop, measured(without(summary(900, 5000, start + 1), 'fs')), start).said, ['evict a']);
  t.strictSame(tell(again.loop, measured(without(summary(900, 5000, start + 1), 'memory')), start).said, [], 'another part that is not read keeps nothing');
});

t.test('while the file systems are not known, memory is judged, and no disk', async (t) => {
  const measuring = tell(startEvictionLoop(start), { type: 'woken' }, start).loop;
  const unknown = (of: StatsSummary): EvictionLoopEvent => ({ type: 'measured', wallOffset: 0, summary: of, pods: [pod('a')], layout: null });
  t.strictSame(tell(measuring, unknown(summary(99, 99, start)), start).said, ['EvictionThresholdMet Attempting to reclaim memory', 'evict a']);
  const disk = tell(measuring, unknown(summary(900, 99, start)), start);
  t.strictSame([disk.said, disk.loop.layout], [[], null]);
});

t.test('KB042: with a minimum to reclaim, what is freed up to the threshold is not enough, and one pod goes', async (t) => {
  const parsed = parseEvictionThresholds({
    evictionHard: {},
    ...{ evictionSoft: { 'imagefs.available': '20%' }, evictionSoftGracePeriod: { 'imagefs.available': '10s' }, evictionMinimumReclaim: { 'imagefs.available': '10%' } },
    enforceNodeAllocatable: [],
  });
  if (!parsed.ok) throw new Error(parsed.error);
  const soft: EvictionSettings = { ...settings, thresholds: parsed.value };
  const pods = [pod('a', { priority: 5 }), pod('b')];
  const images = (percent: number, time: number): EvictionLoopEvent => {
    const fs = { availableBytes: percent * 100, capacityBytes: 10_000, time: formatRfc3339(instantOf(time)) };
    const { node } = summary(5000, 5000, time);
    return {
      type: 'measured',
      wallOffset: 0,
      summary: { node: { ...node, runtime: { imageFs: fs } }, pods: [] },
      pods,
      layout: { dedicatedImageFs: true, splitContainerFs: false },
    };
  };
  let now = start;
  let loop = startEvictionLoop(start);
  const said: string[][] = [];
  const next = (event: EvictionLoopEvent): void => {
    const step = stepEvictionLoop(loop, event, soft, now);
    loop = step.loop;
    said.push(step.actions.map(shown));
  };
  const look = (percent: number): void => {
    next({ type: 'woken' });
    next(images(percent, now));
  };
  look(19);
  t.strictSame([said, loop.pressure.conditions], [[['measure'], []], ['DiskPressure']], 'the grace runs');
  now += 11 * microsPerSecond;
  said.length = 0;
  look(19);
  t.match(said[1], [/^EvictionThresholdMet /, /^reclaim /]);
  while (!said.at(-1)?.includes('measure')) next({ type: 'reclaimed' });
  t.ok(said.flat().includes('reclaim images'));
  said.length = 0;
  now += microsPerSecond;
  next(images(22, now));
  t.strictSame(said, [['evict b']], 'above the threshold, below what is to be reclaimed');
  next({ type: 'stopped', podUid: 'b' });
  next({ type: 'cleaned', podUid: 'b' });
  now += microsPerSecond;
  next(images(31, now));
  for (let i = 0; i < 40; i++) {
    now += evictionRestMicros;
    look(31);
    if (i === 20) t.strictSame(loop.pressure.conditions, ['DiskPressure'], 'the condition stays for its transition period');
  }
  t.strictSame(loop.pressure.conditions, [], 'and goes');
  t.equal(said.flat().filter((text) => text.startsWith('evict ')).length, 1, 'exactly one victim');
});

t.test('every phase has an answer to every event, and only the right ones move it', async (t) => {
  const resting = startEvictionLoop(start);
  const measuring = tell(resting, { type: 'woken' }, start).loop;
  const reclaiming = tell(measuring, measured(summary(900, 99, start), [pod('a')]), start).loop;
  const remeasuring = tell(tell(reclaiming, { type: 'reclaimed' }, start).loop, { type: 'reclaimed' }, start).loop;
  const killing = tell(remeasuring, { type: 'not-measured' }, start).loop;
  const cleaning = tell(killing, { type: 'stopped', podUid: 'a' }, start).loop;
  const events: readonly EvictionLoopEvent[] = [
    { type: 'woken' },
    measured(summary(900, 5000, start + 1)),
    { type: 'not-measured' },
    { type: 'reclaimed' },
    { type: 'stopped', podUid: 'a' },
    { type: 'cleaned', podUid: 'a' },
    { type: 'stopped', podUid: 'other' },
    { type: 'cleaned', podUid: 'other' },
  ];
  const grid: readonly (readonly [EvictionLoop, ...next: string[]])[] = [
    [resting, 'measuring', '=', '=', '=', '=', '=', '=', '='],
    [measuring, '=', 'resting', 'resting', '=', '=', '=', '=', '='],
    [reclaiming, '=', '=', '=', 'reclaiming', '=', '=', '=', '='],
    [remeasuring, '=', 'resting', 'killing', '=', '=', '=', '=', '='],
    [killing, '=', '=', '=', '=', 'cleaning', 'measuring', 'killing', 'killing'],
    [cleaning, '=', '=', '=', '=', 'cleaning', 'measuring', 'cleaning', 'cleaning'],
  ];
  for (const [loop, ...next] of grid) {
    t.equal(next.length, events.length);
    for (const [i, event] of events.entries()) {
      const after = tell(loop, event, start + 1);
      const wanted = next[i] as string;
      const sentence = `${loop.phase.kind}, ${event.type}`;
      if (wanted === '=') t.strictSame([after.loop === loop, after.said], [true, []], sentence);
      else t.equal(after.loop.phase.kind, wanted, sentence);
    }
  }
});

t.test('without the layout no disk is judged; with nobody to evict the loop rests; without anything to look for there is no loop', async (t) => {
  const measuring = tell(startEvictionLoop(start), { type: 'woken' }, start).loop;
  const blind = tell(measuring, { type: 'measured', wallOffset: 0, summary: summary(900, 99, start), pods: [pod('a')], layout: null }, start);
  t.strictSame([blind.said, blind.loop.pressure.conditions, blind.loop.phase.kind], [[], [], 'resting']);
  const nobody = tell(measuring, measured(summary(99, 5000, start), [pod('critical', { priority: 2_000_000_000 })]), start);
  t.strictSame([nobody.said, nobody.loop.phase.kind], [['EvictionThresholdMet Attempting to reclaim memory'], 'resting']);
  const none = settingsOf({});
  t.equal(isEvictionLoopNeeded(none), true, 'local limits');
  t.equal(isEvictionLoopNeeded({ ...none, policy: { ...none.policy, localStorageCapacityIsolation: false } }), false);
});
