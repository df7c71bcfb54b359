// The order of eviction, and the message of each pod's eviction. Pods of equal rank are a set.
import { evictionMessage } from '../../../src/domain/eviction/eviction-message.js';
import type { SignalObservation } from '../../../src/domain/eviction/observations.js';
import { rankPods } from '../../../src/domain/eviction/ranking.js';
import { type EvictionSignal, type FileSystemLayout, starvedResource } from '../../../src/domain/eviction/signals.js';
import type { EvictionThreshold } from '../../../src/domain/eviction/thresholds.js';
import { mustParseQuantity } from '../../../src/domain/values/quantity.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { PodStats } from '../../../src/ports/model/stats-summary.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Input extends FileSystemLayout {
  readonly signal: EvictionSignal;
  readonly thresholdQuantity: string;
  readonly observation: { readonly available: string; readonly capacity: string };
  readonly pods: readonly { readonly pod: Pod; readonly stats?: PodStats }[];
}

function withSortedGroups(answer: unknown): unknown {
  if (!isObject(answer) || !Array.isArray(answer['order'])) return answer;
  return { ...answer, order: answer['order'].map((group: unknown) => (Array.isArray(group) ? [...group].sort() : group)) };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const { signal, observation, thresholdQuantity } = input;
    const resource = starvedResource(signal);
    const stats = new Map(input.pods.flatMap(({ pod, stats }) => (stats === undefined ? [] : [[pod.metadata.uid ?? '', stats] as const])));
    const pods = input.pods.map(({ pod }) => pod);
    const threshold: EvictionThreshold = { signal, value: { kind: 'quantity', quantity: mustParseQuantity(thresholdQuantity) }, gracePeriod: 0, minReclaim: null };
    const observed: SignalObservation = { available: mustParseQuantity(observation.available), capacity: mustParseQuantity(observation.capacity), time: null };
    const observations = new Map([[signal, observed]]);
    const groups = new Map<number, string[]>();
    for (const { pod, rank } of rankPods(pods, stats, signal, input)) groups.set(rank, [...(groups.get(rank) ?? []), pod.metadata.name]);
    return {
      order: [...groups.values()],
      resource,
      messages: Object.fromEntries(pods.map((pod) => [pod.metadata.name, evictionMessage(resource, pod, stats.get(pod.metadata.uid ?? ''), [threshold], observations)])),
    };
  },
  compare(got: unknown, want: Json): Difference[] {
    return differences(withSortedGroups(got), withSortedGroups(want));
  },
};
