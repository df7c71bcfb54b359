// What was not measured in the ranking for eviction: a pod, or one of its figures. It counts as no use, for each signal and layout.
import fc from 'fast-check';
import t from 'tap';
import { evictionMessage } from '../../src/domain/eviction/eviction-message.js';
import { rankPodsForEviction } from '../../src/domain/eviction/ranking.js';
import { type EvictionSignal, evictionSignals, type FileSystemLayout } from '../../src/domain/eviction/signals.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { FsStats, PodStats } from '../../src/ports/model/stats-summary.js';

const layouts: readonly FileSystemLayout[] = [
  { dedicatedImageFs: false, splitContainerFs: false },
  { dedicatedImageFs: true, splitContainerFs: false },
  { dedicatedImageFs: true, splitContainerFs: true },
];

interface Figures {
  readonly memory: number | null;
  readonly rootfs: number | null;
  readonly logs: number | null;
  readonly processes: number | null;
}

const nothingMeasured: Figures = { memory: null, rootfs: null, logs: null, processes: null };

function podOf(name: string, request: number, priority: number): Pod {
  const requests = { memory: String(request), 'ephemeral-storage': String(request) };
  return { metadata: { name, uid: name }, spec: { priority, containers: [{ name: 'c', ...(request === 0 ? {} : { resources: { requests } }) }] } };
}

function statsOf(name: string, { memory, rootfs, logs, processes }: Figures): PodStats {
  const files = (used: number | null): FsStats => (used === null ? {} : { usedBytes: used, inodesUsed: used });
  return {
    podRef: { name, namespace: 'default', uid: name },
    ...(memory === null ? {} : { memory: { workingSetBytes: memory } }),
    containers: [{ name: 'c', ...(rootfs === null ? {} : { rootfs: files(rootfs) }), ...(logs === null ? {} : { logs: files(logs) }) }],
    ...(processes === null ? {} : { process_stats: { process_count: processes } }),
  };
}

const zeros = ({ memory, rootfs, logs, processes }: Figures): Figures => ({ memory: memory ?? 0, rootfs: rootfs ?? 0, logs: logs ?? 0, processes: processes ?? 0 });

const figure = fc.option(fc.constantFrom(0, 5, 10, 100), { nil: null });
const figures = fc.record({ memory: figure, rootfs: figure, logs: figure, processes: figure });
const population = fc.array(fc.record({ request: fc.constantFrom(0, 10, 50), priority: fc.constantFrom(-1, 0, 7), figures: fc.option(figures, { nil: null }) }), { maxLength: 8 });

function ranks(pods: readonly Pod[], stats: ReadonlyMap<string, PodStats>, signal: EvictionSignal, layout: FileSystemLayout): readonly (readonly [string, number])[] {
  return rankPodsForEviction(pods, stats, signal, layout).map(({ pod, rank }) => [pod.metadata.name, rank] as const);
}

t.test('a pod that pulls its image is not evicted before one that uses 15 GiB more than it asked for', async (t) => {
  for (const signal of evictionSignals) {
    const [pulling, offender] = [podOf('pulling', 100, 0), podOf('offender', 100, 0)];
    const use = 15 * 2 ** 30;
    const stats = new Map([['offender', statsOf('offender', { memory: use, rootfs: use, logs: use, processes: use })]]);
    for (const layout of layouts) {
      // With images on a file system of their own that containers do not share, no pod is charged for it, so nothing sets the two apart.
      const shared = layout.splitContainerFs && signal.startsWith('imagefs.');
      t.strictSame(
        ranks([pulling, offender], stats, signal, layout),
        shared
          ? [
              ['pulling', 0],
              ['offender', 0],
            ]
          : [
              ['offender', 0],
              ['pulling', 1],
            ],
        `${signal} ${JSON.stringify(layout)}`,
      );
    }
  }
});

t.test('a pod or a figure that was not measured ranks as one that uses nothing, for every signal and layout', async (t) => {
  const holds = fc.property(population, fc.constantFrom(...evictionSignals), fc.constantFrom(...layouts), (items, signal, layout) => {
    const pods = items.map(({ request, priority }, i) => podOf(`p${i}`, request, priority));
    const measured = new Map(items.flatMap((item, i) => (item.figures === null ? [] : [[`p${i}`, statsOf(`p${i}`, item.figures)] as const])));
    const filled = new Map(items.map((item, i) => [`p${i}`, statsOf(`p${i}`, zeros(item.figures ?? nothingMeasured))] as const));
    return JSON.stringify(ranks(pods, measured, signal, layout)) === JSON.stringify(ranks(pods, filled, signal, layout));
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 1_000 }));
});

t.test('the message names no figure that was not measured', async (t) => {
  const pod: Pod = { metadata: { name: 'p', uid: 'p' }, spec: { resources: { requests: { memory: '1Mi' } }, containers: [{ name: 'c' }] } };
  const of = (stats: PodStats) => evictionMessage('memory', pod, stats, [], new Map());
  t.match(of(statsOf('p', { ...nothingMeasured, memory: 2 ** 21 })), { message: /Pod p was using 2Mi/, annotations: { offending_pod_usage: '2Mi' } });
  for (const stats of [statsOf('p', nothingMeasured), { ...statsOf('p', nothingMeasured), memory: { usageBytes: 7 } }]) {
    const { message, annotations } = of(stats);
    t.notMatch(message, /was using/);
    t.notHas(annotations, { offending_pod_usage: String });
  }
});
