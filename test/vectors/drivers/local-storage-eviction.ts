// Pods beyond their limits of local disk.
import { evictedReason } from '../../../src/domain/eviction/eviction.js';
import { localStorageEvictions } from '../../../src/domain/eviction/local-storage.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { PodStats } from '../../../src/ports/model/stats-summary.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly dedicatedImageFs: boolean;
  readonly pods: readonly { readonly pod: Pod; readonly stats?: PodStats }[];
}

export const driver: VectorDriver = {
  run({ pods, dedicatedImageFs }: Input) {
    const stats = new Map(pods.flatMap(({ pod, stats }) => (stats === undefined ? [] : [[pod.metadata.uid ?? '', stats] as const])));
    const evictions = localStorageEvictions(
      pods.map(({ pod }) => pod),
      stats,
      dedicatedImageFs,
      // The reference judges these alone: a row of docs/differences.md.
      'regular',
    );
    return {
      evicted: evictions.map(({ pod, gracePeriodSeconds, message, condition }) => ({
        pod: pod.metadata.name,
        gracePeriodSeconds,
        message,
        reason: evictedReason,
        conditionsAdded: condition === null ? 0 : 1,
      })),
    };
  },
};
