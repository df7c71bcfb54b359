// What the node does for itself, beyond the vectors: image collection, shutdown, OOM reports, allocatable.

import fc from 'fast-check';
import t from 'tap';
import { machineCapacity, nodeReservation, nodeResources, podsCgroupConfig, reservationProblem } from '../../src/domain/cgroups/node-allocatable.js';
import {
  afterImageFsMeasurement,
  afterImageRemoval,
  beginImageGc,
  beginUnusedImageRemoval,
  type ImageGcPolicy,
  type ImageGcRun,
  isImageGcEnabled,
  nextImageGcStep,
} from '../../src/domain/gc/image-gc.js';
import { detectImages, type ImageRecord, removableImages } from '../../src/domain/gc/image-records.js';
import { admitDuringShutdown, groupPods, shutdownPriorities } from '../../src/domain/node-shutdown/shutdown-groups.js';
import { advanceShutdown, beginShutdown } from '../../src/domain/node-shutdown/shutdown-run.js';
import { type OomKill, type OomParserState, readOomLine, systemOomMessage } from '../../src/domain/oom/oom-parser.js';
import { nanosPerSecond } from '../../src/domain/values/go-duration.js';
import { mustParseQuantity, quantityValue } from '../../src/domain/values/quantity.js';
import { microsPerSecond } from '../../src/domain/values/time.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { pod } from '../support/pods.js';

const second = microsPerSecond;

t.test('images are remembered while they are there, and forgotten with them', async (t) => {
  const image = (id: string, pinned = false) => ({ id, sizeBytes: 1, pinned });
  const first = detectImages(new Map(), [image('a'), image('b', true), image('c')], new Set(['c']), 10);
  const second = detectImages(first, [image('a'), image('b', true), image('d')], new Set(['a']), 20);
  t.strictSame(
    [...second.values()].map(({ id, firstDetected, lastUsed }) => [id, firstDetected, lastUsed]),
    [
      ['a', 10, 20],
      ['b', 10, null],
      ['d', 20, null],
    ],
  );
  t.strictSame(
    removableImages(second, new Set(['a'])).map(({ id }) => id),
    ['d'],
    'neither pinned nor in use',
  );
  t.strictSame(
    removableImages(second, new Set()).map(({ id }) => id),
    ['d', 'a'],
    'never used before used',
  );
});

const now = 1_000_000 * second;
const policyOf = (over: Partial<ImageGcPolicy> = {}): ImageGcPolicy => ({ highThresholdPercent: 85, lowThresholdPercent: 80, minAge: 120 * second, maxAge: 0, ...over });

interface Played {
  readonly asked: readonly string[];
  readonly run: ImageGcRun;
}

function play(start: ImageGcRun, capacity: bigint, available: bigint, fails: (id: string) => boolean): Played {
  const asked: string[] = [];
  let run = start;
  for (let steps = 0; steps < 1000; steps++) {
    const step = nextImageGcStep(run);
    if (step.kind === 'done') return { asked, run };
    if (step.kind === 'measure') run = afterImageFsMeasurement(run, capacity, available);
    else {
      asked.push(step.image.id);
      run = afterImageRemoval(run, fails(step.image.id) ? `cannot remove ${step.image.id}` : null);
    }
  }
  throw new Error('a run ends');
}

t.test('a collection asks for each image at most once, for none in use, and stops as soon as enough is freed', async (t) => {
  const records = fc.array(
    fc.record({
      size: fc.integer({ min: 1, max: 400 }),
      used: fc.option(fc.nat(5000), { nil: null }),
      detected: fc.nat(5000),
      inUse: fc.boolean(),
      pinned: fc.boolean(),
      fails: fc.boolean(),
    }),
    { maxLength: 12 },
  );
  const holds = fc.property(records, fc.nat(1000), fc.constantFrom(0, 1000), fc.boolean(), (items, available, maxAge, pressure) => {
    const all = items.map(
      ({ size, used, detected, pinned }, i): ImageRecord => ({
        id: `i${i}`,
        sizeBytes: size,
        pinned,
        firstDetected: now - detected * second,
        lastUsed: used === null ? null : now - used * second,
      }),
    );
    const inUse = new Set(all.filter((_, i) => items[i]?.inUse === true).map(({ id }) => id));
    const fails = (id: string): boolean => items[Number(id.slice(1))]?.fails === true;
    const candidates = removableImages(new Map(all.map((record) => [record.id, record])), inUse);
    const policy = policyOf({ maxAge: maxAge * second });
    const start = pressure ? beginUnusedImageRemoval(candidates, policy, now) : beginImageGc(candidates, policy, 5000 * second, now);
    const { asked, run } = play(start, 1000n, BigInt(available), fails);
    if (new Set(asked).size !== asked.length || asked.some((id) => inUse.has(id) || all[Number(id.slice(1))]?.pinned === true)) return false;
    const spaceOnly = maxAge === 0 && !pressure;
    if (!spaceOnly) return true;
    // 85 percent are used as long as 15, rounded down, are left.
    if (available >= 160) return asked.length === 0 && run.outcome?.error === null;
    const freed = asked.filter((id) => !fails(id)).reduce((sum, id) => sum + (all[Number(id.slice(1))]?.sizeBytes ?? 0), 0);
    const last = asked.at(-1);
    const beforeLast = freed - (last === undefined || fails(last) ? 0 : (all[Number(last.slice(1))]?.sizeBytes ?? 0));
    return beforeLast < 200 - available && (run.outcome?.error === null) === (freed >= 200 - available && !asked.some(fails));
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 500 }));
});

t.test('age and space', async (t) => {
  const record = (id: string, usedAgo: number | null, detectedAgo = 5000): ImageRecord => ({
    id,
    sizeBytes: 100,
    pinned: false,
    firstDetected: now - detectedAgo * second,
    lastUsed: usedAgo === null ? null : now - usedAgo * second,
  });
  const images = [record('never', null, 1), record('old', 3601), record('edge', 3600)];
  const policy = policyOf({ maxAge: 3600 * second });
  t.strictSame(play(beginImageGc(images, policy, 3601 * second, now), 1000n, 1000n, () => false).asked, ['never', 'old'], 'age looks at no minimum age, and is strict');
  t.strictSame(play(beginImageGc(images, policy, 3600 * second, now), 1000n, 1000n, () => false).asked, [], 'not before anybody could know what was used');
  const failed = play(beginImageGc(images, policy, 3601 * second, now), 1000n, 0n, () => true);
  t.match(failed.run.outcome, {
    error: 'wanted to free images older than 1h0m0s, encountered errors in image deletion: [cannot remove never, cannot remove old]',
    isComplete: false,
  });
  t.strictSame(failed.asked, ['never', 'old'], 'the disk is not looked at any more');
  t.strictSame(play(beginImageGc(images, policy, 3601 * second, now), 1000n, 0n, () => false).asked, ['never', 'old', 'edge'], 'space goes on where age ended');
  t.match(play(beginImageGc([], policyOf(), 0, now), 5376n, 0n, () => false).run.outcome, { error: /\(100% of 5\.2 KiB used\)/ }, 'exact halves go to the even digit');
  t.strictSame(
    [isImageGcEnabled(policyOf()), isImageGcEnabled(policyOf({ highThresholdPercent: 100 })), isImageGcEnabled(policyOf({ highThresholdPercent: 100, maxAge: 1 }))],
    [true, false, true],
  );
});

function podOfPriority(name: string, priority?: number, grace?: number): Pod {
  const spec = { containers: [], ...(priority === undefined ? {} : { priority }), ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }) };
  return pod(name, spec);
}

t.test('a shutdown goes group by group', async (t) => {
  const priorities = shutdownPriorities({ shutdownGracePeriod: 30 * nanosPerSecond, shutdownGracePeriodCriticalPods: 10 * nanosPerSecond, shutdownGracePeriodByPodPriority: [] });
  const groups = groupPods(priorities, [podOfPriority('a', 0, 60), podOfPriority('b', undefined, 5), podOfPriority('c', 2_000_000_000)]);
  const gone = new Set<string>();
  const isGone = ({ metadata }: Pod): boolean => gone.has(metadata.name);
  const told = (step: ReturnType<typeof advanceShutdown>): unknown => step.kills.map((kill) => [kill.pod.metadata.name, kill.gracePeriodSeconds]);
  const first = advanceShutdown(beginShutdown(groups), isGone, 100 * second);
  t.strictSame(
    [told(first), first.wakeAt],
    [
      [
        ['a', 20],
        ['b', 5],
      ],
      120 * second,
    ],
  );
  const again = advanceShutdown(first.run, isGone, 110 * second);
  t.strictSame([told(again), again.wakeAt], [[], 120 * second], 'told once');
  gone.add('b');
  t.strictSame(told(advanceShutdown(again.run, isGone, 111 * second)), [], 'one of two is gone');
  gone.add('a');
  const early = advanceShutdown(again.run, isGone, 112 * second);
  t.strictSame([told(early), early.wakeAt], [[['c', 10]], 122 * second], 'all are gone: the next group begins at once');
  gone.delete('a');
  const late = advanceShutdown(again.run, isGone, 120 * second);
  t.strictSame([told(late), late.wakeAt], [[['c', 10]], 130 * second], 'time is up: the next group begins whatever is left');
  t.equal(advanceShutdown(late.run, isGone, 130 * second).wakeAt, null, 'done');
  const empty = advanceShutdown(beginShutdown(groupPods(priorities, [podOfPriority('c', 2_000_000_000)])), () => false, 0);
  t.strictSame(told(empty), [['c', 10]], 'an empty group costs no time');
  t.match(admitDuringShutdown(true), { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' });
});

t.test('each pod is in the highest group that is not above it', async (t) => {
  const holds = fc.property(
    fc.uniqueArray(fc.integer({ min: -5, max: 20 }), { minLength: 1, maxLength: 6 }),
    fc.array(fc.integer({ min: -10, max: 30 }), { maxLength: 10 }),
    (levels, values) => {
      const priorities = shutdownPriorities({
        shutdownGracePeriod: 0,
        shutdownGracePeriodCriticalPods: 0,
        shutdownGracePeriodByPodPriority: levels.map((priority) => ({ priority, shutdownGracePeriodSeconds: 1 })),
      });
      const lowest = Math.min(...levels);
      const groups = groupPods(
        priorities,
        values.map((value, i) => podOfPriority(`p${i}`, value)),
      );
      const placed = groups.flatMap((group) => group.pods.map((item) => [group.priority, item.spec.priority ?? 0] as const));
      const expected = (value: number): number => Math.max(lowest, ...levels.filter((level) => level <= value));
      return placed.length === values.length && placed.every(([level, value]) => level === expected(value));
    },
  );
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 300 }));
});

function kills(...lines: string[]): OomKill[] {
  let state: OomParserState = null;
  const found: OomKill[] = [];
  for (const [i, line] of lines.entries()) {
    const step = readOomLine(state, line, i);
    state = step.state;
    if (step.kill !== null) found.push(step.kill);
  }
  return found;
}

t.test('OOM reports', async (t) => {
  const start = 'a invoked oom-killer: gfp_mask=0x0';
  const summary = (task: string, extra = ''): string =>
    `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/q${extra},task_memcg=/q/r,task=${task},pid=7,uid=0`;
  t.match(kills(start, summary('x,pid=1,uid=2')), [
    { processName: 'x,pid=1,uid=2', pid: 7, limitCgroup: '/q', taskCgroup: '/q/r', constraint: 'CONSTRAINT_MEMCG', sinceBootMicros: 1 },
  ]);
  t.match(kills(start, start, 'Killed process 5 (a) b) (c) total-vm:1kB'), [{ processName: 'a) b) (c', pid: 5 }], 'one report; names may hold brackets');
  t.strictSame(kills(summary('x'), 'Killed process 5 (x)'), [], 'outside of a report');
  t.strictSame(kills(start, 'Killed process 99999999999999999999 (x)'), [], 'a number that is none');
  t.match(kills(start, `${summary('x')}\n DEVICE=+x:1`), [{ processName: 'x' }]);
  t.equal(systemOomMessage(kills(start, 'Killed process 42 (java)')[0] as OomKill), 'System OOM encountered, victim process: java, pid: 42');
  t.equal(systemOomMessage(kills(start, summary('x'))[0] as OomKill), null);
  const nodeWide = { taskCgroup: '/', limitCgroup: '/', constraint: '', sinceBootMicros: 1 };
  t.equal(systemOomMessage({ ...nodeWide, processName: '', pid: 5 }), 'System OOM encountered');
  t.equal(systemOomMessage({ ...nodeWide, processName: 'java', pid: 0 }), 'System OOM encountered');
  for (const field of ['oom-kill:constraint=', ',nodemask=', ',cpuset=', ',mems_allowed=', ',oom_memcg=', ',task_memcg=', ',task=', ',pid=', ',uid=']) {
    t.strictSame(kills(start, summary('x').replace(field, ' '.repeat(field.length))), [], `without ${field} it is no summary`);
  }
  t.match(kills(start, 'oom-kill:constraint=,nodemask=,cpuset=,mems_allowed=,oom_memcg=q,task_memcg=r,task=x,pid=7,uid='), [
    { constraint: '', limitCgroup: '/q', taskCgroup: '/r' },
  ]);
  t.match(kills(start, 'Task in r killed as a result of limit of q\nKilled process 5 (x)'), [{ limitCgroup: '/q', taskCgroup: '/r', pid: 5 }]);
  const long = summary(',pid=,uid=,task='.repeat(20_000));
  t.equal(kills(start, long).length, 1, 'a line made to be searched for ever is read in one go');
});

t.test('allocatable is what is left, and never below zero', async (t) => {
  const machine = { cpus: 4, memoryBytes: 2n ** 30n, hugePages: [{ pageSizeKiB: 2048, count: 1024 }], ephemeralStorageBytes: 103_865_303_040n, maxPids: 1000 };
  const facts = {
    kubeReserved: null,
    systemReserved: { pid: mustParseQuantity('100'), memory: mustParseQuantity('64Mi') },
    hardEviction: new Map([['nodefs.available', { kind: 'fraction', fraction: Math.fround(Math.fround(10) / 100) }]] as const),
  };
  const reservation = nodeReservation(machineCapacity(machine), facts);
  const devices = { capacity: {}, allocatable: {}, removed: ['vendor.io/gone'] };
  const { capacity, allocatable } = nodeResources(machine, reservation, { maxPods: 110, podsPerCore: 10 }, devices, {
    capacity: { 'other.io/opaque': '3' },
    allocatable: { 'vendor.io/old': '1', leftover: '2' },
  });
  t.match(capacity, { memory: '1Gi', 'hugepages-2Mi': '2Gi', pods: '40', 'vendor.io/gone': '0', 'other.io/opaque': '3' });
  t.match(allocatable, { memory: '0', 'ephemeral-storage': '93478772582', 'vendor.io/gone': '0', 'other.io/opaque': '3', leftover: '2' });
  t.notOk('vendor.io/old' in allocatable, 'an extended resource without capacity goes');
  const enforced = podsCgroupConfig(machine, facts, true);
  t.match(enforced, { memoryBytes: 2n ** 30n - 2n ** 26n, pidsLimit: 900 });
  t.equal(podsCgroupConfig(machine, facts, false).pidsLimit, 1000, 'not enforced: all there is');
  t.ok(quantityValue(mustParseQuantity(allocatable['memory'] as string)) <= (enforced.memoryBytes ?? 0n));
  const over = nodeReservation(machineCapacity(machine), { ...facts, kubeReserved: { memory: mustParseQuantity('2Gi'), cpu: mustParseQuantity('5') } });
  const sentence = (name: string, reserved: string, present: string): string =>
    `Resource "${name}" has a reservation of ${reserved} but capacity of ${present}. Expected capacity >= reservation.`;
  t.equal(reservationProblem(machineCapacity(machine), over), `invalid Node Allocatable configuration. ${sentence('cpu', '5', '4')} ${sentence('memory', '2112Mi', '1Gi')}`);
});
